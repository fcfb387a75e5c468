"""Processor cores: how many this process may use, and whether other processes leave one idle."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable


class IdleCores:
    """The processor time that this process can have, as far as other processes have left it since the last question.

    Time that this process itself took does not count as taken, so a script that was just started a second time finds as many cores
    as the first time. (The load average still has the first one.)

    Args:
        read: returns (now, seconds for which the usable cores have been idle since the machine started, processor seconds of this
            process); None if it can't tell.
        cores: the number of cores that this process may use.
    """

    # The system counts in hundredths of a second.
    _APART = 0.1

    def __init__(self, read: Callable[[], tuple[float, float, float] | None], cores: float):
        self._read = read
        self._cores = cores
        self._last = read()
        self._free = None

    def available(self) -> float | None:
        """The number of cores that this process used or could have used lately; None if that is unknown."""
        last = self._last
        if last is None or (self._free is not None and time.monotonic() - last[0] < self._APART):
            return self._free
        now = self._read()
        if now is None:
            return self._free
        elapsed, idle, own = (after - before for after, before in zip(now, last))
        if elapsed > 0:
            self._free = min((idle + own) / elapsed, self._cores)
            self._last = now
        return self._free


def _read_times():
    """The reading of `IdleCores`, where the system has /proc/stat."""
    try:
        with open("/proc/stat", "rb") as lines:
            next(lines)  # the sum of the others
            rows = [line.split() for line in itertools.takewhile(lambda line: line.startswith(b"cpu"), lines)]
        usable = os.sched_getaffinity(0)
        # Fields 4 and 5: idle, and idle while something waits for a disk.
        ticks = sum(int(row[4]) + int(row[5]) for row in rows if int(row[0][3:]) in usable)
        return time.monotonic(), ticks / os.sysconf("SC_CLK_TCK"), time.process_time()
    except (AttributeError, OSError, ValueError, IndexError, StopIteration):
        return None


def usable_cores() -> float:
    """The number of cores that this process may use; less where a container has a quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        return cores if quota == "max" else min(cores, int(quota) / int(period))
    except (OSError, ValueError):
        return cores


# The first question compares with the time of the import.
_IDLE_CORES = IdleCores(_read_times, usable_cores())


def has_idle_core() -> bool:
    """Whether most of a processor core is left beside the one that the program takes; a thread would only slow it down otherwise."""
    free = _IDLE_CORES.available()
    if free is not None:
        return free >= 1.5
    return hasattr(os, "getloadavg") and os.getloadavg()[0] <= (os.cpu_count() or 1) - 1
