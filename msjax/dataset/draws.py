"""What samplers and `shuffle` draw: MindSpore's orders for a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msjax.common.generators.mersenne import Mersenne32, Mersenne64, MinimalStandard


class Draws:
    """What one dataset, or one sampler, draws in one pass over its rows; `kept` is what it keeps from pass to pass, empty at first.

    The orders are those that MindSpore has for the seed, which are found by comparing.
    """

    _generator: type[Any] = Mersenne32  # of orders
    _mixes_on = True  # whether `mixed` starts with the order of the pass before

    def __init__(self, seed: int, kept: dict[str, Any]):
        self._seed, self._kept = seed, kept

    def order(self, size: int) -> np.ndarray:
        """The numbers below `size`, mixed."""
        # Each pass mixes the order of the one before, with another seed.
        order = self._order_so_far(size)
        self._generator(self._next_seed()).shuffle(order)
        return np.array(order, np.int64)

    def parts(self, ends: Sequence[int]) -> np.ndarray:
        """The numbers below the last end in parts that end there; the parts are mixed, not what is in them."""
        # Each pass cuts the order of the one before where the parts end, and mixes the pieces.
        pieces = np.split(self._kept.get("rows", np.arange(ends[-1])), ends[:-1])
        self._kept["rows"] = np.concatenate([pieces[i] for i in self._fresh_order(len(ends))])
        return self._kept["rows"]

    def repeating(self, size: int) -> np.ndarray:
        """As many numbers below `size`, which may repeat."""
        return Mersenne32(self._next_seed()).below(np.full(size, size))

    def mixed(self, items: np.ndarray, count: int) -> np.ndarray:
        """At most `count` of the items, mixed."""
        chosen = items[:count]
        order = self._order_so_far(len(chosen)) if self._mixes_on else list(range(len(chosen)))
        self._generator(self._seed).shuffle(order)
        return chosen[order]

    def weighted(self, weights: np.ndarray, count: int, replacement: bool) -> np.ndarray:
        """So many numbers of weights, larger ones more often."""
        if not replacement:
            # The waiting times of events at these rates.
            with np.errstate(divide="ignore"):
                times = -np.log1p(-Mersenne32(self._seed).doubles(len(weights))) / weights
            return np.argsort(times, kind="stable")[:count]
        ends = np.cumsum(weights / weights.sum())
        ends[-1] = 1.0
        if len(weights) < 2:
            return np.zeros(count, np.int64)
        return np.searchsorted(ends, Mersenne32(self._seed).doubles(count))

    def slots(self, rows: Callable[[], int] | None = None) -> Callable[[int], int]:
        """A function that draws a number below its argument; `rows` gives how many times it is called in a whole pass."""
        kept = self._kept
        words = kept.setdefault("words", Mersenne64(self._seed))
        if rows is not None and "drawn" in kept:
            # The pass before was left. MindSpore goes to its end all the same, as after `take`.
            for _ in range(rows() - kept["drawn"]):
                next(words)
        kept["drawn"] = 0

        def slot(size):
            kept["drawn"] += 1
            return next(words) % size

        return slot

    def end_pass(self) -> None:
        """To be called when a pass was gone through to its end."""
        del self._kept["drawn"]

    def _fresh_order(self, size):
        order = list(range(size))
        self._generator(self._next_seed()).shuffle(order)
        return order

    def _order_so_far(self, size):
        order = self._kept.get("order")
        if order is None or len(order) != size:
            order = self._kept["order"] = list(range(size))
        return order

    def _next_seed(self):
        number = self._kept["passes"] = self._kept.get("passes", -1) + 1
        return self._seed + number


class RecordDraws(Draws):
    """What MindSpore draws for MindRecord files, from another generator, whose first seed is one higher.

    Shards (`shared`) start with the order of the files in each pass.
    """

    _generator, _mixes_on = MinimalStandard, False

    def __init__(self, seed: int, kept: dict[str, Any], shared: bool = False):
        super().__init__(seed + 1, kept)
        self._shared = shared

    def order(self, size: int) -> np.ndarray:
        if self._shared:
            return np.array(self._fresh_order(size), np.int64)
        return super().order(size)
