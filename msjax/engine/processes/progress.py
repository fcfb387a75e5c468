"""What each process of a program tells its launcher: how many collectives it has begun, and that it ends. So the launcher notices that
one hangs, or is gone while others wait for it."""

from __future__ import annotations

import atexit
import functools
import mmap
import os
import struct
import time

# The file that the launcher shares with the processes: for each of them, how many collectives of all processes it has begun; then,
# for each of them, whether its program has come to its end.
VARIABLE = "MSJAX_PROGRESS"
_COUNT = struct.Struct("q")


class Progress:
    """The shared file.

    Args:
        path: where it is; it must have `size_of` bytes.
    """

    def __init__(self, path: str):
        with open(path, "r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 0)
        self._processes = len(self._shared) // (2 * _COUNT.size)

    @staticmethod
    def size_of(processes: int) -> int:
        return 2 * _COUNT.size * processes

    def advance(self, rank: int) -> None:
        """Note that a process, by its number on this machine, begins its next collective."""
        _COUNT.pack_into(self._shared, _COUNT.size * rank, self.counts()[rank] + 1)

    def counts(self) -> list[int]:
        """For each process, the number of collectives that it has begun."""
        return self._numbers()[: self._processes]

    def end(self, rank: int) -> None:
        """Note that the program of a process has come to its end: it begins no more collectives."""
        _COUNT.pack_into(self._shared, _COUNT.size * (self._processes + rank), 1)

    def ended(self) -> set[int]:
        """The processes whose programs have come to their ends."""
        return {rank for rank, ended in enumerate(self._numbers()[self._processes :]) if ended}

    def _numbers(self):
        return [number for (number,) in _COUNT.iter_unpack(self._shared[:])]


@functools.cache
def _of_launcher() -> Progress | None:
    path = os.environ.get(VARIABLE)
    return None if path is None else Progress(path)


def wait_for_launcher() -> None:
    """Give the launcher, if there is one, time to end this process."""
    if _of_launcher() is not None:
        time.sleep(2)


def advance(rank: int) -> None:
    """Tell the launcher, if there is one that listens, that this process begins its next collective."""
    progress = _of_launcher()
    if progress is not None:
        progress.advance(rank)


def tell_the_end(rank: int) -> None:
    """Tell the launcher, if there is one that listens, when the program of this process has come to its end.

    Before jax is shut down: that waits for the other processes, which may wait for this one.
    """
    progress = _of_launcher()
    if progress is not None:
        atexit.register(progress.end, rank)
