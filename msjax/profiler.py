"""``mindspore.profiler``: traces of a program, written by jax for TensorBoard and Perfetto."""

from __future__ import annotations

import enum
from typing import Any, Self

import jax

from msjax.core.base.checks import check_options
from msjax.core.door import WORKER

__all__ = ["Profiler", "ProfilerActivity", "ProfilerLevel", "profile", "schedule", "tensorboard_trace_handler"]


# The settings of `Profiler` in MindSpore's releases.
_KNOWN = (
    "output_path", "start_profile", "on_trace_ready", "schedule", "profiler_level", "activities", "aic_metrics", "aicore_metrics",
    "with_stack", "profile_memory", "data_process", "parallel_strategy", "l2_cache", "hbm_ddr", "pcie", "sys_io", "sys_interconnection",
    "host_sys", "sync_enable", "data_simplification", "record_shapes", "export_type", "mstx", "mstx_domain_include",
    "mstx_domain_exclude", "profile_communication", "profile_framework", "op_time", "host_stack", "timeline_limit",
)  # fmt: skip


class ProfilerLevel(enum.Enum):
    """How much MindSpore's profiler records; without effect."""

    LevelNone, Level0, Level1, Level2 = "LevelNone", "Level0", "Level1", "Level2"


class ProfilerActivity(enum.Enum):
    """What MindSpore's profiler records; without effect."""

    CPU, GPU, NPU = "CPU", "GPU", "NPU"


def schedule(*, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0) -> dict[str, int]:
    """Which steps are recorded: after `skip_first` steps, `wait` and `warmup` steps aren't and `active` ones are, `repeat` times.

    Args:
        wait, active, warmup, repeat, skip_first (int): numbers of steps; a `repeat` of 0 has no end.
    """
    return {"wait": wait + warmup, "active": active, "repeat": repeat, "skip_first": skip_first}


def tensorboard_trace_handler(
    dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
) -> str | None:
    """The folder for traces, as the argument `on_trace_ready` of `profile`; the other arguments are without effect."""
    return dir_name


class Profiler:
    """Records what the program does, from its creation (or `start`) to `analyse` (or `stop`), as a trace of jax.

    TensorBoard's profile plugin and Perfetto (https://ui.perfetto.dev) show it.

    Args:
        output_path (str): the folder. Default: "./data".
        start_profile (bool): whether it starts at once. Default: True.
        on_trace_ready (str, optional): the folder, from `tensorboard_trace_handler`.
        schedule (dict, optional): which steps are recorded; see `schedule`. `step` counts them.
        **kwargs: MindSpore's other settings, without effect.

    Raises:
        RuntimeError: another trace is being recorded.
        TypeError: there is no such setting.
    """

    def __init__(
        self,
        output_path: str = "./data",
        start_profile: bool = True,
        on_trace_ready: str | None = None,
        schedule: dict[str, int] | None = None,
        **kwargs: Any,
    ):
        check_options(kwargs, _KNOWN, "Profiler", what="setting")
        self.output_path: str = on_trace_ready or output_path
        self._schedule = schedule
        self._running = False
        self._steps = 0
        if start_profile:
            self.start()

    def start(self) -> None:
        """Start to record, unless a schedule says that this step isn't recorded."""
        if not self._running and self._wanted():
            jax.profiler.start_trace(self.output_path)
            self._running = True

    def stop(self) -> None:
        """Wait for what was computed, and write the trace."""
        if self._running:
            WORKER.synchronize()
            jax.profiler.stop_trace()
            self._running = False

    def step(self) -> None:
        """The end of a step; with a schedule, recording starts or stops where it says so."""
        self._steps += 1
        if self._schedule is not None:
            (self.start if self._wanted() else self.stop)()

    def analyse(
        self, offline_path: str | None = None, pretty: bool = False, step_list: list[int] | None = None, mode: str = "sync"
    ) -> None:
        """The end of recording: writes the trace. There is nothing to analyse then; the arguments are without effect."""
        self.stop()

    def _wanted(self):
        plan = self._schedule
        if plan is None:
            return True
        cycle, step = plan["wait"] + plan["active"], self._steps - plan["skip_first"]
        return step >= 0 and step % cycle >= plan["wait"] and (not plan["repeat"] or step // cycle < plan["repeat"])

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.stop()


def profile(
    *, activities: Any = None, schedule: dict[str, int] | None = None, on_trace_ready: str | None = None, **kwargs: Any
) -> Profiler:
    """A profiler as a context manager, or with methods `start`, `step` and `stop`.

    Args:
        activities: without effect.
        schedule (dict, optional): see `schedule`.
        on_trace_ready (str, optional): the folder, from `tensorboard_trace_handler`. By default "./data".
        **kwargs: MindSpore's other settings, without effect.

    Raises:
        TypeError: there is no such setting.
    """
    check_options(kwargs, _KNOWN, "profile", what="setting")
    return Profiler(start_profile=False, on_trace_ready=on_trace_ready, schedule=schedule)
