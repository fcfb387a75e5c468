"""Processor cores: how many this process may use."""

from __future__ import annotations

import functools
import os


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
    """Whether there is most of a core beside the one that the program takes: on a single one, a thread would only slow it down.

    Whether other processes use it makes no difference: beside them, too, a first step is over earlier by the clock, for as much of the processor.
    """
    return usable_cores() >= 1.5
