"""One reading of a pipeline: which epoch it is, and where each operation gets its random numbers from."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from msjax.common.generators.mersenne import Mersenne32, Mersenne64, MinimalStandard
from msjax.dataset import config
from msjax.dataset.pools import Pools

# {the place of a dataset: what it keeps from pass to pass}
_Kept = dict[tuple[int, ...], dict[str, Any]]


class Run(NamedTuple):
    """One reading of (a part of) a pipeline.

    A run is known by a key: the seed, the epoch, and the way from the end of the pipeline to one dataset. Each dataset draws
    from a generator of this key, so that a seed gives the same rows in every run, whatever the workers do.

    `pools` are the workers of the iterator that reads; None where each operation starts its own and ends them with the epoch. `kept` is
    what datasets keep from pass to pass of this iterator, by their `place`, the way to them. `first` and `last` say whether it is the first and
    the last pass over the dataset in this epoch. `of_records` says whether it reads MindRecord
    files, for which MindSpore draws other numbers.
    """

    key: tuple[Any, ...]
    epoch: int
    pools: Pools | None
    kept: _Kept
    place: tuple[int, ...] = ()
    of_records: bool = False
    first: bool = True
    last: bool = True

    @classmethod
    def start(cls, seed: int, epoch: int, pools: Pools | None = None, kept: _Kept | None = None) -> Run:
        """The run of a whole pipeline."""
        return cls((seed, epoch), epoch, pools, {} if kept is None else kept)

    def child(self, number: int = 0) -> Run:
        """The run of an input."""
        return self._within(number, number, self.first, self.last)

    def again(self, number: int, last: bool = False) -> Run:
        """The run of one of several passes over an input."""
        return self._within(number, 0, self.first and number == 0, self.last and last)

    def _within(self, number, place, first, last):
        return self._replace(key=(*self.key, number), place=(*self.place, place), first=first, last=last)

    def draws(self) -> Draws:
        """What this dataset draws in this run: MindSpore's numbers where a seed was set."""
        seed = config.get_seed()
        if seed == config.DEFAULT_SEED:
            return Draws(int(np.random.SeedSequence(self.key).generate_state(1)[0]), {})
        kept = self.kept.setdefault(self.place, {})
        return RecordDraws(seed, kept) if self.of_records else Draws(seed, kept)

    def shared_draws(self) -> Draws:
        """`draws` that shards in other processes have, too, even when no seed was set."""
        seed, kept = config.get_seed(), self.kept.setdefault(self.place, {})
        return RecordDraws(seed, kept, shared=True) if self.of_records else Draws(seed + 1, kept)

    def rng(self) -> np.random.Generator:
        """A generator for this dataset in this run."""
        return np.random.default_rng(self.key)

    def shared_rng(self) -> np.random.Generator:
        """A generator that shards in other processes have, too, even when no seed was set."""
        return np.random.default_rng((config.get_seed(), *self.key[1:]))


def draw_seed() -> int:
    """The seed of a new iterator: the one that was set, or else one that differs from run to run."""
    seed = config.get_seed()
    return int(np.random.SeedSequence().generate_state(1)[0]) if seed == config.DEFAULT_SEED else seed


# ---- what samplers and `shuffle` draw: MindSpore's orders for a seed


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


# ---- what random transforms draw


class _RowDraws(threading.local):
    key: tuple[Any, ...] | None = None
    rng: np.random.Generator | None = None

    def __init__(self):
        self.unused = []


_DRAWS = _RowDraws()
_UNSEEDED = np.random.default_rng()


class row_draws:
    """Within it, random transforms draw from a generator of this row, which is there when one asks for it."""

    __slots__ = ("before", "key")

    def __init__(self, key: tuple[Any, ...]):
        self.key: tuple[Any, ...] = key

    def __enter__(self) -> Self:
        self.before: tuple[Any, Any] = _DRAWS.key, _DRAWS.rng
        _DRAWS.key, _DRAWS.rng = self.key, None

    def __exit__(self, *error: Any) -> None:
        if _DRAWS.rng is not None:
            _DRAWS.unused.append(_DRAWS.rng)
        _DRAWS.key, _DRAWS.rng = self.before


@functools.lru_cache(256)
def _philox_key(run_key):
    return np.random.SeedSequence(run_key).generate_state(2, np.uint64)


def _row_generator(key):
    """A generator whose numbers the key decides. Giving one another state takes less than making one."""
    generator = _DRAWS.unused.pop() if _DRAWS.unused else np.random.Generator(np.random.Philox(0))
    *run_key, row = key
    counter = np.array([0, 0, 0, row], np.uint64)
    generator.bit_generator.state = {
        "bit_generator": "Philox",
        "state": {"counter": counter, "key": _philox_key(tuple(run_key))},
        "buffer": np.zeros(4, np.uint64),
        "buffer_pos": 4,
        "has_uint32": 0,
        "uinteger": 0,
    }
    return generator


def row_rng() -> np.random.Generator:
    """The generator of the row that is being worked on.

    Outside of a pipeline a seed that was set gives the same numbers at each call, as in MindSpore; without one they differ.
    """
    if _DRAWS.rng is None:
        if _DRAWS.key is None:
            seed = config.get_seed()
            return _UNSEEDED if seed == config.DEFAULT_SEED else np.random.default_rng(seed)
        _DRAWS.rng = _row_generator(_DRAWS.key)
    return _DRAWS.rng
