"""The threads and processes in which the operations of a pipeline make rows."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from msjax.dataset.worker_processes import ProcessPool

THREAD_PREFIX = "msjax-dataset"


class Pools:
    """The threads and processes of an iterator's operations. They live from epoch to epoch, and end with this object."""

    def __init__(self):
        self._pools = {}
        weakref.finalize(self, _close, self._pools)

    def get(self, work: Callable[..., Any], workers: int, processes: bool, who: str, seed: int) -> Any:
        """The workers of one operation, which start at the first call."""
        pool = self._pools.get(work)
        if pool is None:
            pool = ProcessPool(work, workers, who, seed) if processes else _ThreadPool(work, workers)
            self._pools[work] = pool
        return pool

    def close(self) -> None:
        """End all workers: what they have begun is waited for, the rest is dropped."""
        _close(self._pools)


def _close(pools):
    while pools:
        pools.popitem()[1].close()


class _ThreadPool:
    def __init__(self, work, workers):
        self._work, self._executor = work, ThreadPoolExecutor(workers, thread_name_prefix=THREAD_PREFIX)

    def submit(self, key, items):
        return self._executor.submit(timed, self._work, key, items)

    def close(self):
        # A thread can't wait for itself, as where the last reference to an iterator goes in one of its own workers.
        self._executor.shutdown(wait=not threading.current_thread().name.startswith(THREAD_PREFIX), cancel_futures=True)


def timed(work: Callable[..., Any], key: tuple[Any, ...], items: Iterable[Any]) -> tuple[list[Any], float]:
    """``work(key, item)`` for each item, and how many seconds that took."""
    started = time.perf_counter()
    return [work(key, item) for item in items], time.perf_counter() - started
