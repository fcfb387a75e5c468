"""map: functions and transforms on columns of each row."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from msjax import log
from msjax.core.base.checks import check_options, check_type, check_value
from msjax.core.base.libraries import is_library
from msjax.dataset import config
from msjax.dataset.callback import TIMES, DSCallback
from msjax.dataset.checks import check_columns, check_pool, refuse_cache
from msjax.dataset.dataset import Dataset, OneToOne
from msjax.dataset.debug import with_hooks
from msjax.dataset.enums import ErrorSamplesMode
from msjax.dataset.operations.shared import Layout, is_image_transform, is_transform, operation_name, row_error
from msjax.dataset.parallel import ordered_map
from msjax.dataset.run import row_draws
from msjax.dataset.values import FileRow, as_value, for_function, is_pil
from msjax.dataset.vision.pixels import Pixels

_KNOWN = (
    "operations", "input_columns", "output_columns", "num_parallel_workers", "python_multiprocessing", "max_rowsize", "cache",
    "callbacks", "offload",
)  # fmt: skip


_KEPT = 16  # rows that may stand in the place of others


class MapDataset(OneToOne):
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
        >>> data = ds.NumpySlicesDataset({"a": [1, 2], "b": [10, 20]}, shuffle=False)
        >>> data = data.map(lambda a, b: a + b, ["a", "b"], ["sum"], num_parallel_workers=2)
        >>> [int(row["sum"]) for row in data.create_dict_iterator()]
        [11, 22]
    """

    def __init__(
        self,
        dataset: Dataset,
        operations: Callable[..., Any] | Sequence[Callable[..., Any]],
        input_columns: str | Sequence[str] | None = None,
        output_columns: str | Sequence[str] | None = None,
        num_parallel_workers: int | None = None,
        python_multiprocessing: bool = False,
        **options: Any,
    ):
        who = "map"
        check_options(options, _KNOWN, who, what="argument")
        refuse_cache(options.get("cache"), who)
        self._inputs = (dataset,)
        self._operations = check_operations(operations, who)
        self._input_columns = None if input_columns is None else check_columns(input_columns, "input_columns", who)
        self._output_columns = None if output_columns is None else check_columns(output_columns, "output_columns", who)
        self._workers, self._processes = check_pool(num_parallel_workers, python_multiprocessing, who)
        callbacks = options.get("callbacks")
        self._callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [] if callbacks is None else [callbacks]
        for callback in self._callbacks:
            check_type(callback, DSCallback, "callbacks", who)
            own = {name for cls in type(callback).__mro__ if not is_library(cls.__module__) for name in vars(cls)}
            if not own.intersection(TIMES):
                raise AttributeError(f"For '{who}', {type(callback).__name__} should define one of {', '.join(TIMES)} at least.")

    @cached_property
    def _layout(self):
        names = self._inputs[0]._columns()
        inputs = self._input_columns or names[: _arity(self._operations[0])]
        return Layout(names, inputs, self._output_columns or inputs, "map")

    def _columns(self):
        return self._layout.names

    def _rows(self, run):
        chain = self._chain
        mode = config.get_error_samples_mode()
        work = chain if mode is ErrorSamplesMode.RETURN else self._tolerant
        mapped = ordered_map(work, self._numbered(run), run, chain.workers, self._processes, "map")
        if work is not chain:
            mapped = _without_failed(mapped, mode)
        return _observed(mapped, self._callbacks, run) if self._callbacks else mapped

    @cached_property
    def _chain(self):
        """The work of this map, and of those right before it whose rows the same workers can go on with."""
        hooks, child = config.debug_hooks(), self._inputs[0]
        own = RowWork(with_hooks(self._operations, hooks) if hooks else self._operations, self._layout)
        if self._goes_on(child):
            return RowChain([*child._chain.works, own], max(child._chain.workers, self._workers))
        return RowChain([own], self._workers)

    @cached_property
    def _tolerant(self):
        return partial(_or_none, self._chain)

    def _numbered(self, run):
        """The rows that the chain gets, and their numbers; they are read in the caller's thread."""
        child, run = self._inputs[0], run.child()
        return child._numbered(run) if self._goes_on(child) else enumerate(child._rows(run))

    def _goes_on(self, child):
        return (
            isinstance(child, MapDataset)
            and not child._callbacks
            and (child._workers > 1, child._processes) == (self._workers > 1, self._processes)
        )


