"""Dataset: what all datasets have in common. The operations are attached in `msjax.dataset.operations.methods`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool
from msjax.dataset.attached import DatasetMethods
from msjax.dataset.iterators import DictIterator, TupleIterator
from msjax.dataset.run import Run, draw_seed
from msjax.dataset.values import shape_and_type


class Dataset(DatasetMethods):
    """A pipeline of rows: a source, such as `GeneratorDataset`, or an operation on other datasets, such as `map`.

    A row has a value for each column: a numpy array, or a dict of them. Nothing is read until one iterates over it or asks
    for sizes or shapes. Every operation gives a new dataset and leaves the old one as it is.

    Raises:
        TypeError, ValueError: a wrong argument, when it is built.
        RuntimeError: anything that goes wrong while reading; the Python error is its cause, and in its text.

    Example:
        >>> data = ds.NumpySlicesDataset({"v": [1, 2, 3]}, shuffle=False).map(lambda v: v * 10, ["v"]).batch(2)
        >>> [row["v"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
        [[10, 20], [30]]
    """

    # The datasets that this one reads.
    _inputs: tuple[Any, ...] = ()
    _size = _first = None

    # ---- what each kind of dataset defines

    def _columns(self) -> list[Any]:
        """The names of the columns; RuntimeError where they don't fit together."""
        return self._inputs[0]._columns()

    def _rows(self, run: Run):
        """A generator of the rows of one epoch, each a tuple of values."""
        raise NotImplementedError

    def _count(self, endless) -> float:
        """How many rows there are; `endless` is what a repetition without end counts as. By default the rows are read."""
        return sum(1 for _ in self._rows(Run.start(draw_seed(), 0)))

    def _subset(self, indices: np.ndarray):
        """The same dataset with only some rows, by index, where that is possible without reading the others; else None."""
        return None

    # ---- iteration

    def create_dict_iterator(self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False) -> DictIterator:
        """An iterator whose rows are dicts, by the names of the columns.

        Args:
            num_epochs (int): after so many epochs it is at its end. Default: -1, never.
            output_numpy (bool): numpy arrays instead of Tensors. Text and bytes are numpy arrays in any case.
            do_copy (bool): accepted for compatibility with MindSpore; values are always the receiver's own.

        Raises:
            TypeError, ValueError, RuntimeError: a wrong argument, or a pipeline that can't be read.

        Example:
            >>> [row["v"] for row in ds.NumpySlicesDataset({"v": [5]}).create_dict_iterator(1, output_numpy=True)]
            [array(5)]
        """
        check_bool(do_copy, "do_copy", "create_dict_iterator")
        return DictIterator(self, num_epochs, output_numpy)

    def create_tuple_iterator(
        self, columns: str | list[str] | None = None, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False
    ) -> TupleIterator:
        """An iterator whose rows are lists, in the order of the columns; what ``for row in dataset`` uses.

        Args:
            columns (str or list, optional): the columns to give, in this order. Default: all.
            num_epochs, output_numpy, do_copy: as in `create_dict_iterator`.

        Example:
            >>> [row for row in ds.NumpySlicesDataset({"v": [5]}).create_tuple_iterator("v", output_numpy=True)]
            [[array(5)]]
        """
        check_bool(do_copy, "do_copy", "create_tuple_iterator")
        return TupleIterator(self, num_epochs, output_numpy, columns)

    def __iter__(self) -> Iterator[Any]:
        return self.create_tuple_iterator()

    # ---- what it is like

    def get_col_names(self) -> list[Any]:
        """The names of the columns.

        Example:
            >>> ds.NumpySlicesDataset({"a": [1], "b": [2]}).get_col_names()
            ['a', 'b']
        """
        return list(self._columns())

    def get_dataset_size(self) -> int:
        """The number of rows of one epoch. Where only reading tells, as after `filter`, the rows are read once.

        Example:
            >>> ds.NumpySlicesDataset([1, 2, 3]).batch(2).get_dataset_size()
            2
        """
        if self._size is None:
            size = self._count(math.inf)
            self._size = int(self._count(1) if size == math.inf else size)
        return self._size

    @property
    def dataset_size(self) -> int | None:
        """The number of rows of one epoch, if `get_dataset_size` has been called; else None.

        Example:
            >>> data = ds.NumpySlicesDataset([1, 2, 3])
            >>> data.dataset_size, data.get_dataset_size(), data.dataset_size
            (None, 3, 3)
        """
        return self._size

    def __len__(self) -> int:
        return self.get_dataset_size()

    def __bool__(self) -> bool:
        # Otherwise `if dataset:` would read it.
        return True

    def get_batch_size(self) -> int:
        """The number of rows that the last `batch` puts together; 1 without one. Of several datasets the last one counts."""
        return self._inputs[-1].get_batch_size() if self._inputs else 1

    def get_repeat_count(self) -> int:
        """How often the last `repeat` repeats; 1 without one, -1 without end. Of several datasets the last one counts."""
        return self._inputs[-1].get_repeat_count() if self._inputs else 1

    def is_shuffled(self) -> bool:
        """Whether the order of the rows is by chance: a source or an operation shuffles.

        Example:
            >>> ds.NumpySlicesDataset([1, 2], shuffle=False).is_shuffled(), ds.NumpySlicesDataset([1, 2]).is_shuffled()
            (False, True)
        """
        return any(dataset.is_shuffled() for dataset in self._inputs)

    def is_sharded(self) -> bool:
        """Whether a source gives the rows of one of several shards."""
        return any(dataset.is_sharded() for dataset in self._inputs)

    def num_classes(self) -> int | None:
        """The number of classes, where the source tells (`ImageFolderDataset`); else None."""
        return self._inputs[0].num_classes() if self._inputs else None

    def get_class_indexing(self) -> dict[str, Any]:
        """{name of a class: label}, where the source tells; else empty."""
        return self._inputs[0].get_class_indexing() if self._inputs else {}

    def output_shapes(self, estimate: bool = False) -> list[Any]:
        """The shape of each column, as lists, from the first row; with ``estimate=True`` from all, None where a size varies.

        Example:
            >>> ds.NumpySlicesDataset(([[1, 2], [3, 4]], [0.5, 1.5])).output_shapes()
            [[2], []]
        """
        if not check_bool(estimate, "estimate", "output_shapes"):
            return [list(shape) for shape, _ in self._first_row()]
        shapes = [[shape_and_type(v)[0] for v in row] for row in self._rows(Run.start(draw_seed(), 0))]
        return [_common(column) for column in zip(*shapes)]

    def output_types(self) -> list[Any]:
        """The numpy dtype of each column, from the first row.

        Example:
            >>> ds.NumpySlicesDataset(([[1, 2], [3, 4]], [0.5, 1.5])).output_types()
            [dtype('int64'), dtype('float64')]
        """
        return [dtype for _, dtype in self._first_row()]

    def _first_row(self):
        if self._first is None:
            rows = iter(self.create_tuple_iterator(num_epochs=1, output_numpy=True))
            self._first = [shape_and_type(value) for value in next(rows, [])]
            rows.stop()
        return self._first

    @property
    def children(self) -> list[Any]:
        """The datasets that this one reads."""
        return list(self._inputs)

    def reset(self) -> None:
        """Accepted for compatibility with MindSpore, without effect: every iterator starts anew."""

    def close_pool(self) -> None:
        """Accepted for compatibility with MindSpore, without effect: workers end with their iterator."""


class AsMany(Dataset):
    """An operation that gives as many rows as its input has: by default the same."""

    def _count(self, endless):
        return self._inputs[0]._count(endless)

    def _rows(self, run):
        return self._inputs[0]._rows(run.child())


class OneToOne(AsMany):
    """An operation whose rows are its input's, one by one."""

    def _subset(self, indices):
        child = self._inputs[0]._subset(indices)
        if child is None:
            return None
        copy = object.__new__(type(self))
        copy.__dict__.update({**self.__dict__, "_inputs": (child,), "_size": None})
        return copy


def _common(shapes):
    if len({len(shape) for shape in shapes}) > 1:
        return []
    return [sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes)]
