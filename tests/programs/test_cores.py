"""How many cores this process may use, and whether there is one for threads that compile."""

import os

import pytest

from msjax.engine.programs import tiers as module


@pytest.mark.parametrize("cores, answer", [(1, False), (1.2, False), (1.5, True), (8, True)])
def test_a_thread_needs_most_of_a_core_beside_the_program(monkeypatch, cores, answer):
    monkeypatch.setattr(module, "usable_cores", lambda: cores)
    # What other processes do makes no difference.
    monkeypatch.setattr(os, "getloadavg", lambda: (50.0, 0.0, 0.0), raising=False)
    assert module.has_core_for_threads.__wrapped__() is answer


def test_no_more_cores_than_the_process_may_run_on():
    assert 0 < module.usable_cores() <= os.cpu_count()
