"""The base of sources whose rows can be read by index."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_int, is_int
from msjax.core.base.errors import describe
from msjax.dataset.checks import LARGEST, check_pool, check_whole
from msjax.dataset.dataset import Dataset
from msjax.dataset.parallel import ordered_map
from msjax.dataset.run import Run
from msjax.dataset.samplers import (
    BuiltinSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    as_sampler,
    indices_of,
)


class MappableDataset(Dataset):
    """A source whose rows can be read by index, in the order that a sampler gives.

    A source defines `_length`, the number of rows, and `_row`, a tuple of values by index.

    Where `sampler` says which rows come, most other arguments are left out; see `GeneratorDataset`.
    """

    _length: Callable[[], int]
    _row: Callable[[int], tuple[Any, ...]]
    _sampler: Any = None
    # The error of arguments that exclude each other: ValueError for sources that are no files.
    _conflict: type[Any] = RuntimeError

    def __init__(
        self,
        num_samples: int | None,
        shuffle: bool | None,
        sampler: Sampler | Iterable[int] | None,
        num_shards: int | None,
        shard_id: int | None,
        num_parallel_workers: int | None,
        python_multiprocessing: bool = False,
    ):
        who = type(self).__name__
        self._workers, self._processes = check_pool(num_parallel_workers, python_multiprocessing, who)
        if num_samples is not None:
            check_int(num_samples, "num_samples", who, low=0, high=2**63 - 1)
        if shuffle is not None:
            check_bool(shuffle, "shuffle", who)
        check_shards(who, num_shards, shard_id, self._conflict)
        if sampler is not None:
            if shuffle is not None or num_shards is not None:
                other = "sharding" if shuffle is None else "shuffle"
                raise self._conflict(f"For '{who}', sampler and {other} cannot be specified at the same time.")
            self._sampler = as_sampler(sampler, who)
            if num_samples is not None:
                if isinstance(sampler, BuiltinSampler):
                    raise ValueError(f"For '{who}', 'sampler' excludes 'num_samples'; give it to the sampler.")
                self._sampler.num_samples = num_samples
        elif num_shards is not None:
            self._sampler = DistributedSampler(num_shards, shard_id, True if shuffle is None else shuffle, num_samples)
        else:
            # A number of shuffled rows is drawn with repetitions, as in MindSpore.
            shuffled = shuffle is not False
            self._sampler = (
                RandomSampler(num_samples is not None, num_samples) if shuffled else SequentialSampler(None, num_samples)
            )

    def _labels(self, column):
        raise RuntimeError(f"{type(self).__name__} has no classes, so PKSampler can't choose among them.")

    def _indices(self, run):
        return indices_of(self._sampler, self._length(), run, self._labels)

    def _count(self, endless):
        return len(self._indices(Run.start(0, 0)))

    def _rows(self, run):
        indices = self._indices(run)
        return ordered_map(self._work, map(int, indices), run, self._workers, self._processes, type(self).__name__)

    def _work(self, key, index):
        """What the workers do."""
        return self._row(index)

    def _subset(self, indices):
        sampler = self._sampler
        if type(sampler) not in (RandomSampler, SequentialSampler, SubsetSampler, SubsetRandomSampler) or sampler.child_sampler:
            return None
        shuffled = isinstance(sampler, (RandomSampler, SubsetRandomSampler))
        if isinstance(sampler, SubsetSampler):
            indices = np.array(sampler.indices)[indices]
        elif isinstance(sampler, SequentialSampler):
            indices = indices + sampler.start_index
        elif sampler.num_samples or sampler.replacement:
            return None
        kind = SubsetRandomSampler if shuffled else SubsetSampler
        copy = object.__new__(type(self))
        copy.__dict__.update({**self.__dict__, "_sampler": kind([int(i) for i in indices]), "_size": None})
        return copy

    def use_sampler(self, new_sampler: Sampler) -> None:
        """Let another sampler choose the rows; what was chosen before is forgotten.

        Example:
            >>> data = ds.NumpySlicesDataset([5, 6, 7], ["v"])
            >>> data.use_sampler(ds.SequentialSampler(1))
            >>> [int(v) for v, in data]
            [6, 7]
        """
        self._sampler, self._size = as_sampler(new_sampler, "use_sampler"), None

    def is_shuffled(self) -> bool:
        return self._sampler is not None and self._sampler.is_shuffled()

    def is_sharded(self) -> bool:
        return self._sampler is not None and self._sampler.is_sharded()

    def add_sampler(self, new_sampler: Sampler) -> None:
        """Let another sampler choose among the rows that were chosen before."""
        sampler = as_sampler(new_sampler, "add_sampler")
        sampler.add_child(self._sampler)
        self._sampler, self._size = sampler, None


def check_shards(who: str, num_shards: int | None, shard_id: int | None, conflict: type[Exception]) -> None:
    """Raise unless there are both or neither, and the shard is one of them."""
    if num_shards is None and shard_id is not None:
        raise conflict(f"For '{who}', shard_id is specified but num_shards is not: {shard_id}.")
    if num_shards is not None:
        if shard_id is None:
            raise conflict(f"For '{who}', num_shards is specified and currently requires shard_id as well: {num_shards}.")
        check_int(num_shards, "num_shards", who, low=1, high=LARGEST)
        if not is_int(shard_id):
            raise TypeError(f"For '{who}': Argument shard_id should be an int, but got {describe(shard_id)}.")
        check_whole(shard_id, "shard_id", who, 0, num_shards - 1)
