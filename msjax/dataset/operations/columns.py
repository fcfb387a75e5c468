"""project, rename and filter: which columns and which rows are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from msjax.core.base.checks import check_callable, check_value
from msjax.core.base.errors import describe
from msjax.dataset.checks import check_columns, check_workers
from msjax.dataset.dataset import Dataset, OneToOne
from msjax.dataset.operations.shared import different_names, operation_name, positions_of, row_error
from msjax.dataset.parallel import ordered_map
from msjax.dataset.run import row_draws
from msjax.dataset.values import as_value, for_function


class ProjectDataset(OneToOne):
    """Only the `columns` of a name or of a list of names, in the given order.

    Example:
        >>> ds.NumpySlicesDataset({"a": [1], "b": [2]}).project("b").get_col_names()
        ['b']
    """

    def __init__(self, dataset: Dataset, columns: str | Sequence[str] | None):
        self._inputs, self._names = (dataset,), check_columns(columns, "columns", "project")

    def _columns(self):
        positions_of(self._inputs[0]._columns(), self._names, "project")
        return self._names

    def _rows(self, run):
        positions = positions_of(self._inputs[0]._columns(), self._names, "project")
        return (tuple(row[i] for i in positions) for row in self._inputs[0]._rows(run.child()))


class RenameDataset(OneToOne):
    """Give `input_columns`, a name or a list of names, other names, `output_columns`, which are as many.

    Example:
        >>> ds.NumpySlicesDataset({"a": [1], "b": [2]}).rename("a", "x").get_col_names()
        ['x', 'b']
    """

    def __init__(self, dataset: Dataset, input_columns: str | Sequence[str] | None, output_columns: str | Sequence[str] | None):
        self._inputs = (dataset,)
        self._old = check_columns(input_columns, "input_columns", "rename")
        self._new = check_columns(output_columns, "output_columns", "rename")
        fits = len(self._old) == len(self._new)
        check_value(self._new, fits, f"be as many as 'input_columns' ({len(self._old)})", "output_columns", "rename")

    def _columns(self):
        names = list(self._inputs[0]._columns())
        for position, name in zip(positions_of(names, self._old, "rename"), self._new):
            names[position] = name
        return different_names(names, "rename")

    def _rows(self, run):
        self._columns()
        return super()._rows(run)


class FilterDataset(Dataset):
    """The rows for which a function returns a true value.

    Args:
        predicate (function): gets numpy arrays and returns a bool.
        input_columns (str or list of str, optional): what it gets. Default: all columns.
        num_parallel_workers (int, optional): how many threads call it.

    Example:
        >>> [int(v) for v, in ds.NumpySlicesDataset([1, 2, 3], ["v"], shuffle=False).filter(lambda v: v > 1)]
        [2, 3]
    """

    def __init__(
        self,
        dataset: Dataset,
        predicate: Callable[..., bool],
        input_columns: str | Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
    ):
        check_callable(predicate, "predicate", "filter")
        self._inputs, self._predicate = (dataset,), predicate
        self._names = None if input_columns is None else check_columns(input_columns, "input_columns", "filter")
        self._workers = check_workers(num_parallel_workers, "filter")

    @cached_property
    def _positions(self):
        names = self._inputs[0]._columns()
        return positions_of(names, self._names or names, "filter")

    def _columns(self):
        self._positions  # noqa: B018 - complains about columns that are not there
        return self._inputs[0]._columns()

    def _rows(self, run):
        rows = enumerate(self._inputs[0]._rows(run.child()))
        kept = ordered_map(self._keep, rows, run, self._workers, False, "filter")
        return (row for keep, row in kept if keep)

    def _keep(self, key, numbered):
        """Whether a row is kept, and the row."""
        number, row = numbered
        with row_draws((*key, number)):
            try:
                answer = self._predicate(*(for_function(row[i]) for i in self._positions))
                if answer is None:
                    return False, row
                answer = np.asarray(as_value(answer))
                if answer.size != 1:
                    raise TypeError(f"it should return a bool, but returned {describe(answer)}")
                return bool(answer.reshape(())), row
            except Exception as error:
                raise row_error("filter", number, error, f", predicate {operation_name(self._predicate)}") from error
