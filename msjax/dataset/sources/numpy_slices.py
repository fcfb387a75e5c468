"""NumpySlicesDataset: rows from arrays and lists that are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_kind, check_value
from msjax.dataset.checks import check_columns
from msjax.dataset.sources.mappable import MappableDataset
from msjax.dataset.values import as_value, owned

if TYPE_CHECKING:
    from msjax.dataset.samplers import Sampler


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
