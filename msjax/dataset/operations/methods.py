"""The operations as methods of `Dataset`, and `zip`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msjax.core.base.checks import check_bool, check_callable
from msjax.core.base.errors import describe
from msjax.dataset.dataset import Dataset
from msjax.dataset.operations.batch import BatchDataset
from msjax.dataset.operations.columns import FilterDataset, ProjectDataset, RenameDataset
from msjax.dataset.operations.combine import ConcatDataset, FlatMapDataset, ZipDataset
from msjax.dataset.operations.map import MapDataset
from msjax.dataset.operations.order import RepeatDataset, ShuffleDataset, SkipDataset, TakeDataset, split as split_dataset
from msjax.dataset.operations.padding import BucketBatchByLengthDataset, PaddedBatchDataset
from msjax.dataset.operations.saving import save
from msjax.dataset.operations.sync import SyncWaitDataset, conditions
from msjax.dataset.operations.transfer import device_que
from msjax.dataset.run import draw_seed


def zip(datasets: tuple[Dataset, ...]) -> ZipDataset:
    """Put the columns of several datasets side by side.

    Args:
        datasets (tuple of Dataset): at least two, with different names of columns. The shortest one ends it.

    Raises:
        TypeError, ValueError: no tuple of datasets, or fewer than two.
        RuntimeError: two columns have the same name (when reading).

    Example:
        >>> from msjax import dataset as ds
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
        >>> from msjax import dataset as ds
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


def map(
    self: Dataset, operations: Callable[..., Any] | Sequence[Callable[..., Any]], input_columns: str | list[str] | None = None, output_columns: str | list[str] | None = None,
    num_parallel_workers: int | None = None, python_multiprocessing: bool = False, **options: Any,
) -> MapDataset:  # fmt: skip
    """Apply functions or transforms to columns of each row.

    Args:
        operations (function, transform or list): called one after the other; each gets the values that the one before returned.
            A function gets numpy arrays, 0-dimensional for scalars, and returns a value for one column, or a tuple for several.
        input_columns (str or list of str, optional): what the first one gets. Default: the first column; as many as a function
            requires.
        output_columns (str or list of str, optional): the names of the results. As many as inputs take the places of these;
            otherwise they come first, before the other columns. Default: `input_columns`.
        num_parallel_workers (int, optional): how many workers call the operations; the order of rows stays. Default: the
            setting's.
        python_multiprocessing (bool): processes instead of threads. Default: False.
        options: `callbacks`, a `DSCallback` or a list of them; `max_rowsize`, `offload` and `cache` are MindSpore's.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: an operation fails (when reading); the message names it and the row.

    Example:
        >>> from msjax import dataset as ds
        >>> data = ds.NumpySlicesDataset({"a": [1, 2], "b": [10, 20]}, shuffle=False)
        >>> data = data.map(lambda a, b: a + b, ["a", "b"], ["sum"], num_parallel_workers=2)
        >>> [int(row["sum"]) for row in data.create_dict_iterator()]
        [11, 22]
    """
    options["python_multiprocessing"] = python_multiprocessing
    return MapDataset(self, operations, input_columns, output_columns, num_parallel_workers, **options)


def batch(
    self: Dataset,
    batch_size: int | Callable[..., Any],
    drop_remainder: bool = False,
    num_parallel_workers: int | None = None,
    **options: Any,
) -> BatchDataset:
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
        >>> from msjax import dataset as ds
        >>> data = ds.NumpySlicesDataset({"v": [1, 2, 3]}, shuffle=False)
        >>> [row["v"].tolist() for row in data.batch(2).create_dict_iterator(output_numpy=True)]
        [[1, 2], [3]]
        >>> doubled = data.batch(3, per_batch_map=lambda v, info: ([x * 2 for x in v],), input_columns=["v"])
        >>> [row["v"].tolist() for row in doubled.create_dict_iterator(output_numpy=True)]
        [[2, 4, 6]]
    """
    return BatchDataset(self, batch_size, drop_remainder, num_parallel_workers, **options)


def padded_batch(
    self: Dataset,
    batch_size: int,
    drop_remainder: bool = False,
    num_parallel_workers: int | None = None,
    pad_info: dict[str, Any] | None = None,
) -> PaddedBatchDataset:
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
        >>> import numpy as np
        >>> from msjax import dataset as ds
        >>> data = ds.GeneratorDataset([np.ones(1), np.ones(2)], ["v"], shuffle=False).padded_batch(2, pad_info={})
        >>> [row["v"].tolist() for row in data.create_dict_iterator(output_numpy=True)]
        [[[1.0, 0.0], [1.0, 1.0]]]
    """
    return PaddedBatchDataset(self, batch_size, drop_remainder, num_parallel_workers, pad_info)


