"""Sets of objects that are referred to weakly, and what stands for an object in keys."""

import concurrent.futures
import gc
import threading

import pytest

from msjax.common.tensor_hooks import HookList
from msjax.core.base.weak import LiveSet, Recent
from msjax.engine.programs.limits import CacheLimit


class Thing:
    """What can be referred to weakly; it equals every other one."""

    def __eq__(self, other):
        return True

    __hash__ = None


def test_objects_are_told_apart_by_identity():
    first, second, things = Thing(), Thing(), LiveSet()
    things.add(first)
    things.add(first)
    assert first in things and second not in things and len(list(things)) == 1
    things.discard(second)
    things.discard(first)
    assert first not in things and not list(things)


def test_objects_that_die_are_left_out():
    first, things = Thing(), LiveSet()
    things.add(first)
    del first
    gc.collect()
    assert not list(things)


def test_adding_and_taking_out_while_it_is_gone_through():
    kept = [Thing() for _ in range(3)]
    things = LiveSet()
    for thing in kept:
        things.add(thing)
    more, seen = [], []
    for thing in things:
        more.append(Thing())
        things.add(more[-1])
        things.discard(kept[2])
        seen.append(thing)
    assert [id(thing) for thing in seen] == [id(thing) for thing in kept]
    assert len(list(things)) == 5


class Cache(dict):
    """One of many caches that are there for a moment."""

    def __init__(self, limit):
        limit.register(self)


def test_threads_register_caches_while_others_empty_them(hasty_threads):
    """One thread's new cache was an error in another that dropped programs then."""
    limit = CacheLimit()
    limit.programs = 1

    def work(_):
        for _ in range(300):
            made = [Cache(limit) for _ in range(10)]
            limit.count()
            del made

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, range(4))) == [None] * 4


def of_tensor_hooks():
    """A list of hooks: one thread registers and removes, others look up the programs of its hooks."""
    hooks = HookList()

    kept = [hooks.add(lambda grad: grad * 2) for _ in range(20)]
    done, start = threading.Event(), threading.Barrier(4)

    def work(number):
        start.wait()
        if number:
            while not done.is_set():
                assert len(hooks.key) > len(kept) and len(hooks.of_programs) >= len(kept)
        else:
            try:
                for _ in range(5_000):
                    hooks.add(lambda grad: grad * 2).remove()
            finally:
                done.set()

    return work


def of_recent():
    """A table of what was used last."""
    recent = Recent()

    def work(number):
        for n in range(3_000):
            assert recent.of(n * (number + 1) % 5, lambda n=n, k=number: n * (k + 1) % 5, 3) == n * (number + 1) % 5

    return work


@pytest.mark.parametrize("table", [of_tensor_hooks, of_recent])
def test_threads_share_a_table(hasty_threads, table):
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert list(threads.map(table(), range(4))) == [None] * 4
