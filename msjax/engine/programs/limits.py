"""Limits on compiling: how many programs the process keeps, and how many of one operator lead to a warning."""

from __future__ import annotations

import collections
import warnings
import weakref
from collections.abc import Hashable
from typing import Protocol

from msjax.core.base.errors import where
from msjax.core.base.weak import LiveSet
from msjax.core.door import STATE

# From so many signatures on, each program of a function is dropped alone, and the network in which that happens gets a warning.
MANY_SIGNATURES = 64


class Evicting(Protocol):
    """A cache that `CacheLimit` can make drop programs."""

    def evict_unused(self) -> None:
        """Drop the programs that were not used since the last call of this method."""


class CacheLimit:
    """The limit on the programs that the caches of the process hold: the setting `program_cache_size`.

    When half of that number has been compiled, or used again, since the last time, every cache drops what was not used since then.
    So a call of a program that was used lately has nothing to note.

    Attributes:
        programs: how many are kept.
    """

    def __init__(self):
        self._caches: LiveSet[Evicting] = LiveSet()
        self._recent = 0
        # For each network, how often each operator was compiled for new shapes in it; under None, whether it was warned of that.
        self._shapes = weakref.WeakKeyDictionary()
        self.programs = 8192

    def register(self, cache: Evicting) -> None:
        """Count a cache in, which is referred to weakly."""
        self._caches.add(cache)

    def count(self, number: int = 1) -> None:
        """Note programs that were compiled, or used for the first time since their cache last dropped some."""
        self._recent += number
        if self._recent > max(self.programs // 2, 1):
            self._recent = number
            for cache in self._caches:
                cache.evict_unused()

    def count_shapes(self, operator: str, key: Hashable) -> None:
        """Count that an operator was compiled for new shapes in the network that is running; many of them lead to one warning.

        Args:
            operator: its name; "" for a program that is no operator's.
            key: of its settings.
        """
        if not STATE.owners or not operator:
            return
        counts = self._shapes.setdefault(STATE.owners[0], collections.Counter())
        counts[operator, key] += 1
        if counts[operator, key] == MANY_SIGNATURES and not counts[None]:
            counts[None] += 1
            warn_of_shapes(f"Operator {operator!r}{where()}")


CACHE_LIMIT = CacheLimit()


def warn_of_shapes(what: str) -> None:
    """Warn that something is compiled again and again."""
    warnings.warn(
        f"{what} was compiled for {MANY_SIGNATURES} combinations of shapes, and each compilation takes time. Pad inputs of "
        "changing lengths to a few lengths (buckets), such as multiples of 32.",
        stacklevel=2,
    )
