"""Profiles of chosen steps."""

import jax

import msjax as ms


def test_a_profile_of_chosen_steps(monkeypatch):
    calls = []
    monkeypatch.setattr(jax.profiler, "start_trace", lambda folder: calls.append(folder))
    monkeypatch.setattr(jax.profiler, "stop_trace", lambda: calls.append("stop"))
    plan = ms.profiler.schedule(wait=1, active=2, repeat=1, skip_first=1)
    with ms.profiler.profile(schedule=plan, on_trace_ready=ms.profiler.tensorboard_trace_handler("traces")) as profile:
        for step in range(6):
            calls.append(step)
            profile.step()
    assert calls == [0, 1, "traces", 2, 3, "stop", 4, 5]
    ms.Profiler(output_path="here").analyse()
    assert calls[-2:] == ["here", "stop"]
