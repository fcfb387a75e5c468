"""zip, concat and flat_map: several datasets as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from msjax.core.base.checks import check_callable, check_kind, check_type
from msjax.core.base.errors import describe
from msjax.dataset.dataset import Dataset
from msjax.dataset.operations.shared import different_names, operation_name, row_error
from msjax.dataset.run import Run, draw_seed
from msjax.dataset.samplers import DistributedSampler
from msjax.dataset.values import same_type, shape_and_type, to_numpy


class ZipDataset(Dataset):
    """What `zip` and `Dataset.zip` give."""

    def __init__(self, datasets: Sequence[Dataset]):
        fits = isinstance(datasets, tuple)
        self._inputs: tuple[Dataset, ...] = check_kind(datasets, fits, "be a tuple of datasets", "datasets", "zip")
        if len(datasets) < 2:
            raise ValueError(f"For 'zip', there should be at least two datasets, but got {len(datasets)}.")
        for dataset in datasets:
            check_kind(dataset, isinstance(dataset, Dataset), "hold datasets", "datasets", "zip")

    def _columns(self):
        return different_names([name for dataset in self._inputs for name in dataset._columns()], "zip")

    def _count(self, endless):
        return min(dataset._count(endless) for dataset in self._inputs)

    def _rows(self, run):
        streams = [dataset._rows(run.child(i)) for i, dataset in enumerate(self._inputs)]
        for rows in zip(*streams):
            yield tuple(value for row in rows for value in row)


class ConcatDataset(Dataset):
    """What `concat` and ``+`` give."""

    def __init__(self, datasets: Sequence[Dataset]):
        for dataset in datasets:
            check_kind(dataset, isinstance(dataset, Dataset), "be a dataset or a list of them", "datasets", "concat")
        self._inputs = tuple(datasets)
        self._sampler: Any = None

    def use_sampler(self, sampler: DistributedSampler) -> None:
        """Read one of several shards of all rows, in the order of the datasets; no row comes twice.

        Args:
            sampler (DistributedSampler): with ``shuffle=False`` and without `num_samples`.

        Raises:
            TypeError: another sampler.
            ValueError: it shuffles or has `num_samples`.

        Example:
            >>> data = ds.NumpySlicesDataset([1, 2], ["v"], shuffle=False) + ds.NumpySlicesDataset([3], ["v"])
            >>> data.use_sampler(ds.DistributedSampler(2, 0, shuffle=False))
            >>> [int(row["v"]) for row in data.create_dict_iterator()]
            [1, 3]
        """
        check_type(sampler, DistributedSampler, "sampler", "use_sampler")
        if sampler.shuffle or sampler.num_samples:
            raise ValueError(
                "For 'use_sampler', a DistributedSampler of concatenated datasets can't have 'shuffle' or 'num_samples'."
            )
        self._sampler, self._size = sampler, None

    def _columns(self):
        names = self._inputs[0]._columns()
        for dataset in self._inputs[1:]:
            if dataset._columns() != names:
                raise RuntimeError(
                    f"concat: the datasets should have the same columns, but got {names} and {dataset._columns()}."
                )
        return names

    def _count(self, endless):
        counts = [dataset._count(endless) for dataset in self._inputs]
        if 0 in counts:
            raise _without_rows(counts.index(0))
        n = sum(counts)
        return n if self._sampler is None or n == math.inf else len(range(self._first_number(), int(n), self._sampler.num_shards))

    def _first_number(self):
        sampler = self._sampler
        return (sampler.shard_id - max(sampler.offset, 0)) % sampler.num_shards

    def _rows(self, run):
        names = self._columns()
        start, step = (0, 1) if self._sampler is None else (self._first_number(), self._sampler.num_shards)
        number, first = 0, None
        for i, dataset in enumerate(self._inputs):
            at = None
            for at, row in enumerate(dataset._rows(run.child(i))):
                if at == 0:
                    kinds = [shape_and_type(value) for value in row]
                    first = first or kinds
                    _check_alike(first, kinds, names, i)
                if number % step == start:
                    yield row
                number += 1
            if at is None:
                raise _without_rows(i)


def _without_rows(number):
    return ValueError(f"concat: dataset {number} has no rows; each should have some.")


def _check_alike(first, other, names, i):
    for name, (shape, dtype), (other_shape, other_dtype) in zip(names, first, other):
        if not same_type(dtype, other_dtype) or len(shape) != len(other_shape):
            raise RuntimeError(
                f"concat: column {name!r} should have the same type and rank in all datasets, but has {dtype} of shape {shape} in the "
                f"first and {other_dtype} of shape {other_shape} in dataset {i}."
            )


class FlatMapDataset(Dataset):
    """Make a dataset of each row, and put these one after the other: `func` gets a numpy array for each column, and returns a dataset.

    Example:
        >>> data = ds.NumpySlicesDataset([2, 3], ["n"], shuffle=False)
        >>> [int(v) for v, in data.flat_map(lambda n: ds.NumpySlicesDataset(list(range(n)), ["v"], shuffle=False))]
        [0, 1, 0, 1, 2]
    """

    def __init__(self, dataset: Dataset, func: Callable[..., Any]):
        self._inputs, self._function = (dataset,), check_callable(func, "func", "flat_map")

    def _columns(self):
        for dataset in self._datasets(self._inputs[0]._rows(Run.start(draw_seed(), 0))):
            return dataset._columns()
        return []

    def _rows(self, run):
        for i, dataset in enumerate(self._datasets(self._inputs[0]._rows(run.child()))):
            yield from dataset._rows(run.child(i + 1))

    def _datasets(self, rows):
        for number, row in enumerate(rows):
            try:
                dataset = self._function(*map(to_numpy, row))
            except Exception as error:
                raise row_error("flat_map", number, error, f", function {operation_name(self._function)}") from error
            if not isinstance(dataset, Dataset):
                raise RuntimeError(f"flat_map: row {number}: 'func' should return a dataset, but returned {describe(dataset)}.")
            yield dataset
