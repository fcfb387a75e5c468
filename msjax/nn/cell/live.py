"""`Cell._cells` and `Cell._params`: a cell's members by name, as mappings that change the cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from msjax.common.parameter import Parameter
from msjax.core.base.errors import describe
from msjax.nn.cell.cell_type import Cell


class Members(MutableMapping[str, Any]):
    """The members of one kind by name, in the order of their creation; a change changes the cell.

    What is put in keeps its name, or its Parameters theirs, which assigning it to an attribute would prefix. A name that has held a member
    keeps its place in the order.

    Args:
        cell (Cell): whose members these are.
        kind (type): their class.
    """

    def __init__(self, cell: Cell, kind: type):
        self._cell, self._kind = cell, kind

    def __getitem__(self, name: str) -> Any:
        value = vars(self._cell).get(name)
        if name not in self._cell._order or not isinstance(value, self._kind):
            raise KeyError(name)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, self._kind):
            word = "Parameter" if self._kind is Parameter else "Cell"
            raise TypeError(f"Member {name!r} of cell {type(self._cell).__name__} should be a {word}, not {describe(value)}.")
        object.__setattr__(self._cell, name, value)
        self._cell._structure_changed(name)

    def __delitem__(self, name: str) -> None:
        self[name]
        delattr(self._cell, name)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, value in self._cell._members_in_order() if isinstance(value, self._kind)])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return repr(dict(self))


class LiveMembers:
    """The attribute `_cells` or `_params` of cells: `Members`, replaced as a whole by the members of a dict that is assigned.

    A subclass may keep something else under this name.
    """

    def __init__(self, kind: type):
        self._kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, cell: Cell | None, owner: type | None = None) -> Any:
        if cell is None:
            return self
        own = vars(cell)
        return own[self._name] if self._name in own else Members(cell, self._kind)

    def __set__(self, cell: Cell, value: Any) -> None:
        if not isinstance(value, Mapping) or not all(isinstance(member, self._kind) for member in value.values()):
            vars(cell)[self._name] = value
            return
        vars(cell).pop(self._name, None)
        members, new = Members(cell, self._kind), dict(value)
        members.clear()
        members.update(new)