class RowWork:
    """The operations of one map on one row; it goes to the workers."""

    def __init__(self, operations: Sequence[Callable[..., Any]], layout: Layout):
        self.operations, self.layout = operations, layout
        self._calls: list[Callable[..., Any]] = [
            operation.loosely if is_image_transform(operation) and is_image_transform(after) else operation
            for operation, after in itertools.zip_longest(operations, operations[1:])
        ]

    def __call__(self, key: tuple[Any, ...], number: int, row: Sequence[Any], start: int = 0) -> tuple[Any, ...]:
        """The row with the results."""
        return self._called(key, number, row, self._calls[start:], start, as_value)

    def begin(self, key: tuple[Any, ...], number: int, row: Sequence[Any], stop: int) -> tuple[Any, ...]:
        """The row after some of the operations, on their way to the next: with images that are not arrays yet."""
        if not stop:
            return tuple(row)
        calls = self._calls[:stop]
        if is_image_transform(self.operations[stop - 1]):
            calls[-1] = self.operations[stop - 1].loosely
        return self._called(key, number, row, calls, 0, _on_its_way)

    def _called(self, key, number, row, calls, start, finish):
        values = self.layout.pick(row)
        at = -1
        with row_draws((*key, number)):
            try:
                for at, call in enumerate(calls, start):
                    result = call(*(values if is_transform(self.operations[at]) else map(for_function, values)))
                    values = result if type(result) is tuple else (result,)
                at = -1
                return self.layout.place(row, [finish(value) for value in values])
            except Exception as error:
                inputs = [self.layout.names[i] for i in self.layout.inputs] if self.layout.in_place else self.layout.outputs
                what = f", columns {inputs}, "
                what += "the result" if at < 0 else f"operation {operation_name(self.operations[at])}"
                raise row_error(_where(self.operations[max(at, 0)], row), number, error, what) from error


def _where(operation, row):
    """What an error says first: with the file of the row, where the source has one for it, in the words in which MindSpore names it."""
    if not isinstance(row, FileRow):
        return "map"
    kind = type(operation).__name__ if is_transform(operation) else "PyFunc"
    return f"map operation: [{kind}] failed. The corresponding data file is: {row.file}; map"


def _on_its_way(value):
    return value if isinstance(value, Pixels) or is_pil(value) else as_value(value)


class RowChain:
    """Maps that are called on a row one after the other; it goes to the workers."""

    def __init__(self, works: list[RowWork], workers: int):
        self.works, self.workers = works, workers
        # The run of each map is the child of the next one's.
        self.ways: list[tuple[int, ...]] = [(0,) * i for i in reversed(range(len(works)))]

    def __call__(self, key: tuple[Any, ...], numbered: tuple[int, Any]) -> Any:
        number, row = numbered
        for work, way in zip(self.works, self.ways):
            row = work((*key, *way), number, row)
        return row


def _or_none(chain, key, numbered):
    """The row with the results; None for one that fails."""
    try:
        return chain(key, numbered)
    except RuntimeError as error:
        log.warning("A row is left out: %s", error)
        return None


def _without_failed(rows, mode):
    """The rows that have not failed, and behind them some of them in the place of those that have, if the mode is REPLACE."""
    failed, first = 0, []
    for row in rows:
        if row is None:
            failed += 1
        else:
            if len(first) < _KEPT:
                first.append(row)
            yield row
    if mode is ErrorSamplesMode.REPLACE and first:
        yield from itertools.islice(itertools.cycle(first), failed)


def _observed(rows, callbacks, run):
    for callback in callbacks if run.first else ():
        callback._begin(run.epoch)
    for row in rows:
        for callback in callbacks:
            callback._step_begin()
        yield row
        for callback in callbacks:
            callback._step_end()
    for callback in callbacks if run.last else ():
        callback._end()


def check_operations(operations: Callable[..., Any] | Sequence[Callable[..., Any]], who: str) -> list[Any]:
    """A list of things that can be called, from one or a list of them."""
    listed = list(operations) if isinstance(operations, (list, tuple)) else [operations]
    check_value(listed, listed, "not be empty", "operations", who)
    for operation in listed:
        if isinstance(operation, type) and is_transform(operation):
            raise ValueError(
                f"For '{who}', 'operations' should hold transforms, but got the class {operation.__name__}; call it."
            )
        check_value(operation, callable(operation), "be functions or transforms", "operations", who)
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
