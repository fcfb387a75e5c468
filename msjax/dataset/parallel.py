"""Calls of a function in several threads or processes, whose results come in the order of the arguments."""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msjax.dataset import config
from msjax.dataset.pools import Pools, timed
from msjax.dataset.run import Run

# A row that takes less than so many seconds is mostly Python, which threads can't run at the same time.
_CHEAP = 250e-6
# How long a task of cheap rows should take, so that handing it over costs little beside it, and how many rows it has at most.
_TASK, _MOST_ROWS = 4e-3, 256
# The caller's thread does something else if that takes more than this share of the time that its rows took.
_BUSY = 0.5
_ROWS_OF_PROCESS = 16


def ordered_map(
    work: Callable[[tuple[Any, ...], Any], Any],
    items: Iterable[Any],
    run: Run,
    workers: int,
    processes: bool,
    who: str,
    rows: int = 1,
) -> Iterator[Any]:
    """Yields ``work(run.key, item)`` for each item, in their order; some items are worked on ahead.

    Threads that would only wait for each other are not used at the same time: rows that take little are made by one thread while
    the caller's uses those before, or by the caller's where it does nothing else but ask for rows.

    Args:
        work: what to call, the same object in each epoch: processes get it when they start.
        items: arguments, which are read in the caller's thread.
        run (Run): the reading that this is part of; its workers live as long as its iterator.
        workers (int): how many threads or processes; with one thread, `work` is called in the caller's.
        rows (int): how many rows an item has.
    """
    if config.get_debug_mode() or (workers <= 1 and not processes):
        yield from map(work, itertools.repeat(run.key), items)
        return
    pools = Pools() if run.pools is None else run.pools
    ahead = max(config.get_prefetch_size(), 2 * workers)
    in_task = _ROWS_OF_PROCESS if processes else ahead // (2 * workers)
    most = 2 * workers if rows == 1 else workers + 1
    size, at_once = max(1, in_task // rows), most
    chunks, pending = _Chunks(items), deque()
    pool = pools.get(work, workers, processes, who, run.key[0])
    try:
        while True:
            while len(pending) < at_once and (chunk := chunks.take(size)):
                pending.append(pool.submit(run.key, chunk))
            if pending:
                results, seconds = pending.popleft().result()
            elif chunk := chunks.take(size):
                results, seconds = timed(work, run.key, chunk)
            else:
                chunks.end()
                return
            each = max(seconds / len(results), 1e-9)
            cheap = not processes and each < _CHEAP * rows
            size = max(1, min(_MOST_ROWS // rows, int(_TASK / each)) if cheap else in_task // rows)
            at_once = min(at_once, 1) if cheap else most
            if len(pending) < at_once and (chunk := chunks.take(size)):
                pending.append(pool.submit(run.key, chunk))
            started = time.perf_counter()
            yield from results
            if cheap:
                at_once = int(time.perf_counter() - started > _BUSY * seconds)
    finally:
        for task in pending:
            task.cancel()
        if run.pools is None:
            pools.close()


class _Chunks:
    """Several items at a time; an error of their iterator comes after the items before it."""

    def __init__(self, items):
        self._items, self._error = iter(items), None

    def take(self, size):
        """At most `size` items."""
        chunk = []
        if self._error is None:
            try:
                chunk.extend(itertools.islice(self._items, size))
            except Exception as error:
                self._error = error
        return chunk

    def end(self):
        if self._error is not None:
            raise self._error
