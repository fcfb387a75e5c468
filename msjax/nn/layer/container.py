"""Containers of cells: SequentialCell, CellList, CellDict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from typing import Any, Self

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_int, check_kind, check_type, check_value, is_int
from msjax.core.base.errors import describe
from msjax.nn.cell.base import Cell

__all__ = ["CellDict", "CellList", "SequentialCell"]


def _check_cell(cell, who):
    check_type(cell, Cell, "every member", who)
    check_kind(cell, who != "CellList" or not isinstance(cell, CellDict), "be a cell that can be called", "every member", who)
    return cell


def _name_so_far(members: dict) -> str:
    """The prefix of the members' Parameter names, such as "layers." in "layers.0.weight".

    A container doesn't know its own name. As in MindSpore, the prefix is what comes before the key of the first member
    that has Parameters, in the name of that member's first Parameter. If the key occurs there several times, the
    occurrence counts at which the name of the last member has that member's key, or else the last occurrence.
    """
    named = []
    for key, cell in members.items():
        parameter = next(cell.get_parameters(), None)
        if parameter is not None:
            named.append((key, parameter.name.split(".")))
    if not named:
        return ""
    (key, parts), (last_key, last_parts) = named[0], named[-1]
    places = [i for i, part in enumerate(parts) if part == key]
    if not places:
        return ""
    agreeing = [i for i in places if len(named) > 1 and last_parts[i : i + 1] == [last_key]]
    return "".join(part + "." for part in parts[: (agreeing or places[-1:])[0]])


class _Numbered(Cell):
    """Cells as the attributes "0", "1", ... of one cell."""

    _sliced: Callable[[slice], Any]  # the container of the members that a slice takes

    def _members(self) -> list:
        try:
            version, members = self.cached_children
        except AttributeError:
            version = None
        if version != self._structure_version:
            members = list(self.name_cells_all().values())
            object.__setattr__(self, "cached_children", (self._structure_version, members))
        return members

    def name_cells_all(self) -> dict:
        """The members by name; unlike in `name_cells`, a cell used twice is listed twice."""
        return dict(self._children())

    def _replace_members(self, named):
        prefix = _name_so_far(self.name_cells_all())
        for name in self.name_cells_all():
            delattr(self, name)
        for name, cell in named:
            self._put(name, cell, prefix)
        self._structure_changed()

    def _put(self, name, cell, prefix):
        """Add a member, and give its Parameters names with the common prefix."""
        setattr(self, name, _check_cell(cell, type(self).__name__))
        if prefix and self._auto_prefix:
            cell.update_parameters_name(f"{prefix}{name}.")

    def _number(self, cells):
        self._replace_members((str(i), cell) for i, cell in enumerate(cells))

    def _at(self, index):
        check_kind(index, is_int(index), "be an int or a slice", "an index", type(self).__name__)
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"For '{type(self).__name__}', index {index} is out of range for {n} cells.")
        return index % n

    def __len__(self):
        return len(self.name_cells_all())

    def __iter__(self):
        return iter(self._members())

    def __getitem__(self, index):
        members = self._members()
        return self._sliced(index) if isinstance(index, slice) else members[self._at(index)]

    def __setitem__(self, index, cell):
        members = self.name_cells_all()
        self._put(list(members)[self._at(index)], cell, _name_so_far(members))

    def set_grad(self, requires_grad=True):
        """As `Cell.set_grad`, for the members, too; like MindSpore's, it returns None."""
        super().set_grad(requires_grad)
        for cell in self._members():
            cell.set_grad(requires_grad)

    def append(self, cell):
        """Add a cell at the end; returns the container."""
        members = self.name_cells_all()
        self._put(str(len(members)), cell, _name_so_far(members))
        return self


class _CellList:
    """The attribute `cell_list`: the cells that are called, as a list, where a subclass has no attribute of this name."""

    def __get__(self, cell, owner=None):
        return self if cell is None else cell._members()[: cell._length]


class SequentialCell(_Numbered):
    """Cells called one after the other, each with the result of the one before.

    A cell that is assigned to a new attribute, as ``self.shortcut = nn.ReLU()`` in a subclass, is a member, but not called by `construct`
    until the next `append`, assignment to an index or deletion.

    Args:
        *args: the cells; or one list of them; or one ordered dict, whose keys are their names.

    Raises:
        TypeError: a member is not a Cell.

    Example:
        >>> net = nn.SequentialCell(nn.ReLU(), nn.Flatten())
        >>> print(net(Tensor([[-1.0, 2.0]])))
        [[0. 2.]]
    """

    cell_list = _CellList()

    def __init__(self, *args: Any):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = args[0]  # pyright: ignore[reportAssignmentType]
        if len(args) == 1 and isinstance(args[0], dict):
            for name, cell in args[0].items():
                setattr(self, name, _check_cell(cell, "SequentialCell"))
        else:
            for i, cell in enumerate(args):
                setattr(self, str(i), _check_cell(cell, "SequentialCell"))
        self._length = len(self)

    def _sliced(self, index):
        named = list(self.name_cells_all().items())[index]
        return type(self)(OrderedDict(named))

    def __delitem__(self, index):
        members = list(self.name_cells_all().items())
        del members[index if isinstance(index, slice) else self._at(index)]
        numbered = all(name.isdigit() for name, _ in members)
        self._replace_members([(str(i) if numbered else name, cell) for i, (name, cell) in enumerate(members)])
        self._length = len(self)

    def _put(self, name, cell, prefix):
        super()._put(name, cell, prefix)
        self._length = len(self)

    def add_module(self, name, module):
        """PyTorch's way to add a cell at the end, which is called."""
        super().add_module(name, module)
        self._length = len(self)

    def construct(self, input_data: Tensor) -> Tensor:
        for cell in self.cell_list:
            input_data = cell(input_data)
        return input_data


