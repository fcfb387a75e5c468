"""Sets of objects that are referred to weakly, and what stands for an object in keys."""

import concurrent.futures
import gc

from msjax.base.weak import LiveSet
from msjax.programs.limits import CacheLimit


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


class Cache:
    """One of many caches that are there for a moment."""

    def __init__(self, limit):
        limit.register(self)

    def evict_unused(self):
        """Nothing is kept."""


def test_threads_register_caches_while_others_evict(hasty_threads):
    """One thread's new cache was an error in another that dropped programs then."""
    limit = CacheLimit()

    def work(_):
        for _ in range(300):
            made = [Cache(limit) for _ in range(10)]
            limit.count(10_000)
            del made

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, range(4))) == [None] * 4
