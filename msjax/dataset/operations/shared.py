"""What operations on datasets share: picking columns, placing results, errors that name the row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msjax.core.base.errors import callable_name
from msjax.dataset.values import FileRow
from msjax.dataset.vision.image import ImageTransform


def different_names(names: list[Any], who: str) -> list[Any]:
    """The names of columns; RuntimeError if one is there twice."""
    if len(set(names)) != len(names):
        raise RuntimeError(f"{who}: there would be two columns of the same name among {names}.")
    return names


def positions_of(names: list[Any], columns: list[Any], who: str) -> list[Any]:
    """The positions of columns among the names; RuntimeError for one that is not there."""
    for column in columns:
        if column not in names:
            raise RuntimeError(f"{who}: there is no column {column!r}; the columns are {names}.")
    return [names.index(column) for column in columns]


def is_transform(operation: object) -> bool:
    """Whether it is a transform of msjax, or the class of one."""
    return getattr(operation, "is_transform", False)


def is_image_transform(operation: object) -> bool:
    """Whether it is a transform of msjax for images, and none that is called in a way of its own."""
    return isinstance(operation, ImageTransform) and type(operation).__call__ is ImageTransform.__call__


def operation_name(operation: Any) -> str:
    """An operation as messages name it: a transform's class, or a function with its file and line."""
    return type(operation).__name__ if is_transform(operation) else callable_name(operation)


def row_error(who: str, row: int, error: Exception, what: str = "") -> RuntimeError:
    """The error of a row: which operation, which row, and the error of the user's function in its text."""
    told = f"{type(error).__name__}: {error}" if what or not isinstance(error, RuntimeError) else str(error)
    return RuntimeError(f"{who}: row {row}{what}: {told}")


class Layout:
    """Where the results of a function on some columns stand in a row.

    As many results as inputs take the places of the inputs; otherwise they come first, then the columns that are left. `in_place`
    says that all other columns stay where they were.
    """

    def __init__(self, names: list[Any], inputs: list[Any], outputs: list[Any], who: str):
        self.inputs: list[Any] = positions_of(names, inputs, who)
        self.outputs, self.who = outputs, who
        rest = [i for i in range(len(names)) if i not in self.inputs]
        # A result may take the name of another column, which is then gone.
        replaced = [i for i in rest if names[i] in outputs] if len(inputs) == len(outputs) else []
        self.in_place: bool = len(inputs) == len(outputs) and not replaced
        if len(inputs) == len(outputs):
            named = list(names)
            for position, name in zip(self.inputs, outputs):
                named[position] = name
            order = {position: i for i, position in enumerate(self.inputs)}
            kept = [i for i in range(len(names)) if i not in replaced]
            self.names: list[Any] = [named[i] for i in kept]
            self._sources = [(True, order[i]) if i in order else (False, i) for i in kept]
        else:
            self.names = outputs + [names[i] for i in rest]
            self._sources = [(True, i) for i in range(len(outputs))] + [(False, i) for i in rest]
        different_names(self.names, who)

    def pick(self, row: Sequence[Any]) -> list[Any]:
        """What the function gets."""
        return [row[i] for i in self.inputs]

    def place(self, row: Sequence[Any], results: Sequence[Any]) -> tuple[Any, ...]:
        """The row with the results; TypeError where their number is not that of the names."""
        if len(results) != len(self.outputs):
            raise TypeError(f"{len(results)} value(s) came for the {len(self.outputs)} output column(s) {self.outputs}")
        values = tuple(results[i] if new else row[i] for new, i in self._sources)
        return FileRow.of(values, row.file) if isinstance(row, FileRow) else values
