"""What samplers and `shuffle` draw: MindSpore's orders where a seed was set, numpy's otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from msjax.common.generators.mersenne import Mersenne32, Mersenne64, MinimalStandard


class Draws(Protocol):
    """What one dataset, or one sampler, draws in one pass over its rows."""

    def order(self, size: int) -> np.ndarray:
        """The numbers below `size`, mixed."""
        ...

    def parts(self, ends: Sequence[int]) -> np.ndarray:
        """The numbers below the last end in parts that end there; the parts are mixed, not what is in them."""
        ...

    def repeating(self, size: int) -> np.ndarray:
        """As many numbers below `size`, which may repeat."""
        ...

    def mixed(self, items: np.ndarray, count: int) -> np.ndarray:
        """At most `count` of the items, mixed."""
        ...

    def weighted(self, weights: np.ndarray, count: int, replacement: bool) -> np.ndarray:
        """So many numbers of weights, larger ones more often."""
        ...

    def slots(self, rows: Callable[[], int] | None = None) -> Callable[[int], int]:
        """A function that draws a number below its argument; `rows` gives how many times it is called in a whole pass."""
        ...

    def end_pass(self) -> None:
        """To be called when a pass was gone through to its end."""
        ...


class NumpyDraws:
    """Draws from a numpy generator."""

    def __init__(self, generator: np.random.Generator):
        self._generator = generator

    def order(self, size: int) -> np.ndarray:
        return self._generator.permutation(size)

    def parts(self, ends: Sequence[int]) -> np.ndarray:
        return _joined(np.arange(ends[-1]), ends, self.order(len(ends)))

    def repeating(self, size: int) -> np.ndarray:
        return self._generator.integers(size, size=size) if size else np.zeros(0, np.int64)

    def mixed(self, items: np.ndarray, count: int) -> np.ndarray:
        return self._generator.permutation(items)[:count]

    def weighted(self, weights: np.ndarray, count: int, replacement: bool) -> np.ndarray:
        return self._generator.choice(len(weights), count, replacement, weights / weights.sum())

    def slots(self, rows: Callable[[], int] | None = None) -> Callable[[int], int]:
        return lambda size: int(self._generator.integers(size))

    def end_pass(self) -> None:
        return None


class MindSporeDraws:
    """Draws what MindSpore draws, which is found by comparing orders; the seed is that of the whole pipeline.

    Args:
        seed (int): the seed.
        kept (dict): what this dataset or sampler keeps from pass to pass; empty at first.
    """

    _generator: type[Any] = Mersenne32  # of orders

    def __init__(self, seed: int, kept: dict[str, Any]):
        self._seed, self._kept = seed, kept

    def order(self, size: int) -> np.ndarray:
        # Each pass mixes the order of the one before, with another seed.
        order = self._order_so_far(size)
        self._generator(self._next_seed()).shuffle(order)
        return np.array(order, np.int64)

    def parts(self, ends: Sequence[int]) -> np.ndarray:
        # Each pass cuts the order of the one before where the parts end, and mixes the pieces.
        self._kept["rows"] = _joined(self._kept.get("rows", np.arange(ends[-1])), ends, self._fresh_order(len(ends)))
        return self._kept["rows"]

    def repeating(self, size: int) -> np.ndarray:
        return Mersenne32(self._next_seed()).below(np.full(size, size))

    def mixed(self, items: np.ndarray, count: int) -> np.ndarray:
        chosen = items[:count]
        order = self._order_so_far(len(chosen))
        Mersenne32(self._seed).shuffle(order)
        return chosen[order]

    def weighted(self, weights: np.ndarray, count: int, replacement: bool) -> np.ndarray:
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


class RecordDraws(MindSporeDraws):
    """What MindSpore draws for MindRecord files, from another generator, whose first seed is one higher.

    Args:
        seed (int): the seed.
        kept (dict): what the dataset keeps from pass to pass; empty at first.
        shared (bool): whether shards draw, which start with the order of the files in each pass.
    """

    _generator = MinimalStandard

    def __init__(self, seed: int, kept: dict[str, Any], shared: bool = False):
        super().__init__(seed + 1, kept)
        self._shared = shared

    def order(self, size: int) -> np.ndarray:
        if self._shared:
            return np.array(self._fresh_order(size), np.int64)
        return super().order(size)

    def mixed(self, items: np.ndarray, count: int) -> np.ndarray:
        chosen = items[:count]
        order = list(range(len(chosen)))
        MinimalStandard(self._seed).shuffle(order)
        return chosen[order]


def _joined(rows, ends, order):
    """The pieces of some rows that end at `ends`, in an order."""
    pieces = np.split(rows, ends[:-1])
    return np.concatenate([pieces[i] for i in order])
