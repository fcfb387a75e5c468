"""What each process of a program tells its launcher: how many collectives it has begun. So the launcher notices that one hangs, or is gone while
others wait for it."""

from __future__ import annotations

import functools
import mmap
import os
import struct
import time

# The file that the launcher shares with the processes: for each of them, how many collectives of all processes it has begun.
VARIABLE = "MSJAX_PROGRESS"
_COUNT = struct.Struct("q")


class Progress:
    """The shared file, which must have `size_of` bytes."""

    def __init__(self, path: str):
        with open(path, "r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 0)

    @staticmethod
    def size_of(processes: int) -> int:
        return _COUNT.size * processes

    def advance(self, rank: int) -> None:
        """Note that a process, by its number on this machine, begins its next collective."""
        _COUNT.pack_into(self._shared, _COUNT.size * rank, self.counts()[rank] + 1)

    def counts(self) -> list[int]:
        """For each process, the number of collectives that it has begun."""
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