def bucket_batch_by_length(
    self: Dataset, column_names: str | list[str], bucket_boundaries: list[int], bucket_batch_sizes: list[int],
    element_length_function: Callable[..., Any] | None = None, pad_info: dict[str, Any] | None = None,
    pad_to_bucket_boundary: bool = False, drop_remainder: bool = False,
) -> BucketBatchByLengthDataset:  # fmt: skip
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
        >>> import numpy as np
        >>> from msjax import dataset as ds
        >>> data = ds.GeneratorDataset([np.ones(n) for n in (1, 5, 2)], ["v"], shuffle=False)
        >>> data = data.bucket_batch_by_length("v", [3], [2, 1], pad_info={})
        >>> data.get_dataset_size(), [row["v"].shape for row in data.create_dict_iterator()]
        (2, [(1, 5), (2, 2)])
    """
    return BucketBatchByLengthDataset(
        self, column_names, bucket_boundaries, bucket_batch_sizes, element_length_function, pad_info, pad_to_bucket_boundary,
        drop_remainder,
    )  # fmt: skip


def shuffle(self: Dataset, buffer_size: int) -> ShuffleDataset:
    """Mix the rows: each is drawn from a buffer of the next `buffer_size` ones.

    Args:
        buffer_size (int): at least 2.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> from msjax import dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False).shuffle(3)
        >>> sorted(int(v) for v, in data)
        [1, 2, 3]
    """
    if conditions(self):
        raise RuntimeError("No shuffle after sync operators: 'shuffle' reads rows before 'sync_update' can let them pass.")
    return ShuffleDataset(self, buffer_size)


def repeat(self: Dataset, count: int | None = None) -> RepeatDataset:
    """Go through the rows several times in each epoch.

    Args:
        count (int, optional): how often. Default, and -1: without end.

    Example:
        >>> from msjax import dataset as ds
        >>> [int(v) for v, in ds.NumpySlicesDataset([1, 2], ["v"], shuffle=False).repeat(2)]
        [1, 2, 1, 2]
    """
    return RepeatDataset(self, count)


def take(self: Dataset, count: int = -1) -> TakeDataset:
    """The first rows.

    Args:
        count (int): at most how many. Default: -1, all.

    Example:
        >>> from msjax import dataset as ds
        >>> [int(v) for v, in ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False).take(2)]
        [1, 2]
    """
    return TakeDataset(self, count)


def skip(self: Dataset, count: int) -> SkipDataset:
    """The rows but the first ones.

    Args:
        count (int): how many are left out.

    Example:
        >>> from msjax import dataset as ds
        >>> [int(v) for v, in ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False).skip(2)]
        [3]
    """
    return SkipDataset(self, count)


def filter(
    self: Dataset,
    predicate: Callable[..., Any],
    input_columns: str | list[str] | None = None,
    num_parallel_workers: int | None = None,
) -> FilterDataset:
    """The rows for which a function returns a true value.

    Args:
        predicate (function): gets numpy arrays and returns a bool.
        input_columns (str or list of str, optional): what it gets. Default: all columns.
        num_parallel_workers (int, optional): how many threads call it.

    Example:
        >>> from msjax import dataset as ds
        >>> [int(v) for v, in ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False).filter(lambda v: v > 1)]
        [2, 3]
    """
    return FilterDataset(self, predicate, input_columns, num_parallel_workers)


def flat_map(self: Dataset, func: Callable[..., Any]) -> FlatMapDataset:
    """Make a dataset of each row, and put these one after the other.

    Args:
        func (function): gets a numpy array for each column, and returns a dataset.

    Example:
        >>> from msjax import dataset as ds
        >>> data = ds.NumpySlicesDataset([2, 3], ["n"], shuffle=False)
        >>> [int(v) for v, in data.flat_map(lambda n: ds.NumpySlicesDataset(list(range(n)), ["v"], shuffle=False))]
        [0, 1, 0, 1, 2]
    """
    return FlatMapDataset(self, func)


def project(self: Dataset, columns: str | list[str]) -> ProjectDataset:
    """Only some columns, in the given order.

    Args:
        columns (str or list of str): their names.

    Example:
        >>> from msjax import dataset as ds
        >>> ds.NumpySlicesDataset({"a": [1], "b": [2]}).project("b").get_col_names()
        ['b']
    """
    return ProjectDataset(self, columns)


def rename(self: Dataset, input_columns: str | list[str], output_columns: str | list[str]) -> RenameDataset:
    """Give columns other names.

    Args:
        input_columns, output_columns (str or list of str): the old names, and as many new ones.

    Example:
        >>> from msjax import dataset as ds
        >>> ds.NumpySlicesDataset({"a": [1], "b": [2]}).rename("a", "x").get_col_names()
        ['x', 'b']
    """
    return RenameDataset(self, input_columns, output_columns)


def apply(self: Dataset, apply_func: Callable[..., Any]) -> Dataset:
    """Call a function of this dataset that returns another one.

    Args:
        apply_func (function): from dataset to dataset.

    Example:
        >>> from msjax import dataset as ds
        >>> len(ds.NumpySlicesDataset([1, 2, 3]).apply(lambda data: data.batch(2)))
        2
    """
    check_callable(apply_func, "apply_func", "apply")
    result = apply_func(self)
    if not isinstance(result, Dataset):
        raise TypeError(f"For 'apply', 'apply_func' should return a dataset, but returned {describe(result)}.")
    return result


def split(self: Dataset, sizes: Sequence[int] | Sequence[float], randomize: bool = True) -> tuple[Any, ...]:
    """Split into parts that have no row in common.

    Args:
        sizes (list of int or of float): how many rows each part has, which add up to all; or fractions, which add up to 1 and
            are rounded.
        randomize (bool): which rows, and their order, are by chance. Default: True. A dataset that can't be read by index, as
            after `shuffle`, then keeps the rows of each part in memory.

    Returns:
        tuple of Dataset.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: the sizes don't add up, or a part has no rows.

    Example:
        >>> from msjax import dataset as ds
        >>> train, test = ds.NumpySlicesDataset(list(range(10)), ["v"]).split([0.8, 0.2])
        >>> len(train), len(test)
        (8, 2)
    """
    return split_dataset(self, sizes, check_bool(randomize, "randomize", "split"), draw_seed())


def sync_wait(
    self: Dataset, condition_name: str, num_batch: int = 1, callback: Callable[..., Any] | None = None
) -> SyncWaitDataset:
    """Let rows wait until `sync_update` is called on what is made of this dataset, so that the program can change how they are made.

    Args:
        condition_name (str): the name for `sync_update`.
        num_batch (int): how many rows pass before they wait. Default: 1.
        callback (callable, optional): what `sync_update` calls with its data.

    Rows that have waited for ``ds.config.get_callback_timeout()`` seconds go on, with a warning.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: the name is in use.

    Example:
        >>> from msjax import dataset as ds
        >>> size = [1]
        >>> data = ds.NumpySlicesDataset([1, 1, 1], ["x"]).sync_wait("size", callback=lambda n: size.append(n))
        >>> data = data.map(lambda x: x * size[-1], ["x"])
        >>> for (x,) in data.create_tuple_iterator(num_epochs=1):
        ...     print(x)
        ...     data.sync_update("size", data=int(x) + 5)
        1
        6
        11
    """
    return SyncWaitDataset(self, condition_name, num_batch, callback)


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
        >>> from msjax import dataset as ds
        >>> data = ds.NumpySlicesDataset([1, 2], ["x"], shuffle=False).sync_wait("size")
        >>> data.disable_sync()
        >>> [int(x) for (x,) in data]
        [1, 2]
    """
    for condition in conditions(self).values():
        condition.disable()


for _method in (
    concat, map, batch, padded_batch, bucket_batch_by_length, shuffle, repeat, take, skip, filter, flat_map, project, rename, apply,
    split, save, sync_wait, sync_update, disable_sync, device_que,
):  # fmt: skip
    setattr(Dataset, _method.__name__, _method)
for _name, _method in (("zip", _zip), ("__add__", _add)):
    setattr(Dataset, _name, _method)
