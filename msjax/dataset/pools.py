"""The threads and processes in which the operations of a pipeline make rows.

Large results of processes stay in files in the machine's memory, which both sides map.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import mmap
import multiprocessing
import os
import pickle
import random
import shutil
import signal
import tempfile
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import Any

import numpy as np

from msjax.dataset import config

THREAD_PREFIX = "msjax-dataset"
# Where files lie in memory, on Linux. Elsewhere results go through pipes, as do arrays of fewer bytes than `_LARGE`.
_MEMORY, _LARGE = "/dev/shm", 2**16
_ALIGNMENT = 64
# In a process: the function that it calls, the operation, the folder of its large results, and whether nobody wants any more.
_SERVED: dict[str, Any] = {}


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


class ProcessPool:
    """Processes that are given chunks of items in turn, so that each always gets the same ones.

    What they call with a key and an item is handed over once, by the fork, and need not be pickled then. The generators of `random` and
    `np.random` in the processes are seeded by a number and theirs.
    """

    def __init__(self, work: Callable[..., Any], workers: int, who: str, seed: int):
        # A fork hands the function on as it is, lambdas and functions of the script included, without running the script again.
        method = config.get_multiprocessing_start_method()
        context = multiprocessing.get_context(method if method in multiprocessing.get_all_start_methods() else "spawn")
        self._who, self._creator = who, os.getpid()
        self._closed = context.RawValue(ctypes.c_bool, False)
        self._folder = tempfile.mkdtemp(prefix="msjax-dataset-", dir=_MEMORY) if os.path.isdir(_MEMORY) else None
        self._executors = [
            ProcessPoolExecutor(1, context, _start, (work, (seed, number), who, self._folder, self._closed))
            for number in range(workers)
        ]
        # jax and Python warn that a thread may hold a lock while the process forks; the workers run numpy and Pillow, not jax.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*fork", category=RuntimeWarning)
            warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
            try:
                numbers = [executor.submit(os.getpid) for executor in self._executors]
                found = {process.pid: process for process in multiprocessing.active_children()}
                self._processes = [found[number.result()] for number in numbers]
            except BaseException:
                self.close()
                raise
        self._turns = itertools.cycle(zip(self._executors, self._processes))

    def submit(self, key: tuple[Any, ...], items: list[Any]) -> _Task:
        """Begin the work on some items."""
        executor, process = next(self._turns)
        with _told_of_its_end(process, self._who):
            return _Task(executor.submit(_run, key, items), process, self._who)

    def close(self) -> None:
        """End the processes after what they have begun."""
        if os.getpid() != self._creator:  # a process forked from it has lost an iterator that it never had
            return
        self._closed.value = True
        for executor in self._executors:
            # One of its own threads, in which the last reference has gone, can't wait for itself.
            with contextlib.suppress(RuntimeError):
                executor.shutdown(cancel_futures=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


class _Task:
    """Work that one process has been given."""

    def __init__(self, future: Future[Any], process: Any, who: str):
        self._future, self._process, self._who = future, process, who

    def result(self) -> Any:
        """The results and the seconds that they took, or the error."""
        with _told_of_its_end(self._process, self._who):
            return _restored(*self._future.result())

    def cancel(self) -> None:
        """Nobody wants the result."""
        if not self._future.cancel():
            self._future.add_done_callback(_dropped)


@contextlib.contextmanager
def _told_of_its_end(process, who):
    try:
        yield
    except BrokenProcessPool as error:
        process.join(1)
        raise RuntimeError(
            f"{who}: a process of its workers ended before its work was done, with exit code {process.exitcode}."
        ) from error


def _dropped(future):
    if not future.cancelled() and future.exception() is None and (path := future.result()[1]) is not None:
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)


def _restored(pickled, path, sizes):
    """A value of what `_flat` made of it. Its large arrays lie in the file, which is gone when none of them is left."""
    parts = []
    if path is not None:
        with open(path, "r+b") as file:
            memory = memoryview(mmap.mmap(file.fileno(), 0))
        os.remove(path)
        starts = itertools.accumulate(map(_aligned, sizes), initial=0)
        parts = [memory[start : start + size] for start, size in zip(starts, sizes)]
    return pickle.loads(pickled, buffers=parts)


def _aligned(size):
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def timed(work: Callable[..., Any], key: tuple[Any, ...], items: Iterable[Any]) -> tuple[list[Any], float]:
    """``work(key, item)`` for each item, and how many seconds that took."""
    started = time.perf_counter()
    return [work(key, item) for item in items], time.perf_counter() - started


# ---- in the process


def _start(work, seed, who, folder, closed):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that reads the rows decides what an interrupt ends
    random.seed(str(seed))
    np.random.seed(np.random.SeedSequence(seed).generate_state(1)[0])
    _SERVED.update(work=work, who=who, folder=folder, closed=closed)
    threading.Thread(target=_end_with, args=(multiprocessing.parent_process(), folder), daemon=True).start()


def _end_with(parent, folder):
    """A process that is killed says nothing to those that work for it."""
    connection.wait([parent.sentinel])
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _run(key, items):
    if _SERVED["closed"].value:  # an executor can't cancel the two pieces of work that it has sent ahead
        return b"", None, []
    who = _SERVED["who"]
    try:
        value = timed(_SERVED["work"], key, items)
    except Exception as error:
        if type(error) is RuntimeError:
            raise
        raise RuntimeError(f"{who}: {type(error).__name__}: {error}") from error
    try:
        return _flat(value, _SERVED["folder"])
    except Exception as error:
        raise RuntimeError(f"{who}: its result can't leave the process: {type(error).__name__}: {error}") from error


def _flat(value, folder):
    """(what pickle makes of a value, the file with its large arrays, their sizes); None and no sizes for what has none."""
    large = []

    def keep_in(buffer):
        raw = buffer.raw()
        if raw.nbytes < _LARGE:
            return True
        large.append(raw)
        return False

    pickled = pickle.dumps(value, protocol=5, buffer_callback=None if folder is None else keep_in)
    if not large:
        return pickled, None, []
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        try:
            for raw in large:
                file.write(raw)
                file.write(bytes(_aligned(raw.nbytes) - raw.nbytes))
            file.flush()
        except OSError:  # there is no room for more files, as in containers
            os.remove(file.name)
            return pickle.dumps(value, protocol=5), None, []
    return pickled, file.name, [raw.nbytes for raw in large]
