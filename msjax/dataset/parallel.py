"""Calls of a function in several threads or processes, whose results come in the order of the arguments."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import random
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np

from msjax.dataset import config

THREAD_PREFIX = "msjax-dataset"
_ITEMS_OF_PROCESS = 8


def ordered_map(function: Callable[..., Any], items: Iterable[Any], workers: int, processes: bool, who: str) -> Iterator[Any]:
    """Yields ``function(item)`` for each item, in their order; up to `prefetch_size` items are worked on ahead.

    Closing the generator ends the workers: what they have begun is waited for, the rest is dropped.

    Args:
        function: what to call.
        items: an iterator of arguments; it is read in the caller's thread.
        workers (int): how many threads or processes; with one, `function` is called in the caller's thread.
        processes (bool): processes instead of threads.
        who (str): the operation, for errors.
    """
    if config.get_debug_mode() or (workers <= 1 and not processes):
        yield from map(function, items)
        return
    # A task for a process is worth its way there and back only with several items.
    ahead = max(config.get_prefetch_size(), 2 * workers * (_ITEMS_OF_PROCESS if processes else 1))
    size = max(1, ahead // (2 * workers))  # several items in a task cost less than one task each
    pool = _process_pool(function, workers) if processes else ThreadPoolExecutor(workers, thread_name_prefix=THREAD_PREFIX)
    pending = deque()
    try:
        for chunk in _chunks(items, size):
            pending.append(_submit(pool, chunk) if processes else pool.submit(_call, function, chunk))
            if len(pending) * size >= ahead:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()
    except BrokenProcessPool as error:
        raise RuntimeError(f"{who}: a process of its workers ended before its work was done.") from error
    finally:
        # A thread can't wait for itself, as where the last reference to an iterator goes in one of its own workers.
        pool.shutdown(wait=not threading.current_thread().name.startswith(THREAD_PREFIX), cancel_futures=True)


def _chunks(items, size):
    items = iter(items)
    while chunk := list(itertools.islice(items, size)):
        yield chunk


def _call(function, chunk):
    return [function(item) for item in chunk]


# ---- processes


_WORK = {}


def _install(function, seed):
    _WORK["function"] = function
    own = (seed, os.getpid())
    random.seed(hash(own))
    np.random.seed(np.random.SeedSequence(own).generate_state(1)[0])


def _work(chunk):
    return _call(_WORK["function"], chunk)


def _process_pool(function, workers):
    # A fork hands the function on as it is, lambdas and functions of the script included, without running the script again.
    method = config.get_multiprocessing_start_method()
    method = method if method in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    return ProcessPoolExecutor(workers, context, initializer=_install, initargs=(function, config.get_seed()))


def _submit(pool, chunk):
    # jax and Python warn that a thread may hold a lock while the process forks; the workers run numpy and Pillow, not jax.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*fork", category=RuntimeWarning)
        warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
        return pool.submit(_work, chunk)
