"""Limits on compiling: how many programs the process keeps, and how many of one operator lead to a warning."""

from __future__ import annotations

import collections
import warnings
import weakref
from collections.abc import Hashable
from typing import Any

from msjax.core.base.errors import where
from msjax.core.base.weak import LiveSet
from msjax.core.door import STATE

# So many signatures of one operator in a network lead to a warning.
MANY_SIGNATURES = 64


class CacheLimit:
    """The limit on the programs of operators that the process holds: the setting `program_cache_size`.

    When half of that number has been compiled, all caches are emptied, and what is used again is compiled again. So a call has nothing to note.
    """

    def __init__(self):
        self._caches: LiveSet[dict[Any, Any]] = LiveSet()
        self._made = 0
        self._latest: list[dict[Any, Any]] = []
        # For each network, how often each operator was compiled for new shapes in it; under None, whether it was warned of that.
        self._shapes = weakref.WeakKeyDictionary()
        self.programs = 8192

    def register(self, cache: dict[Any, Any]) -> None:
        """Count a cache in, which is referred to weakly."""
        self._caches.add(cache)

    def count(self) -> None:
        """Note that a program was compiled."""
        self._made += 1
        if self._made > max(self.programs // 2, 1):
            self._made = 1
            caches = [*self._caches]
            self._latest = [dict(cache) for cache in caches]  # other threads are using some of them
            for cache in caches:
                cache.clear()

    def count_shapes(self, operator: str, key: Hashable) -> None:
        """Count that an operator was compiled for new shapes in the network that is running; many of them lead to one warning.

        Args:
            operator: its name; "" for a program that is no operator's.
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
