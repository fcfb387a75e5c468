"""GeneratorDataset and NumpySlicesDataset: rows from Python objects, and from arrays and lists."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_int, check_kind, check_value
from msjax.core.base.errors import describe
from msjax.dataset.checks import check_columns, check_list, check_pool
from msjax.dataset.operations.batch import collate
from msjax.dataset.operations.shared import operation_name, row_error
from msjax.dataset.parallel import ordered_map
from msjax.dataset.samplers import Sampler
from msjax.dataset.sources.mappable import MappableDataset
from msjax.dataset.values import as_value, numpy_dtype, owned, same_type

__all__ = ["GeneratorDataset", "NumpySlicesDataset"]


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
        max_rowsize: MindSpore's, without effect.
        batch_sampler (iterable, optional): lists of indices; each row is then a batch of the rows that a list names. It excludes
            `num_samples`, `shuffle`, `num_shards`, `shard_id` and `sampler`.
        collate_fn (function, optional): makes a batch, with `batch_sampler`: it gets a list of values for each column, and
            returns an array, or a tuple with one for each column. Default: the values are stacked.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: the source fails, or a row has a wrong number of values or other types (when reading).

    Example:
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
        python_multiprocessing: bool = False, max_rowsize: Any = None, batch_sampler: Iterable[Any] | None = None,
        collate_fn: Callable[..., Any] | None = None,
    ):  # fmt: skip
        who = "GeneratorDataset"
        if schema is not None:
            raise NotImplementedError("For 'GeneratorDataset', msjax has no 'schema'; use 'column_names'.")
        by_index = hasattr(source, "__getitem__")
        fits = callable(source) or by_index or hasattr(source, "__iter__") or hasattr(source, "__next__")
        check_kind(source, fits, "be iterable, have __getitem__, or be a function", "source", who)
        if column_names is None:
            raise ValueError(f"For '{who}', 'column_names' is missing.")
        self._names = check_columns(column_names, "column_names", who)
        self._types = None
        if column_types is not None:
            types: list[Any] = column_types if isinstance(column_types, list) else [column_types]
            self._types = [numpy_dtype(t, "column_types", who) for t in check_list(types, "column_types", who)]
            fits = len(self._types) == len(self._names)
            check_value(column_types, fits, f"be a type for each of {self._names}", "column_types", who)
        self.source: Any = source
        self._by_index = by_index and not isinstance(source, dict)
        self._batches: Any = batch_sampler
        self._collate = collate_fn
        if batch_sampler is not None or collate_fn is not None:
            if batch_sampler is None:
                raise ValueError("For 'GeneratorDataset', 'collate_fn' needs 'batch_sampler'.")
            fits = hasattr(batch_sampler, "__iter__") or hasattr(batch_sampler, "__getitem__")
            check_kind(batch_sampler, fits, "be iterable", "batch_sampler", who)
            check_kind(collate_fn, collate_fn is None or callable(collate_fn), "be a function", "collate_fn", who)
            others = (num_samples, shuffle, sampler, num_shards, shard_id)
            if not self._by_index or any(other is not None for other in others):
                raise ValueError(
                    "For 'GeneratorDataset', 'batch_sampler' needs a source with __getitem__, and excludes 'num_samples', 'shuffle', "
                    "'sampler', 'num_shards' and 'shard_id'."
                )
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
        return super()._subset(indices) if self._by_index and self._batches is None else None

    def get_batch_size(self) -> int:
        return 1 if self._batches is None else -1

    def is_shuffled(self) -> bool:
        return self._batches is None and super().is_shuffled()

    def _length(self):
        try:
            size = len(self.source)
        except Exception as error:
            raise RuntimeError(f"GeneratorDataset: len() of the source failed: {type(error).__name__}: {error}") from error
        if not size:
            raise RuntimeError("GeneratorDataset: the source has no rows: its len() is 0.")
        return size

    def _count(self, endless):
        if self._batches is not None:
            return len(self._batches) if hasattr(self._batches, "__len__") else sum(1 for _ in self._batches)
        if self._by_index:
            return super()._count(endless)
        return sum(1 for _ in self._numbered())

    def _rows(self, run):
        if self._batches is not None:
            return ordered_map(
                self._read_batch, enumerate(self._batches), run, self._workers, self._processes, "GeneratorDataset"
            )
        if self._by_index:
            return super()._rows(run)
        return (self._checked(number, row) for number, row in self._numbered())

    def _row(self, index):
        try:
            row = self.source[index]
        except Exception as error:
            raise row_error("GeneratorDataset", index, error, ", __getitem__ of the source") from error
        return self._checked(index, row)

    def _read_batch(self, key, numbered):
        number, indices = numbered
        rows = [self._row(index) for index in indices]
        if self._collate is None:
            return collate(rows, self._names, "GeneratorDataset", number)
        try:
            result = self._collate(*map(list, zip(*rows)))
            values = result if isinstance(result, tuple) else (result,)
            if len(values) != len(self._names):
                raise TypeError(f"it should return an array for each of {self._names}, but returned {describe(result)}")
            return tuple(map(as_value, values))
        except Exception as error:
            name = operation_name(self._collate)
            raise RuntimeError(f"GeneratorDataset: batch {number}, collate_fn {name}: {type(error).__name__}: {error}") from error

    def _numbered(self):
        """The rows of an iterable source with their numbers."""
        number = 0
        try:
            source: Any = self.source() if callable(self.source) else self.source
            for row in iter(source) if hasattr(source, "__iter__") else map(next, itertools.repeat(source)):
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


class NumpySlicesDataset(MappableDataset):
    """Rows that are slices of arrays, lists, tuples or dicts along their first axis.

    Args:
        data: an array or list, for one column; a tuple of them, for several; or a dict of them by column.
        column_names (str or list of str, optional): default: the dict's keys, otherwise ``column_0``, ``column_1`` and so on.
        num_parallel_workers (int, optional): accepted for compatibility with MindSpore, without effect.
        num_samples, shuffle, sampler, num_shards, shard_id: as in `ImageFolderDataset`.

    Raises:
        TypeError: no data.
        ValueError: lengths differ, or the names are not as many as the columns.

    Example:
        >>> data = ds.NumpySlicesDataset((np.eye(2), [3, 4]), ["x", "y"], shuffle=False)
        >>> [(row["x"].tolist(), int(row["y"])) for row in data.create_dict_iterator(output_numpy=True)]
        [([1.0, 0.0], 3), ([0.0, 1.0], 4)]
    """

    _conflict = ValueError

    def __init__(
        self, data: Sequence[Any] | dict[str, Any] | np.ndarray, column_names: str | list[str] | None = None, num_samples: int | None = None,
        num_parallel_workers: int = 1, shuffle: bool | None = None, sampler: Sampler | Iterable[int] | None = None, num_shards: int | None = None,
        shard_id: int | None = None,
    ):  # fmt: skip
        who = "NumpySlicesDataset"
        fits = isinstance(data, (list, tuple, dict, np.ndarray, Tensor))
        check_kind(data, fits, "be a list, tuple, dict or array", "data", who)
        names = None if column_names is None else check_columns(column_names, "column_names", who)
        columns = list(data.values()) if isinstance(data, dict) else list(data) if isinstance(data, tuple) else [data]
        own = list(data) if isinstance(data, dict) else [f"column_{i}" for i in range(len(columns))]
        self._names = names or own
        fits = columns and len(self._names) == len(columns)
        check_value(column_names, fits, f"be a name for each of the {len(columns)} columns", "column_names", who)
        super().__init__(num_samples, shuffle, sampler, num_shards, shard_id, num_parallel_workers)
        self._workers, self._processes = 1, False  # slicing costs less than handing it to a worker
        self._arrays = [_column(column, name) for column, name in zip(columns, self._names)]
        lengths = [len(array) for array in self._arrays]
        if not lengths[0]:
            raise ValueError(f"For '{who}', 'data' should have rows, but column {self._names[0]!r} is empty.")
        if len(set(lengths)) > 1:
            raise ValueError(f"For '{who}', all columns should have the same length, but got {dict(zip(self._names, lengths))}.")

    def _columns(self):
        return self._names

    def _length(self):
        return len(self._arrays[0])

    def _row(self, index):
        return tuple(owned(as_value(array[index])) for array in self._arrays)


def _column(values, name):
    """The values of one column: an array, or a list of values whose shapes differ."""
    if isinstance(values, np.ndarray):
        check_kind(values, values.ndim, "have rows", f"column {name!r}", "NumpySlicesDataset")
        return values
    if isinstance(values, Tensor):
        return values.asnumpy()
    check_kind(values, isinstance(values, (list, tuple)), "be a list, tuple or array", f"column {name!r}", "NumpySlicesDataset")
    try:
        array = np.array([v.asnumpy() if isinstance(v, Tensor) else v for v in values])
    except ValueError:
        return list(values)
    return list(values) if array.dtype.kind == "O" else array
