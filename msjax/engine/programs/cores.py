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
    """Whether this process may use a second core, at least most of it: on one core, a compiling thread would only slow the program down.

    Load of other processes doesn't count: beside them, too, the thread ends a first step earlier and takes no more processor time.
    """
    return usable_cores() >= 1.5
