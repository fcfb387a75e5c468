"""Iterators over the rows of a dataset."""

from __future__ import annotations

from collections import abc
from collections.abc import Sequence
from typing import Any, Protocol, Self

from msjax.core.base.checks import check_bool, check_int, check_value
from msjax.dataset.checks import check_columns
from msjax.dataset.pools import Pools
from msjax.dataset.run import Run, draw_seed
from msjax.dataset.values import to_numpy, to_tensor


class Pipeline(Protocol):
    """What an iterator reads: a Dataset."""

    def _columns(self) -> list[Any]: ...

    def _rows(self, run: Run) -> abc.Iterable[abc.Sequence[Any]]: ...


class Iterator:
    """The base of `DictIterator` and `TupleIterator`: it goes through the dataset epoch by epoch.

    The end of an epoch is StopIteration; the next call starts the next epoch. It may be left at any time: workers live as long as
    the iterator, or until its last epoch ends.

    Args:
        dataset (Dataset): what is read.
        num_epochs (int): after so many epochs it is at its end. -1: never.
        output_numpy (bool): rows of numpy arrays instead of Tensors.
        columns (list, optional): the columns to give, in this order.

    Raises:
        RuntimeError: the dataset can't be read, or has been read `num_epochs` times.

    Example:
        >>> rows = ds.NumpySlicesDataset([5, 6], ["v"], shuffle=False).create_dict_iterator(output_numpy=True)
        >>> [[int(row["v"]) for row in rows] for epoch in range(2)]
        [[5, 6], [5, 6]]
    """

    _row: abc.Callable[[list[Any]], Any]

    def __init__(
        self, dataset: Pipeline, num_epochs: int = -1, output_numpy: bool = False, columns: str | Sequence[str] | None = None
    ):
        who = "create_dict_iterator" if isinstance(self, DictIterator) else "create_tuple_iterator"
        check_int(num_epochs, "num_epochs", who)
        check_value(num_epochs, num_epochs >= -1, "be positive, or -1 for no end", "num_epochs", who)
        if num_epochs == 0:
            raise RuntimeError(f"For '{who}', 'num_epochs' should be positive, or -1 for no end, but got 0.")
        self._value = to_numpy if check_bool(output_numpy, "output_numpy", who) else to_tensor
        self._names = dataset._columns()
        # Columns such as "_meta-filename" are for operations, which may rename them.
        kept = [i for i, name in enumerate(self._names) if not name.startswith("_meta-")]
        self._picked: list[int] | None = kept if len(kept) < len(self._names) else None
        if columns is not None:
            wanted = check_columns(columns, "columns", who)
            missing = [name for name in wanted if name not in self._names]
            if missing:
                raise RuntimeError(f"For '{who}', there is no column {missing[0]!r}; the columns are {self._names}.")
            self._picked = [self._names.index(name) for name in wanted]
        if self._picked is not None:
            self._names = [self._names[i] for i in self._picked]
        self._dataset: Pipeline | None = dataset
        self._num_epochs = num_epochs
        self._seed, self._epoch, self._pools = draw_seed(), 0, Pools()
        self._kept: dict[tuple[int, ...], dict[str, Any]] = {}
        self._rows: abc.Iterator[abc.Sequence[Any]] | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if self._rows is None:
            if self._dataset is None:
                raise RuntimeError("The iterator has been stopped.")
            if self._epoch == self._num_epochs:
                raise RuntimeError(
                    f"The iterator has gone through its {self._num_epochs} epochs; make another one, or one with more 'num_epochs'."
                )
        try:
            if self._rows is None:
                run = Run.start(self._seed, self._epoch, self._pools, self._kept)
                self._rows = iter(self._dataset._rows(run))  # pyright: ignore[reportOptionalMemberAccess]
            row = next(self._rows)
        except StopIteration:
            self._end_epoch()
            raise
        except Exception as error:
            self._end_epoch()
            self._pools.close()
            if isinstance(error, RuntimeError):
                raise
            raise RuntimeError(f"{type(self._dataset).__name__} could not be read: {type(error).__name__}: {error}") from error
        if self._picked is not None:
            row = [row[i] for i in self._picked]
        return self._row([self._value(value) for value in row])

    def _end_epoch(self):
        self._rows, self._epoch = None, self._epoch + 1
        if self._epoch == self._num_epochs:
            self._pools.close()

    def stop(self) -> None:
        """End the iterator and its workers; asking for another row then is a RuntimeError."""
        self._rows = self._dataset = None
        self._pools.close()

    release = stop

    def get_epoch(self) -> int:
        """The number of the epoch that is being read, from 0."""
        return self._epoch


class TupleIterator(Iterator):
    """Gives each row as a list of its values; see `Iterator`.

    Example:
        >>> [len(row) for row in ds.NumpySlicesDataset(([1, 2], [3, 4])).create_tuple_iterator()]
        [2, 2]
    """

    def _row(self, values):
        return values


class DictIterator(Iterator):
    """Gives each row as a dict of its values by column; see `Iterator`.

    Example:
        >>> [list(row) for row in ds.NumpySlicesDataset({"a": [1], "b": [2]}).create_dict_iterator()]
        [['a', 'b']]
    """

    def _row(self, values):
        return dict(zip(self._names, values))