class CellList(_Numbered):
    """A list of cells, whose Parameters are the network's. The list itself can't be called.

    Args:
        *args: the cells, or one list of them.

    Example:
        >>> cells = nn.CellList([nn.ReLU(), nn.Tanh()])
        >>> len(cells), cells[1]
        (2, Tanh())
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(auto_prefix=kwargs.get("auto_prefix", True))
        self.extend(args[0] if len(args) == 1 and isinstance(args[0], (list, tuple, CellList)) else list(args))

    def _sliced(self, index):
        return type(self)(self._members()[index])

    def __delitem__(self, index):
        members = self._members()
        del members[index if isinstance(index, slice) else self._at(index)]
        self._number(members)

    def insert(self, index: int, cell: Cell) -> None:
        """Add a cell in front of the one at `index`.

        Raises:
            IndexError: `index` is beyond the end.
        """
        members = self._members()
        check_int(index, "an index", "CellList")
        if not -len(members) <= index <= len(members):
            raise IndexError(f"For 'CellList', index {index} is out of range for {len(members)} cells.")
        members.insert(index, _check_cell(cell, "CellList"))
        self._number(members)

    def extend(self, cells: Iterable[Cell]) -> Self:
        """Add several cells at the end; returns the list."""
        check_kind(cells, isinstance(cells, (list, tuple, CellList)), "be a list of Cells", "cells", "CellList")
        for cell in cells:
            self.append(cell)
        return self

    def __iadd__(self, cells):
        return self.extend(cells)

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("A CellList can't be called; call its members.")


class CellDict(Cell):
    """A dict of cells, whose Parameters are the network's. The dict itself can't be called.

    Args:
        *args: a dict, CellDict or iterable of (name, cell).
        auto_prefix (bool): whether names of Parameters get the names of the cells before them. Default: True.

    Example:
        >>> cells = nn.CellDict({"act": nn.ReLU()})
        >>> list(cells.keys())
        ['act']
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(auto_prefix=kwargs.get("auto_prefix", True))
        if len(args) > 1:
            raise TypeError(f"For 'CellDict', one argument is expected, but got {len(args)}.")
        if args:
            self.update(args[0])

    def _members(self) -> dict:
        return dict(self._children())

    def __getitem__(self, key):
        return self._members()[key]

    def __setitem__(self, key, cell):
        check_type(key, str, "a key", "CellDict")
        if not key or "." in key or (key not in self._members() and hasattr(self, key)):
            raise KeyError(f"For 'CellDict', a key should be non-empty, without dots and no name of the class, but got {key!r}.")
        prefix = _name_so_far(self._members())
        setattr(self, key, _check_cell(cell, "CellDict"))
        if prefix and self._auto_prefix:
            cell.update_parameters_name(f"{prefix}{key}.")

    def __delitem__(self, key):
        if key not in self._members():
            raise KeyError(key)
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._members())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._members())

    def __contains__(self, key):
        return key in self._members()

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._members().keys()

    def values(self) -> ValuesView[Cell]:
        """The cells."""
        return self._members().values()

    def items(self) -> ItemsView[str, Cell]:
        """(name, cell) pairs."""
        return self._members().items()

    def pop(self, key: str) -> Cell:
        """Take a cell out and return it."""
        cell = self[key]
        del self[key]
        return cell

    def clear(self) -> None:
        """Take all cells out."""
        for key in list(self._members()):
            del self[key]

    def update(self, cells: dict[str, Any]) -> None:
        """Add the cells of a dict, CellDict or iterable of (name, cell)."""
        if isinstance(cells, (dict, CellDict)):
            pairs = list(cells.items())
        elif hasattr(cells, "__iter__") and not isinstance(cells, str):
            pairs = list(cells)
        else:
            raise TypeError(f"For 'CellDict', the cells should be a dict or an iterable of pairs, but got {describe(cells)}.")
        for pair in pairs:
            fits = isinstance(pair, (tuple, list)) and len(pair) == 2
            check_value(pair, fits, "be a (name, cell) pair", "every item", "CellDict")
            self[pair[0]] = pair[1]

    def construct(self, *inputs: Any) -> Any:
        raise NotImplementedError("A CellDict can't be called; call its members.")
