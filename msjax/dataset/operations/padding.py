"""padded_batch and bucket_batch_by_length: batches of rows whose sizes differ."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_callable, check_int, check_kind, check_type, check_value, is_int
from msjax.core.base.errors import describe
from msjax.dataset.checks import check_columns, check_list
from msjax.dataset.dataset import Dataset
from msjax.dataset.operations.batch import BatchDataset, collate
from msjax.dataset.operations.shared import operation_name, positions_of, row_error
from msjax.dataset.values import for_function, pad_to


class PaddedBatchDataset(BatchDataset):
    """Put rows together whose sizes differ.

    Args:
        batch_size (int), drop_remainder (bool), num_parallel_workers (int, optional): as in `batch`.
        pad_info (dict): {column: (shape, value)}. A None in a shape, or for a shape, is the largest size of the batch; a size
            that is smaller than a row's cuts it. A value of None is 0 or "". ``{}`` pads all columns so; columns that it doesn't
            name are not padded.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: shapes differ in spite of it, or there is no such column (when reading).

    Example:
        >>> data = ds.GeneratorDataset([np.ones(1), np.ones(2)], ["v"], shuffle=False).padded_batch(2, pad_info={})
        >>> [row["v"].tolist() for row in data.create_dict_iterator(output_numpy=True)]
        [[[1.0, 0.0], [1.0, 1.0]]]
    """

    _who = "padded_batch"

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int | Callable[..., int],
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        pad_info: dict[str, Any] | None = None,
    ):
        super().__init__(dataset, batch_size, drop_remainder, num_parallel_workers)
        self._pad_info = check_pad_info(pad_info, self._who)

    _stacks = False

    def _finish(self, rows, names, number):
        return padded(rows, names, self._pads, self._who, number)

    @cached_property
    def _pads(self):
        return _by_column(self._pad_info, self._inputs[0]._columns(), self._who)


class BucketBatchByLengthDataset(Dataset):
    """Put rows of similar lengths together.

    Args:
        column_names (str or list of str): the columns that tell the length: the size of the first axis of one.
        bucket_boundaries (list of int): bucket i takes lengths below boundary i; one more bucket takes the others.
        bucket_batch_sizes (list of int): for each bucket, how many rows make a batch.
        element_length_function (function, optional): the length, from the values of the columns.
        pad_info (dict, optional): as in `padded_batch`. Default: all columns are padded to the largest size of the batch.
        pad_to_bucket_boundary (bool): a None in a shape of `pad_info` is the bucket's boundary less one. Default: False.
        drop_remainder (bool): leave out what doesn't fill a batch; otherwise it comes at the end, bucket by bucket.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: rows can't be put together, or there is no such column (when reading).

    Example:
        >>> data = ds.GeneratorDataset([np.ones(n) for n in (1, 5, 2)], ["v"], shuffle=False)
        >>> data = data.bucket_batch_by_length("v", [3], [2, 1], pad_info={})
        >>> data.get_dataset_size(), [row["v"].shape for row in data.create_dict_iterator()]
        (2, [(1, 5), (2, 2)])
    """

    def __init__(
        self, dataset: Dataset, column_names: str | Sequence[str], bucket_boundaries: Sequence[int], bucket_batch_sizes: Sequence[int],
        element_length_function: Callable[..., int] | None = None, pad_info: dict[str, Any] | None = None, pad_to_bucket_boundary: bool = False,
        drop_remainder: bool = False,
    ):  # fmt: skip
        who = "bucket_batch_by_length"
        self._inputs = (dataset,)
        self._names = check_columns(column_names, "column_names", who)
        bounds = check_list(bucket_boundaries, "bucket_boundaries", who)
        sizes = check_list(bucket_batch_sizes, "bucket_batch_sizes", who)
        for name, values in (("bucket_boundaries", bounds), ("bucket_batch_sizes", sizes)):
            check_kind(values, all(map(is_int, values)), "hold ints", name, who)
            check_value(values, min(values) >= 1, "hold positive ints", name, who)
        check_value(bounds, all(a < b for a, b in itertools.pairwise(bounds)), "rise", "bucket_boundaries", who)
        fits = len(sizes) == len(bounds) + 1
        check_value(sizes, fits, f"be one more than boundaries ({len(bounds)})", "bucket_batch_sizes", who)
        if element_length_function is None and len(self._names) != 1:
            raise ValueError(f"For '{who}', 'element_length_function' is needed where there are several 'column_names'.")
        if element_length_function is not None:
            check_callable(element_length_function, "element_length_function", who)
        self._bounds, self._sizes, self._length = bounds, sizes, element_length_function
        self._pad_info = check_pad_info({} if pad_info is None else pad_info, who)
        self._to_boundary = check_bool(pad_to_bucket_boundary, "pad_to_bucket_boundary", who)
        self._drop = check_bool(drop_remainder, "drop_remainder", who)

    def _rows(self, run):
        who, names = "bucket_batch_by_length", self._columns()
        positions = positions_of(names, self._names, who)
        pads = _by_column(self._pad_info, names, who)
        buckets = [[] for _ in self._sizes]
        batches = 0
        for number, row in enumerate(self._inputs[0]._rows(run.child())):
            which = int(np.searchsorted(self._bounds, self._length_of([row[i] for i in positions], number), side="right"))
            if self._to_boundary and which == len(self._bounds):
                raise RuntimeError(
                    f"{who}: row {number} is as long as the last boundary, {self._bounds[-1]}, or longer, so there is none to pad it to."
                )
            bucket = buckets[which]
            bucket.append(row)
            if len(bucket) == self._sizes[which]:
                yield padded(bucket, names, pads, who, batches, self._longest(which))
                buckets[which], batches = [], batches + 1
        for which, bucket in enumerate(buckets):
            if bucket and not self._drop:
                yield padded(bucket, names, pads, who, batches, self._longest(which))
                batches += 1

    def _longest(self, which):
        return self._bounds[which] - 1 if self._to_boundary else None

    def _length_of(self, values, number):
        try:
            length = (
                values[0].shape[0]
                if self._length is None
                else np.asarray(self._length(*map(for_function, values))).reshape(())[()]
            )
            if not isinstance(length, (int, np.integer)) or length < 0:
                raise ValueError(f"a length should be an int and not negative, but got {describe(length)}")
            return int(length)
        except Exception as error:
            name = "" if self._length is None else f", element_length_function {operation_name(self._length)}"
            raise row_error("bucket_batch_by_length", number, error, f"{name}, columns {self._names}") from error


def check_pad_info(pad_info: dict[str, Any] | None, who: str) -> dict[str, Any] | None:
    """The value, if it is None or a dict of (shape or None, value) or None, which is (None, None)."""
    if pad_info is None:
        return None
    check_type(pad_info, dict, "pad_info", who)
    pad_info = {name: (None, None) if entry is None else entry for name, entry in pad_info.items()}
    for name, entry in pad_info.items():
        fits = isinstance(name, str) and isinstance(entry, tuple)
        check_kind({name: entry}, fits, "be {column: (shape or None, value)}", "pad_info", who)
        check_value(entry, len(entry) == 2, "be (shape or None, value)", f"pad_info of {name!r}", who)
        shape = entry[0]
        fits = shape is None or (isinstance(shape, list) and all(s is None or is_int(s) for s in shape))
        check_kind(shape, fits, "be a list of int or None", f"the shape in 'pad_info' of {name!r}", who)
        for size in shape or ():
            if size is not None:
                check_int(size, f"pad_info of {name!r}", who, low=1)
    return pad_info


def _by_column(pad_info, names, who):
    """For each column None, for no padding, or (shape or None, value)."""
    if pad_info is None:
        return [None] * len(names)
    positions_of(names, list(pad_info), who)
    return [pad_info.get(name) if pad_info else (None, None) for name in names]


def padded(
    rows: Sequence[Sequence[Any]],
    names: Sequence[str],
    pads: Sequence[tuple[Any, Any] | None],
    who: str,
    number: int,
    longest: int | None = None,
) -> tuple[Any, ...]:
    """Batch several rows into one, with each column padded to one shape."""
    columns = [list(column) for column in zip(*rows)]
    for at, entry in enumerate(pads):
        if entry is None:
            continue
        try:
            columns[at] = _pad_all(columns[at], *entry, longest)
        except (TypeError, ValueError) as error:
            raise RuntimeError(f"{who}: batch {number}, column {names[at]!r}: {error}") from error
    return collate(list(zip(*columns)), names, who, number)


def _pad_all(values, shape, value, longest):
    rank = values[0].ndim
    if any(v.ndim != rank for v in values):
        raise ValueError("its rows have different numbers of axes, so they can't be padded.")
    if shape is None:
        shape, longest = [None] * rank, None
    if len(shape) != rank:
        raise ValueError(f"'pad_info' has the shape {list(shape)}, but its rows have {rank} axes.")
    sizes = [max(v.shape[axis] for v in values) for axis in range(rank)]
    full = [(size if longest is None else longest) if wanted is None else wanted for wanted, size in zip(shape, sizes)]
    return [pad_to(v, full, value) for v in values]
