"""GeneratorDataset: rows from Python objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from msjax.checks import check_bool, check_int
from msjax.dataset.checks import check_columns, check_list, check_options, check_pool
from msjax.dataset.operations.shared import operation_name, row_error
from msjax.dataset.sources.mappable import MappableDataset
from msjax.dataset.values import as_value, numpy_dtype, owned, same_type
from msjax.errors import describe

if TYPE_CHECKING:
    from msjax.dataset.samplers import Sampler


_OPTIONS = ("max_rowsize", "batch_sampler", "collate_fn")


class GeneratorDataset(MappableDataset):
    """Rows from Python: an object with ``__getitem__`` and ``__len__``, an iterable, or a function that returns one.

    A row is a tuple or list with a value for each column, or a single value for one column: arrays, Tensors, numbers, text,
    lists, dicts. Python ints are int64, floats float64. A function is called anew for each epoch.

    Args:
        source: the object. What can be read by index is read so, and is shuffled unless told otherwise.
        column_names (str or list of str): the names of the columns.
        column_types (list, optional): the types that the columns should have, which are checked.
        schema (None): not offered; use `column_names`.
        num_samples (int, optional): at most how many rows. Default: all.
        num_parallel_workers (int, optional): how many workers read rows by index. Default: the setting's.
        shuffle (bool, optional): mix the rows. Default: True for what can be read by index.
        sampler (Sampler, list of int or object with ``__iter__``, optional): which rows come.
        num_shards, shard_id (int, optional): the rows of one of several shards; see `DistributedSampler`.
        python_multiprocessing (bool): processes instead of threads. Default: False.
        options: `max_rowsize`, which is MindSpore's.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: the source fails, or a row has a wrong number of values or other types (when reading).

    Example:
        >>> from msjax import dataset as ds
        >>> def squares():
        ...     for i in range(3):
        ...         yield i, i * i
        >>> [[int(i), int(square)] for i, square in ds.GeneratorDataset(squares, ["i", "square"])]
        [[0, 0], [1, 1], [2, 4]]
    """

    _conflict = ValueError

    def __init__(
        self, source: Any, column_names: str | list[str] | None = None, column_types: list[Any] | None = None,
        schema: object = None, num_samples: int | None = None, num_parallel_workers: int | None = None,
        shuffle: bool | None = None, sampler: Sampler | Iterable[int] | None = None, num_shards: int | None = None, shard_id: int | None = None,
        python_multiprocessing: bool = False, **options: Any,
    ):  # fmt: skip
        who = "GeneratorDataset"
        check_options(options, _OPTIONS, who)
        if schema is not None or any(options.get(name) is not None for name in ("batch_sampler", "collate_fn")):
            raise NotImplementedError(
                "For 'GeneratorDataset', msjax has no 'schema', 'batch_sampler' or 'collate_fn'; use batch()."
            )
        by_index = hasattr(source, "__getitem__")
        if not callable(source) and not by_index and not hasattr(source, "__iter__") and not hasattr(source, "__next__"):
            raise TypeError(
                f"For '{who}', 'source' should be iterable, have __getitem__, or be a function, but got {describe(source)}."
            )
        if column_names is None:
            raise ValueError(f"For '{who}', 'column_names' is missing.")
        self._names = check_columns(column_names, "column_names", who)
        self._types = None
        if column_types is not None:
            types = column_types if isinstance(column_types, list) else [column_types]
            self._types = [numpy_dtype(t, "column_types", who) for t in check_list(types, "column_types", who)]
            if len(self._types) != len(self._names):
                raise ValueError(
                    f"For '{who}', there should be a type for each of {self._names}, but got {describe(column_types)}."
                )
        self.source = source
        self._by_index = by_index and not isinstance(source, dict)
        if self._by_index:
            super().__init__(num_samples, shuffle, sampler, num_shards, shard_id, num_parallel_workers, python_multiprocessing)
            return
        check_pool(num_parallel_workers, python_multiprocessing, who)
        if sampler is not None or num_shards is not None or shard_id is not None:
            raise ValueError(f"For '{who}', 'sampler', 'num_shards' and 'shard_id' need a source with __getitem__ and __len__.")
        if shuffle is not None:
            check_bool(shuffle, "shuffle", who)
        self._limit = None if num_samples is None else check_int(num_samples, "num_samples", who, low=0, high=2**63 - 1) or None

    def _columns(self):
        return self._names

    def _subset(self, indices):
        return super()._subset(indices) if self._by_index else None

    def _length(self):
        try:
            size = len(self.source)
        except Exception as error:
            raise RuntimeError(f"GeneratorDataset: len() of the source failed: {type(error).__name__}: {error}") from error
        if not size:
            raise RuntimeError("GeneratorDataset: the source has no rows: its len() is 0.")
        return size

    def _count(self, endless):
        if self._by_index:
            return super()._count(endless)
        return sum(1 for _ in self._numbered())

    def _rows(self, run):
        if self._by_index:
            return super()._rows(run)
        return (self._checked(number, row) for number, row in self._numbered())

    def _row(self, index):
        try:
            row = self.source[index]
        except Exception as error:
            raise row_error("GeneratorDataset", index, error, ", __getitem__ of the source") from error
        return self._checked(index, row)

    def _numbered(self):
        """The rows of an iterable source with their numbers."""
        number = 0
        try:
            source = self.source() if callable(self.source) else self.source
            for row in iter(source) if hasattr(source, "__iter__") else _only_next(source):
                yield number, row
                number += 1
                if number == self._limit:
                    return
        except Exception as error:
            name = operation_name(self.source) if callable(self.source) else type(self.source).__name__
            raise row_error("GeneratorDataset", number, error, f", source {name}") from error

    def _checked(self, number, row):
        """A row as a tuple of values of its own."""
        values = row if isinstance(row, (tuple, list)) else (row,)
        if len(values) != len(self._names):
            raise RuntimeError(
                f"GeneratorDataset: row {number} has {len(values)} value(s), but the columns are {self._names}: {describe(row)}."
            )
        try:
            values = tuple(owned(as_value(value)) for value in values)
        except TypeError as error:
            raise row_error("GeneratorDataset", number, error, f", columns {self._names}") from error
        for name, wanted, value in zip(self._names, self._types or (), values):
            if isinstance(value, dict) or not same_type(value.dtype, np.dtype(wanted)):
                raise RuntimeError(
                    f"GeneratorDataset: row {number}, column {name!r} should have the type {wanted}, but got {describe(value)}."
                )
        return values


def _only_next(source):
    while True:
        try:
            yield next(source)
        except StopIteration:
            return
