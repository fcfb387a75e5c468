"""Places that code may read and that hold one object each: how it is read, and how a walk's snapshot puts it back.

Each reader is called as ``read(owner, name)`` and each writer as ``write(owner, name, value)``, as `msjax.engine.compile.guards.Name` keeps them.
"""

from __future__ import annotations

import types
from typing import Any

from msjax.core.base.code import cell_contents


def read_in_class(owner: type, name: str) -> Any:
    """What a class itself holds under a name, descriptors themselves; None if there is nothing."""
    return vars(owner).get(name)


def put_in_class(owner: type, name: str, value: Any) -> None:
    """Write it; None takes it away."""
    if value is None:
        delattr(owner, name)
    else:
        setattr(owner, name, value)


def put_nothing_back(_owner: Any, _name: str, _value: Any) -> None:
    """Leave what can't be written."""


def read_slot(owner: Any, name: str) -> Any:
    """An attribute; None if it isn't there."""
    return getattr(owner, name, None)


def read_cell(variable: types.CellType, _name: str) -> Any:
    """The value of a variable of a closure; None before it is assigned."""
    return cell_contents(variable)


def put_in_cell(variable: types.CellType, _name: str, value: Any) -> None:
    """Assign a variable of a closure."""
    variable.cell_contents = value
