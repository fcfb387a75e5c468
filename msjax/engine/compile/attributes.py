"""Attributes of cells that no code reads, as far as a walk has seen: what they hold makes no difference to a program."""

from __future__ import annotations

import functools
import types
from collections.abc import Collection, Iterator
from typing import Any

from flax import nnx

from msjax.common.bases import CellBase
from msjax.common.parameter import Buffer, Parameter, ParameterTuple
from msjax.core.base.code import names_in
from msjax.engine.compile.guards import Contents

# What lists the parts of a cell reads them by no name.
_PARTS = (nnx.Module, Parameter, Buffer, ParameterTuple)

# Code that uses one of these may read any attribute.
BY_COMPUTED_NAMES = frozenset(
    (
        "getattr",
        "hasattr",
        "vars",
        "dir",
        "eval",
        "exec",
        "__dict__",
        "__getattribute__",
        "attrgetter",
        "getmembers",
        "getattr_static",
    )
)

# Methods that run without being named.
_OF_ANY = {name for cls in (int, list, dict, nnx.Module) for name in vars(cls) if name.startswith("__")}
CALLED_BY_PYTHON = frozenset((_OF_ANY | {"__getattr__", "__enter__", "__exit__"}) - {"__init__", "__new__", "__init_subclass__"})


class Unread:
    """The attributes of cells and plain objects that no code has named so far."""

    def __init__(self):
        self._left: list[tuple[object, dict[str, Any], Contents | None, int]] = []

    def set_aside(
        self, cell: CellBase, attributes: dict[str, Any], within: Contents | None, libraries: Collection[str]
    ) -> dict[str, Any]:
        """Set those attributes of a cell aside that only code that names them reads; returns the others.

        Args:
            within: the guard of the container in which the cell was found.
            libraries: the names that methods use which a library has written for the cell's class.
        """
        known = _names_of_cells(tuple([c for c in type(cell).__mro__ if c.__module__.startswith("msjax.nn.cell.")]))
        read = {
            name: value for name, value in attributes.items() if name in known or name in libraries or isinstance(value, _PARTS)
        }
        if len(read) < len(attributes):
            self._left.append((cell, {n: v for n, v in attributes.items() if n not in read}, within, 0))
        return read

    def set_aside_all(self, value: object, attributes: dict[str, Any], within: Contents | None, depth: int) -> None:
        """Set all attributes of an object aside, which lies at a depth."""
        self._left.append((value, attributes.copy(), within, depth))

    def take(self, names: Collection[str] | None) -> Iterator[tuple[object, str, Any, Contents | None, int]]:
        """Take those that have one of some names, or all: (cell or object, name, value, `within`, depth) of each."""
        for owner, attributes, within, depth in self._left:
            for name in [*attributes] if names is None else [name for name in attributes if name in names]:
                yield owner, name, attributes.pop(name), within, depth


@functools.cache
def _names_of_cells(owners: tuple[type, ...]) -> frozenset[str]:
    """The names in the class Cell itself: of its settings, and of others that its methods use."""
    found = {name for owner in owners for name in vars(owner)}
    for value in [value for owner in owners for value in vars(owner).values()]:
        function = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
        if isinstance(function, types.FunctionType):
            found.update(names_in(function.__code__))
    return frozenset(found)
