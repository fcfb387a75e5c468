"""batch: rows put together into arrays with one axis more."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_int, check_kind, check_options, check_value
from msjax.core.base.errors import describe
from msjax.dataset.checks import LARGEST, check_columns, check_pool
from msjax.dataset.dataset import Dataset
from msjax.dataset.operations.batch_work import BatchWork
from msjax.dataset.operations.map import MapDataset
from msjax.dataset.operations.shared import Layout, operation_name
from msjax.dataset.parallel import ordered_map
from msjax.dataset.run import row_draws
from msjax.dataset.values import as_value, for_function, is_text, same_type

_KNOWN = (
    "batch_size", "drop_remainder", "num_parallel_workers", "per_batch_map", "input_columns", "output_columns",
    "python_multiprocessing", "max_rowsize",
)  # fmt: skip


class BatchInfo:
    """What a function of batches gets to know: `get_batch_num` and `get_epoch_num`, both from 0.

    Example:
        >>> data = ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False).batch(lambda info: info.get_batch_num() + 1)
        >>> [row["v"].tolist() for row in data.create_dict_iterator(output_numpy=True)]
        [[1], [2, 3]]
    """

    def __init__(self, batch_num: int, epoch_num: int):
        self._batch, self._epoch = batch_num, epoch_num

    def get_batch_num(self) -> int:
        """The number of the batch in this epoch."""
        return self._batch

    def get_epoch_num(self) -> int:
        """The number of the epoch."""
        return self._epoch


def check_batch_size(size: object, who: str) -> int:
    """The value, if it is a positive int."""
    check_int(size, "batch_size", who)
    check_value(size, 0 < size <= LARGEST, "be positive", "batch_size", who)
    return size


class BatchDataset(Dataset):
    """Put rows together: each value gets one axis more, in front.

    Args:
        batch_size (int or function): how many rows, or a function of a `BatchInfo` that says so.
        drop_remainder (bool): leave out the last batch where it has fewer rows. Default: False.
        num_parallel_workers (int, optional): how many workers call `per_batch_map`.
        options: `per_batch_map`, a function of a list of values for each of `input_columns` and a `BatchInfo`, which returns a
            tuple with a list or an array for each of `output_columns`; `python_multiprocessing`, for processes;
            `max_rowsize` is MindSpore's.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: rows of other shapes or types, or `per_batch_map` fails (when reading).

    Example:
        >>> data = ds.NumpySlicesDataset({"v": [1, 2, 3]}, shuffle=False)
        >>> [row["v"].tolist() for row in data.batch(2).create_dict_iterator(output_numpy=True)]
        [[1, 2], [3]]
        >>> doubled = data.batch(3, per_batch_map=lambda v, info: ([x * 2 for x in v],), input_columns=["v"])
        >>> [row["v"].tolist() for row in doubled.create_dict_iterator(output_numpy=True)]
        [[2, 4, 6]]
    """

    _who = "batch"
    _input_columns: list[str] | None
    _output_columns: list[str] | None

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int | Callable[..., int],
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        **options: Any,
    ):
        who = self._who
        check_options(options, _KNOWN, who, what="argument")
        self._inputs = (dataset,)
        self._batch_size = batch_size if callable(batch_size) else check_batch_size(batch_size, who)
        self._drop = check_bool(drop_remainder, "drop_remainder", who)
        self._workers, self._processes = check_pool(num_parallel_workers, options.get("python_multiprocessing"), who)
        function = self._function = options.get("per_batch_map")
        check_kind(function, function is None or callable(function), "be a function", "per_batch_map", "batch")
        for name in ("input_columns", "output_columns"):
            value = options.get(name)
            if name == "input_columns" and value is not None and function is None:
                raise ValueError(f"For 'batch', '{name}' is for 'per_batch_map', which is missing.")
            setattr(self, f"_{name}", None if value is None else check_columns(value, name, who))
        if function is not None and self._input_columns is not None:
            columns = len(self._input_columns)
            _check_parameters(function, columns + 1, "per_batch_map", f"{columns} columns and ", who)
        if callable(batch_size):
            _check_parameters(batch_size, 1, "batch_size", "", who)

    @cached_property
    def _layout(self):
        names = self._inputs[0]._columns()
        inputs = self._input_columns or list(names)
        return Layout(names, inputs, self._output_columns or inputs, "batch")

    def _columns(self):
        return self._inputs[0]._columns() if self._function is None else self._layout.names

    def _count(self, endless):
        if callable(self._batch_size):
            return super()._count(endless)
        n, size = self._inputs[0]._count(endless), self._batch_size
        if n == float("inf"):
            return n
        return n // size if self._drop else -(-n // size)

    def get_batch_size(self) -> int:
        return -1 if callable(self._batch_size) else self._batch_size

    def _rows(self, run):
        child, inner = self._inputs[0], run.child()
        if self._function is not None:
            groups = self._groups(child._rows(inner), run)
            return ordered_map(self._work, groups, run, self._workers, self._processes, "batch")
        names = child._columns()
        if not isinstance(child, MapDataset) or child._callbacks:
            return (self._finish(rows, names, info._batch) for rows, info in self._groups(child._rows(inner), run))
        # The workers of maps right before it make whole batches.
        groups = ((rows, info._batch) for rows, info in self._groups(child._numbered(inner), run))
        rows = 1 if callable(self._batch_size) else self._batch_size
        return ordered_map(self._map_work, groups, run, child._chain.workers, child._processes, "map", rows)

    @cached_property
    def _work(self):
        return partial(_mapped, self._function, self._layout, self._inputs[0]._columns())

    @cached_property
    def _map_work(self):
        child = self._inputs[0]
        return BatchWork(child._chain, child._columns(), self._finish, self._stacks)

    # Whether `_finish` stacks the values of a column as they are.
    _stacks = True

    def _finish(self, rows, names, number):
        return collate(rows, names, "batch", number)

    def _groups(self, rows, run):
        """The rows of each batch, and its `BatchInfo`."""
        group, number = [], 0
        size, info = self._next_size(number, run)
        for row in rows:
            group.append(row)
            if len(group) == size:
                yield group, info
                group, number = [], number + 1
                size, info = self._next_size(number, run)
        if group and not self._drop:
            yield group, info

    def _next_size(self, number, run):
        info = BatchInfo(number, run.epoch)
        if not callable(self._batch_size):
            return self._batch_size, info
        try:
            return check_batch_size(self._batch_size(info), self._who), info
        except Exception as error:
            name = operation_name(self._batch_size)
            raise RuntimeError(f"{self._who}: batch {number}, batch_size {name}: {type(error).__name__}: {error}") from error


def _mapped(function, layout, names, key, group):
    """per_batch_map on one batch; with its first arguments it goes to the workers."""
    rows, info = group
    columns = list(zip(*rows))
    with row_draws((*key, info._batch)):
        try:
            results = function(*([for_function(v) for v in columns[i]] for i in layout.inputs), info)
            if isinstance(results, (list, dict, np.ndarray)) and len(layout.outputs) == 1:
                results = (results,)
            if not isinstance(results, tuple):
                raise TypeError(f"it should return a tuple with one entry for each column, but returned {describe(results)}")
            made = [_column(result, len(rows)) for result in results]
            kept = [None if i in layout.inputs else stack(column, names[i]) for i, column in enumerate(columns)]
            return layout.place(kept, made)
        except Exception as error:
            name = operation_name(function)
            raise RuntimeError(f"batch: batch {info._batch}, per_batch_map {name}: {type(error).__name__}: {error}") from error


def _column(values, count):
    """One column of a batch from what per_batch_map returned for it: an array of any length, a dict, or a list with a value for each row."""
    if isinstance(values, (np.ndarray, Tensor, dict)):
        return as_value(values)
    if len(values) != count:
        raise ValueError(
            f"a list should have a value for each of the {count} rows, but has {len(values)}; an array may have others"
        )
    return stack([as_value(v) for v in values], "of per_batch_map")


def stack(values: Sequence[Any], name: str) -> Any:
    """One array of the values of several rows; of dicts with the same keys, a dict of arrays."""
    first = values[0]
    if isinstance(first, dict):
        if any(not isinstance(value, dict) or value.keys() != first.keys() for value in values):
            raise TypeError(f"column {name!r} has dicts with other keys than {list(first)}")
        return {key: stack([value[key] for value in values], f"{name}[{key!r}]") for key in first}
    if isinstance(first, list):
        values = [np.asarray(value) for value in values]
        first = values[0]
    for value in values:
        if value.shape != first.shape:
            raise ValueError(f"column {name!r} has rows of shape {first.shape} and {value.shape}; padded_batch pads them")
        if value.dtype != first.dtype and not same_type(value.dtype, first.dtype):
            raise TypeError(f"column {name!r} has rows of type {first.dtype} and {value.dtype}")
    return as_value(np.array(values)) if is_text(first) else np.array(values)


def collate(rows: Sequence[Sequence[Any]], names: Sequence[str], who: str, number: int) -> tuple[Any, ...]:
    """One row out of several."""
    try:
        return tuple(stack(values, name) for values, name in zip(zip(*rows), names))
    except (TypeError, ValueError) as error:
        raise RuntimeError(f"{who}: batch {number}: {error}.") from error


def _check_parameters(function, count, name, others, who):
    try:
        parameters = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        parameters.bind(*range(count))
    except TypeError as error:
        raise ValueError(
            f"For '{who}', '{name}' is called with {others}the BatchInfo, but {operation_name(function)} doesn't take that: {error}."
        ) from error
