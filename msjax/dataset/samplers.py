"""Samplers: which rows of a source that is read by index come, and in which order."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_int, is_int, is_number
from msjax.core.base.errors import describe
from msjax.dataset.checks import check_data, check_list
from msjax.dataset.run import Run

__all__ = [
    "BuiltinSampler", "DistributedSampler", "IterSampler", "PKSampler", "RandomSampler", "Sampler", "SequentialSampler",
    "SubsetRandomSampler", "SubsetSampler", "WeightedRandomSampler",
]  # fmt: skip


class Sampler:
    """The base of samplers of one's own: ``__iter__`` gives the indices of one epoch.

    Args:
        num_samples (int, optional): at most so many indices are taken.

    Attributes:
        dataset_size (int): the number of rows of the source, set before ``__iter__`` is called.

    Example:
        >>> class Evens(ds.Sampler):
        ...     def __iter__(self):
        ...         return iter(range(0, self.dataset_size, 2))
        >>> [int(row["v"]) for row in ds.NumpySlicesDataset([5, 6, 7], ["v"], sampler=Evens()).create_dict_iterator()]
        [5, 7]
    """

    def __init__(self, num_samples: int | None = None):
        self.dataset_size: int = 0
        self.child_sampler = None
        if num_samples is not None:
            check_int(num_samples, "num_samples", type(self).__name__, low=0, high=2**63 - 1)
        self.num_samples: int | None = num_samples

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError(f"{type(self).__name__} should define __iter__, which gives the indices of one epoch.")

    def add_child(self, sampler: Sampler) -> None:
        """Let another sampler choose rows first; this one then chooses among them. RuntimeError if it has one already."""
        if self.child_sampler is not None:
            raise RuntimeError(
                f"{type(self).__name__} already has the child {type(self.child_sampler).__name__}; add the next to that one."
            )
        self.child_sampler = sampler

    def get_child(self) -> Sampler | None:
        """The sampler that chooses first; None for none."""
        return self.child_sampler

    def get_num_samples(self) -> int | None:
        """At most how many rows come; None for all."""
        return self.num_samples

    def is_shuffled(self) -> bool:
        """Whether the order of the rows is by chance."""
        return self._shuffled or (self.child_sampler is not None and self.child_sampler.is_shuffled())

    def is_sharded(self) -> bool:
        """Whether this takes the rows of one of several shards."""
        return self._sharded or (self.child_sampler is not None and self.child_sampler.is_sharded())

    _shuffled = _sharded = False

    def reset(self) -> None:
        """Called before each epoch; to be defined by samplers that keep a state."""

    def _positions(self, size, run, labels):
        self.dataset_size = size
        chosen = list(itertools.islice(iter(self), self.num_samples or None))
        for index in chosen:
            if not isinstance(index, (int, np.integer)) and not (isinstance(index, np.ndarray) and index.dtype.kind in "iu"):
                raise TypeError(f"an index should be an int, but got {describe(index)}")
        return np.array(chosen, np.int64).reshape(-1)


class BuiltinSampler(Sampler):
    """The base of the samplers that msjax offers.

    Example:
        >>> isinstance(ds.SequentialSampler(), ds.BuiltinSampler)
        True
    """


class SequentialSampler(BuiltinSampler):
    """Rows one after the other.

    Args:
        start_index (int, optional): the first row. Default: 0.
        num_samples (int, optional): at most how many rows. Default: all.

    Raises:
        RuntimeError: there is no such row (when reading).

    Example:
        >>> data = ds.NumpySlicesDataset([5, 6, 7], ["v"], sampler=ds.SequentialSampler(1, 2))
        >>> [int(row["v"]) for row in data.create_dict_iterator()]
        [6, 7]
    """

    def __init__(self, start_index: int | None = None, num_samples: int | None = None):
        super().__init__(num_samples)
        self.start_index: int = 0 if start_index is None else check_int(start_index, "start_index", "SequentialSampler")

    def _positions(self, size, run, labels):
        should = f"'start_index' should be in [0, {size}], where {size} is the number of rows"
        check_data(self.start_index, 0 <= self.start_index <= size, should, "SequentialSampler")
        return np.arange(self.start_index, size)


class RandomSampler(BuiltinSampler):
    """Rows by chance.

    Args:
        replacement (bool): whether a row may come more than once. Default: False.
        num_samples (int, optional): at most how many rows. Default: all; never more than there are.

    Example:
        >>> data = ds.NumpySlicesDataset([5, 6, 7], ["v"], sampler=ds.RandomSampler())
        >>> sorted(int(row["v"]) for row in data.create_dict_iterator())
        [5, 6, 7]
    """

    _shuffled = True

    def __init__(self, replacement: bool = False, num_samples: int | None = None):
        super().__init__(num_samples)
        self.replacement: bool = check_bool(replacement, "replacement", "RandomSampler")

    def _positions(self, size, run, labels):
        draws = run.draws()
        return draws.repeating(size) if self.replacement else draws.order(size)


class SubsetSampler(BuiltinSampler):
    """The rows of given indices, in that order.

    Args:
        indices (int or list of int): the indices.
        num_samples (int, optional): at most how many. Default: all.

    Raises:
        RuntimeError: there is no such row (when reading).

    Example:
        >>> data = ds.NumpySlicesDataset([5, 6, 7], ["v"], sampler=ds.SubsetSampler([2, 0]))
        >>> [int(row["v"]) for row in data.create_dict_iterator()]
        [7, 5]
    """

    def __init__(self, indices: int | list[int], num_samples: int | None = None):
        super().__init__(num_samples)
        who = type(self).__name__
        listed: Any = [indices] if is_int(indices) else indices
        try:
            listed = None if isinstance(indices, str) else list(listed)
        except TypeError:
            listed = None
        if listed is None or not all(is_int(i) or isinstance(i, np.integer) for i in listed):
            raise TypeError(f"For '{who}', 'indices' should be an int or a list of int, but got {describe(indices)}.")
        self.indices: list[int] = [int(i) for i in listed]

    def get_num_samples(self) -> int | None:
        """How many rows come."""
        return min(self.num_samples or len(self.indices), len(self.indices))

    def _positions(self, size, run, labels):
        check_data(self.indices, self.indices, "'indices' should not be empty", type(self).__name__)
        return np.array(self.indices, np.int64)


class SubsetRandomSampler(SubsetSampler):
    """The rows of given indices, in an order by chance.

    Args:
        indices (int or list of int): the indices.
        num_samples (int, optional): at most how many, the first ones. Default: all.

    Example:
        >>> data = ds.NumpySlicesDataset([5, 6, 7], ["v"], sampler=ds.SubsetRandomSampler([2, 0]))
        >>> sorted(int(row["v"]) for row in data.create_dict_iterator())
        [5, 7]
    """

    _shuffled = True

    def _positions(self, size, run, labels):
        indices = super()._positions(size, run, labels)
        return run.draws().mixed(indices, self.num_samples or len(indices))


class WeightedRandomSampler(BuiltinSampler):
    """Rows by chance, those with larger weights more often.

    Args:
        weights (list of float): a weight for each row, not negative.
        num_samples (int, optional): how many rows. Default: all; never more than there are.
        replacement (bool): whether a row may come more than once. Default: True.

    Raises:
        RuntimeError: negative weights, only zeros, none, or more than there are rows (when reading).

    Example:
        >>> data = ds.NumpySlicesDataset([5, 6, 7], ["v"], sampler=ds.WeightedRandomSampler([0, 1, 0], 2))
        >>> [int(row["v"]) for row in data.create_dict_iterator()]
        [6, 6]
    """

    _shuffled = True

    def __init__(self, weights: list[float], num_samples: int | None = None, replacement: bool = True):
        super().__init__(num_samples)
        who = "WeightedRandomSampler"
        weights = weights.tolist() if isinstance(weights, np.ndarray) else weights
        for weight in check_list(weights, "weights", who, empty=True):
            if not is_number(weight) and not isinstance(weight, np.number):
                raise TypeError(f"For '{who}', 'weights' should be a list of numbers, but got {describe(weight)} in it.")
        self.weights: list[float] = [float(w) for w in weights]
        self.replacement: bool = check_bool(replacement, "replacement", who)

    def _positions(self, size, run, labels):
        weights = np.array(self.weights)
        count = min(self.num_samples or size, size)
        if not len(weights) or len(weights) > size or not (weights >= 0).all() or not weights.sum() > 0:
            raise RuntimeError(
                f"WeightedRandomSampler: 'weights' should hold 1 to {size} numbers, one for each row, none negative and not all "
                f"zero, but got {describe(self.weights)}."
            )
        if not self.replacement and count > np.count_nonzero(weights):
            raise RuntimeError(
                f"WeightedRandomSampler: {count} rows can't be drawn without replacement, as {np.count_nonzero(weights)} weights are "
                "not zero."
            )
        return run.draws().weighted(weights, count, self.replacement)


class DistributedSampler(BuiltinSampler):
    """Every ``num_shards``-th row. All shards have equally many: where rows are missing at the end, the first ones come again.

    Args:
        num_shards (int): how many shards there are.
        shard_id (int): which one this is, from 0.
        shuffle (bool): shuffle the rows before; each shard draws the same order. Default: True.
        num_samples (int, optional): at most how many rows. Default: all.
        offset (int): the shard that gets the first row, up to `num_shards`, which is shard 0; then no rows come twice and
            shards may differ in size. Default: -1, for none.

    Raises:
        RuntimeError: there is no such shard (when reading).

    Example:
        >>> data = ds.NumpySlicesDataset([5, 6, 7], ["v"], sampler=ds.DistributedSampler(2, 1, shuffle=False))
        >>> [int(row["v"]) for row in data.create_dict_iterator()]
        [6, 5]
    """

    _sharded = True

    def __init__(
        self, num_shards: int, shard_id: int | None, shuffle: bool = True, num_samples: int | None = None, offset: int = -1
    ):
        super().__init__(num_samples)
        who = "DistributedSampler"
        self.num_shards, self.shard_id = check_int(num_shards, "num_shards", who), check_int(shard_id, "shard_id", who)
        self.shuffle: bool = check_bool(shuffle, "shuffle", who)
        self._shuffled = shuffle
        self.offset: int = check_int(offset, "offset", who)

    def _positions(self, size, run, labels):
        shards, shard = self.num_shards, self.shard_id
        given = {"num_shards": shards, "shard_id": shard, "offset": self.offset}
        should = "'shard_id' should be in [0, num_shards) and 'offset' at most 'num_shards'"
        check_data(given, 0 <= shard < shards and self.offset <= shards, should, "DistributedSampler")
        order = run.shared_draws().order(size) if self.shuffle else np.arange(size)
        if self.offset >= 0:
            return order[(shard - self.offset) % shards :: shards]
        each = -(-size // shards)
        return order[(shard + shards * np.arange(each)) % size] if size else order


class PKSampler(BuiltinSampler):
    """K rows of each of P classes.

    Args:
        num_val (int): K, how many rows of each class; a class with fewer gives some of them again.
        num_class (None): P is always the number of all classes.
        shuffle (bool): take the classes in an order by chance, and rows of each by chance. Default: False.
        class_column (str): the column of the class. Default: "label".
        num_samples (int, optional): at most how many rows. Default: all.

    Raises:
        RuntimeError: the source has no classes (when reading).
        NotImplementedError: `num_class` is given.

    Example:
        >>> ds.PKSampler(2).num_val
        2
    """

    def __init__(
        self,
        num_val: int,
        num_class: int | None = None,
        shuffle: bool = False,
        class_column: str = "label",
        num_samples: int | None = None,
    ):
        super().__init__(num_samples)
        if num_class is not None:
            raise NotImplementedError("For 'PKSampler', 'num_class' should be None: rows of all classes are taken.")
        self.num_val: int = check_int(num_val, "num_val", "PKSampler")
        self.shuffle: bool = check_bool(shuffle, "shuffle", "PKSampler")
        self._shuffled = shuffle
        self.class_column = class_column

    def _positions(self, size, run, labels):
        check_data(self.num_val, self.num_val >= 1, "'num_val' should be positive", "PKSampler")
        labels = labels(self.class_column)
        rng = run.rng() if self.shuffle else None
        classes = np.unique(labels)
        chosen = []
        for label in classes if rng is None else rng.permutation(classes):
            members = np.flatnonzero(labels == label)
            members = members if rng is None else rng.permutation(members)
            chosen.append(np.resize(members, self.num_val))
        return np.concatenate(chosen) if chosen else np.zeros(0, np.int64)


class IterSampler(Sampler):
    """A sampler out of any object whose ``__iter__``, or ``__getitem__``, gives indices.

    Args:
        sampler: the object, which can be gone through many times.
        num_samples (int, optional): at most how many indices are taken.

    Example:
        >>> data = ds.NumpySlicesDataset([5, 6, 7], ["v"], sampler=ds.IterSampler(range(2)))
        >>> [int(row["v"]) for row in data.create_dict_iterator()]
        [5, 6]
    """

    def __init__(self, sampler: Iterable[int], num_samples: int | None = None):
        super().__init__(num_samples)
        self.sampler: Any = sampler  # or what has a length and indices only

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self.sampler, types.GeneratorType):
            raise RuntimeError(
                "The sampler is a generator, which can be gone through only once; give a list, or an object with __iter__."
            )
        if not hasattr(self.sampler, "__iter__") and hasattr(self.sampler, "__len__"):
            return (self.sampler[i] for i in range(len(self.sampler)))  # without an IndexError, iter would never end
        return iter(self.sampler)


def as_sampler(value: Any, who: str) -> Sampler:
    """A sampler from a sampler, a list of indices, or an object with ``__iter__`` or ``__getitem__``."""
    if isinstance(value, Sampler):
        return value
    if isinstance(value, list):
        return SubsetSampler(value)
    if (hasattr(value, "__iter__") or hasattr(value, "__getitem__")) and not isinstance(value, str):
        return IterSampler(value)
    raise TypeError(
        f"For '{who}': Unsupported sampler object of type ({type(value)}); it should be a Sampler, a list of int, or an object "
        "with __iter__ or __getitem__."
    )


def indices_of(sampler: Sampler, size: int, run: Run, labels: Callable[[str], np.ndarray] | None) -> np.ndarray:
    """The indices of the rows of one epoch."""
    chosen = np.arange(size)
    if sampler.child_sampler is not None:
        chosen = indices_of(sampler.child_sampler, size, run.child(), labels)
    sampler.reset()
    try:
        positions = sampler._positions(len(chosen), run, labels)
    except RuntimeError:
        raise
    except Exception as error:
        raise RuntimeError(f"{type(sampler).__name__} failed: {type(error).__name__}: {error}") from error
    if isinstance(sampler, BuiltinSampler):
        positions = positions[: sampler.num_samples or None]
    wrong = positions[(positions < 0) | (positions >= len(chosen))]
    if len(wrong):
        raise RuntimeError(f"{type(sampler).__name__} asks for row {wrong[0]}, but there are {len(chosen)} rows.")
    return chosen[positions]
