"""map: functions and transforms on columns of each row."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from msjax.checks import check_type
from msjax.dataset.callback import DSCallback
from msjax.dataset.checks import check_columns, check_options, check_pool
from msjax.dataset.dataset import Dataset
from msjax.dataset.operations.shared import Layout, is_transform, operation_name, row_error
from msjax.dataset.parallel import ordered_map
from msjax.dataset.run import row_draws
from msjax.dataset.values import as_value, for_function
from msjax.errors import describe

_OPTIONS = ("python_multiprocessing", "max_rowsize", "cache", "callbacks", "offload")


class MapDataset(Dataset):
    """What `Dataset.map` gives."""

    def __init__(
        self,
        dataset: Dataset,
        operations: Callable[..., Any] | Sequence[Callable[..., Any]],
        input_columns: str | Sequence[str] | None = None,
        output_columns: str | Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
        **options: Any,
    ):
        who = "map"
        check_options(options, _OPTIONS, who)
        if options.get("cache") is not None:
            raise NotImplementedError("For 'map', msjax has no cache server; leave 'cache' out.")
        self._inputs = (dataset,)
        self._operations = check_operations(operations, who)
        self._input_columns = None if input_columns is None else check_columns(input_columns, "input_columns", who)
        self._output_columns = None if output_columns is None else check_columns(output_columns, "output_columns", who)
        self._workers, self._processes = check_pool(num_parallel_workers, options.get("python_multiprocessing"), who)
        callbacks = options.get("callbacks")
        self._callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [] if callbacks is None else [callbacks]
        for callback in self._callbacks:
            check_type(callback, DSCallback, "callbacks", who)

    @cached_property
    def _layout(self):
        names = self._inputs[0]._columns()
        inputs = self._input_columns or names[: _arity(self._operations[0])]
        return Layout(names, inputs, self._output_columns or inputs, "map")

    def _columns(self):
        return self._layout.names

    def _count(self, endless):
        return self._inputs[0]._count(endless)

    def _subset(self, indices):
        child = self._inputs[0]._subset(indices)
        return None if child is None else self._over(child)

    def _over(self, child):
        copy = object.__new__(MapDataset)
        copy.__dict__.update({**self.__dict__, "_inputs": (child,), "_size": None})
        return copy

    def _rows(self, run):
        work = _Work(self._operations, self._layout, run.key)
        rows = enumerate(self._inputs[0]._rows(run.child()))
        mapped = ordered_map(work, rows, self._workers, self._processes, "map")
        return _observed(mapped, self._callbacks, run) if self._callbacks else mapped


class _Work:
    """The operations on one row; it goes to the workers."""

    def __init__(self, operations: Callable[..., Any] | Sequence[Callable[..., Any]], layout: Any, key: Any):
        self.operations, self.layout, self.key = operations, layout, key

    def __call__(self, numbered: Any) -> Any:
        number, row = numbered
        values = self.layout.pick(row)
        at = -1
        with row_draws((*self.key, number)):
            try:
                for at, operation in enumerate(self.operations):  # noqa: B007
                    result = operation(*(values if is_transform(operation) else map(for_function, values)))
                    values = result if type(result) is tuple else (result,)
                at = -1
                return self.layout.place(row, [as_value(value) for value in values])
            except Exception as error:
                inputs = [self.layout.names[i] for i in self.layout.inputs] if self.layout.in_place else self.layout.outputs
                what = f", columns {inputs}, "
                what += "the result" if at < 0 else f"operation {operation_name(self.operations[at])}"
                raise row_error("map", number, error, what) from error


def _observed(rows, callbacks, run):
    for callback in callbacks:
        callback._begin(run.epoch)
    for row in rows:
        for callback in callbacks:
            callback._step_begin()
        yield row
        for callback in callbacks:
            callback._step_end()
    for callback in callbacks:
        callback._end()


def check_operations(operations: Callable[..., Any] | Sequence[Callable[..., Any]], who: str) -> list[Any]:
    """A list of things that can be called, from one or a list of them.

    Raises:
        ValueError: something else, or the class of a transform in the place of a transform.
    """
    listed = list(operations) if isinstance(operations, (list, tuple)) else [operations]
    if not listed:
        raise ValueError(f"For '{who}', 'operations' should not be empty.")
    for operation in listed:
        if isinstance(operation, type) and is_transform(operation):
            raise ValueError(
                f"For '{who}', 'operations' should hold transforms, but got the class {operation.__name__}; call it."
            )
        if not callable(operation):
            raise ValueError(f"For '{who}', 'operations' should be functions or transforms, but got {describe(operation)}.")
    return listed


def _arity(operation) -> int:
    """How many columns an operation takes from the front where none are named: what a function requires, at least one."""
    if is_transform(operation):
        return 1
    try:
        parameters = inspect.signature(operation).parameters.values()
    except (TypeError, ValueError):
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return max(1, sum(p.kind in kinds and p.default is p.empty for p in parameters))
