"""Tiered compilation: a large program runs without LLVM's optimizations first, and with them as soon as a thread has compiled it so, if there is a
processor core for that."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from typing import Any

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer


def usable_cores() -> float:
    """The number of cores that this process may use; less where a container has a quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        return cores if quota == "max" else min(cores, int(quota) / int(period))
    except (OSError, ValueError):
        return cores


@functools.cache
def has_core_for_threads() -> bool:
    """Whether this process may use a second core, at least most of it: on one core, a compiling thread would only slow the program down.

    Load of other processes doesn't count: beside them, too, the thread ends a first step earlier and takes no more processor time.
    """
    return usable_cores() >= 1.5


VARIABLE = "MSJAX_TIERED_COMPILATION"


class TieredProgram:
    """A program whose first calls run what LLVM has compiled at level 0, which takes half the time of the optimized program.

    A thread compiles that one from the second call on, so that what runs once costs nothing more, and the first call after it is ready
    runs it. LLVM fuses multiplications with additions only where it optimizes, so the last bits of results change then, at a call that
    depends on the time that compiling takes. On a single core, there is no first tier.

    Args:
        jitted: `jax.jit` of the function, with the options of the optimized program.
        options: those of the first one.

    Attributes:
        allowed: of all programs, False where results should be the same in each run: `ms.set_context(deterministic="ON")`, or
            MSJAX_TIERED_COMPILATION=0 in the environment.
    """

    allowed: bool = os.environ.get(VARIABLE, "1") != "0"

    def __init__(self, jitted: Any, options: dict[str, Any]):
        self._jitted = jitted
        self._options = options
        self._calls = 0
        self._lowered: Any = None
        # The first program, and the settings of jax that it was traced with; None before the first call, and when the optimized one is ready.
        self._first: Any = None
        self._settings: Any = None

    @classmethod
    def set_deterministic(cls, deterministic: bool) -> None:
        """Run optimized programs only, or allow the first tier unless the environment switches it off."""
        cls.allowed = not deterministic and os.environ.get(VARIABLE, "1") != "0"

    def __call__(self, *values: Any) -> Any:
        self._calls += 1
        if self._calls == 1 and TieredProgram.allowed and not any(map(is_tracer, values)) and has_core_for_threads():
            self._settings = jax_slots.settings_token()
            self._lowered = self._jitted.lower(*values)
            self._first = self._lowered.compile(compiler_options=self._options)
        first = self._first
        if first is None or not TieredProgram.allowed or self._settings is not jax_slots.settings_token():
            return self._jitted(*values)
        if self._calls == 2:
            with contextlib.suppress(RuntimeError):  # the system gives no more threads, or the process is about to exit
                threading.Thread(target=self._optimize, name="msjax-compile").start()
        try:
            return first(*values)
        except (TypeError, ValueError):
            # It takes other operands, or is called where jax traces: nothing has run.
            return self._jitted(*values)

    def _optimize(self):
        with contextlib.suppress(Exception):
            self._lowered.compile()
        # jax finds it again when the jitted function is called, which fails there if it fails here.
        self._first = self._lowered = None
