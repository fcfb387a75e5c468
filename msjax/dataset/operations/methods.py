"""The operations as methods of `Dataset`, and `zip`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from msjax.core.base.checks import check_callable
from msjax.core.base.errors import describe
from msjax.core.base.typing import Attribute
from msjax.dataset.dataset import Dataset
from msjax.dataset.operations.batch import BatchDataset
from msjax.dataset.operations.columns import FilterDataset, ProjectDataset, RenameDataset
from msjax.dataset.operations.combine import ConcatDataset, FlatMapDataset, ZipDataset
from msjax.dataset.operations.map import MapDataset
from msjax.dataset.operations.order import RepeatDataset, ShuffleDataset, SkipDataset, TakeDataset, split
from msjax.dataset.operations.padding import BucketBatchByLengthDataset, PaddedBatchDataset
from msjax.dataset.operations.saving import save
from msjax.dataset.operations.sync import SyncWaitDataset, conditions
from msjax.dataset.operations.transfer import TransferDataset

_P = ParamSpec("_P")
_R = TypeVar("_R")


def _method(kind: Callable[Concatenate[Dataset, _P], _R], name: str) -> Attribute[Callable[_P, _R]]:
    """The method that makes a dataset of a class of the one that it belongs to; arguments and docstring are the class's."""

    @functools.wraps(kind, updated=())
    def method(self, *args, **kwargs):
        return kind(self, *args, **kwargs)

    method.__name__ = method.__qualname__ = name
    return cast(Any, method)


map = _method(MapDataset, "map")
batch = _method(BatchDataset, "batch")
padded_batch = _method(PaddedBatchDataset, "padded_batch")
bucket_batch_by_length = _method(BucketBatchByLengthDataset, "bucket_batch_by_length")
shuffle = _method(ShuffleDataset, "shuffle")
repeat = _method(RepeatDataset, "repeat")
take = _method(TakeDataset, "take")
skip = _method(SkipDataset, "skip")
filter = _method(FilterDataset, "filter")
flat_map = _method(FlatMapDataset, "flat_map")
project = _method(ProjectDataset, "project")
rename = _method(RenameDataset, "rename")
sync_wait = _method(SyncWaitDataset, "sync_wait")
device_que = _method(TransferDataset, "device_que")


def zip(datasets: tuple[Dataset, ...]) -> ZipDataset:
    """Put the columns of several datasets side by side.

    Args:
        datasets (tuple of Dataset): at least two, with different names of columns. The shortest one ends it.

    Raises:
        TypeError, ValueError: no tuple of datasets, or fewer than two.
        RuntimeError: two columns have the same name (when reading).

    Example:
        >>> data = ds.zip((ds.NumpySlicesDataset([1, 2], ["a"], shuffle=False), ds.NumpySlicesDataset([3], ["b"])))
        >>> [[int(a), int(b)] for a, b in data]
        [[1, 3]]
    """
    return ZipDataset(datasets)


def concat(self: Dataset, datasets: Dataset | list[Dataset]) -> ConcatDataset:
    """The rows of this dataset, then those of others; ``a + b`` is short for it.

    Args:
        datasets (Dataset or list of Dataset): datasets with the same columns, types and numbers of axes.

    Raises:
        TypeError: something else.
        RuntimeError: columns, types or numbers of axes differ (when reading).

    Example:
        >>> data = ds.NumpySlicesDataset([1], ["v"]).concat(ds.NumpySlicesDataset([2], ["v"]))
        >>> [int(v) for v, in data]
        [1, 2]
    """
    return ConcatDataset([self, *(datasets if isinstance(datasets, list) else [datasets])])


def _add(self: Dataset, other: Dataset) -> ConcatDataset:
    return ConcatDataset([self, other])


def _zip(self: Dataset, datasets: Dataset | tuple[Dataset, ...]) -> ZipDataset:
    """Put the columns of other datasets beside those of this one; see `zip`."""
    return ZipDataset((self, *(datasets if isinstance(datasets, tuple) else (datasets,))))


def apply(self: Dataset, apply_func: Callable[..., Any]) -> Dataset:
    """Call a function of this dataset, `apply_func`, that returns another one.

    Example:
        >>> len(ds.NumpySlicesDataset([1, 2, 3]).apply(lambda data: data.batch(2)))
        2
    """
    check_callable(apply_func, "apply_func", "apply")
    result = apply_func(self)
    if not isinstance(result, Dataset):
        raise TypeError(f"For 'apply', 'apply_func' should return a dataset, but returned {describe(result)}.")
    return result


def sync_update(self: Dataset, condition_name: str, num_batch: int | None = None, data: Any = None) -> None:
    """Let rows that wait pass.

    Args:
        condition_name (str): the name that `sync_wait` was given.
        num_batch (int, optional): how many rows pass; by default as many as `sync_wait` says.
        data (optional): what the callback gets.

    Raises:
        RuntimeError: there is no such condition, or the number is not positive.
    """
    waiting = conditions(self)
    if condition_name not in waiting:
        raise RuntimeError(f"Condition name not found: {condition_name!r}; there are {', '.join(waiting) or 'none'}.")
    waiting[condition_name].update(num_batch, data)


def disable_sync(self: Dataset) -> None:
    """Let all rows pass that wait for `sync_update`, from now on.

    Example:
        >>> data = ds.NumpySlicesDataset([1, 2], ["x"], shuffle=False).sync_wait("size")
        >>> data.disable_sync()
        >>> [int(x) for (x,) in data]
        [1, 2]
    """
    for condition in conditions(self).values():
        condition.disable()


_METHODS: tuple[Any, ...] = (
    concat, map, batch, padded_batch, bucket_batch_by_length, shuffle, repeat, take, skip, filter, flat_map, project, rename, apply,
    split, save, sync_wait, sync_update, disable_sync, device_que,
)  # fmt: skip
for _each in _METHODS:
    setattr(Dataset, _each.__name__, _each)
for _name, _own in (("zip", _zip), ("__add__", _add)):
    setattr(Dataset, _name, _own)
