"""The threads that compile ahead, beside the program: XLA releases Python's lock while it compiles."""

from __future__ import annotations

import atexit
import itertools
import os
import threading
import time
from collections.abc import Callable, Hashable

# One compilation, whose steps XLA hands from thread to thread, keeps less than a core busy: on two cores, three at a time (one of
# them the program's own) take 0.87 of the time of two. A whole first step gains nothing there, and more where there are more cores.
# Where no core is idle, compiling ahead takes 8 to 18 % more of the processor.
_THREADS = 2


class Background:
    """The tasks that threads do beside the program, the newest first. Whoever needs the result of one takes it back or waits for it.

    A task prepares something that the program makes itself if the task fails. So its exception is dropped: the program meets it
    where it belongs.
    """

    def __init__(self):
        self._reset()
        self._waits_for_exit = False
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self):
        self._changed = threading.Condition()
        self._tasks: dict[Hashable, Callable[[], object]] = {}
        # The key of the task that each thread does; None between two tasks.
        self._running: dict[threading.Thread, Hashable] = {}

    def submit(self, key: Hashable, task: Callable[[], object]) -> None:
        """Have a task done.

        Args:
            key: by which `take` finds the task. A task that waits under the same key is dropped.
            task: a function without arguments.
        """
        with self._changed:
            self._tasks[key] = task
            if not self._waits_for_exit:
                # After `disk_cache.enable`, so that the folder is left when nothing is being written any more.
                self._waits_for_exit = True
                atexit.register(self._stop)
            if len(self._running) < _THREADS:
                # A daemon, since a thread that is compiling must not keep the process from exiting; `_stop` waits for it.
                thread = threading.Thread(target=self._work, name="msjax-compile", daemon=True)
                thread.start()
                self._running[thread] = None

    def take(self, key: Hashable) -> None:
        """Take a task back if it has not begun; otherwise wait until it has ended. From then on, no task of this key runs."""
        me = threading.current_thread()
        with self._changed:
            self._tasks.pop(key, None)
            while any(doing == key for thread, doing in self._running.items() if thread is not me):
                self._changed.wait()

    def _work(self):
        me = threading.current_thread()
        try:
            while True:
                with self._changed:
                    self._running[me] = None
                    self._changed.notify_all()
                    if not self._tasks:
                        del self._running[me]
                        return
                    self._running[me], task = self._tasks.popitem()
                try:
                    task()
                except Exception:
                    del task
                    continue
        finally:
            # Also where KeyboardInterrupt or SystemExit ends the thread: others may wait for its task.
            with self._changed:
                self._running.pop(me, None)
                self._changed.notify_all()

    def _stop(self):
        """Before the process exits: a thread that still compiled then would crash it."""
        with self._changed:
            self._tasks.clear()
            while self._running:
                self._changed.wait()


BACKGROUND = Background()


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
