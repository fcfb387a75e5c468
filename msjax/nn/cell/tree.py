"""Traversing a Cell: its children, its Parameters and buffers, and their names."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Self, TypeVar

from flax import nnx

from msjax.common.bases import CellBase
from msjax.common.parameter import Buffer, Parameter, ParameterTuple
from msjax.core.base.weak import new_number
from msjax.core.door import VERSION
from msjax.nn.cell.cell_type import Cell
from msjax.nn.cell.live import LiveMembers
from msjax.nn.cell.parts import CellPart

_C = TypeVar("_C")


class _Signature:
    """What `inspect.signature` shows of a cell class: that of its constructor, where Python would show that of `CellType.__call__`."""

    def __get__(self, cls: type | None, owner: type) -> Any:
        if cls is None:
            raise AttributeError("__signature__")  # of `CellType` itself
        return inspect.signature(partial(cls.__init__, None))


class CellType(type(nnx.Module)):
    """The class of cell classes: tells compiled programs when an attribute of such a class changes."""

    __signature__: Any = _Signature()

    def __call__(cls: type[_C], /, *args: Any, **kwargs: Any) -> _C:
        if "cls" in kwargs:
            # flax's metaclass calls its own parameter `cls`: an argument of that name passes through it by position only.
            given = inspect.signature(cls.__init__).bind(None, *args, **kwargs)
            given.apply_defaults()
            args, kwargs = given.args[1:], given.kwargs
        try:
            return super().__call__(*args, **kwargs)
        except TypeError as error:
            # Python's message of arguments that don't fit names a private base.
            own = cls.__init__.__qualname__
            if own.startswith("_") and cls.__init__.__module__.startswith("msjax.") and str(error).startswith(f"{own}()"):
                error.args = (str(error).replace(own, f"{cls.__name__}.__init__", 1),)
            raise

    def __setattr__(cls, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        VERSION.classes += 1
        VERSION.changed()

    def __delattr__(cls, name: str) -> None:
        super().__delattr__(name)
        VERSION.classes += 1
        VERSION.changed()


class CompiledCacheSlot:
    """Slots for what msjax caches for a cell, outside `__dict__` so that flax does not see it as state.

    Attributes:
        compiled_families: the programs compiled from it.
        cached_children, cached_parameters: (structure version, child cells in order, or weak references to all Parameters).
        present_hooks: its HookTable, kept outside of nnx's state: after a program, nnx writes that of the trace there.
    """

    __slots__ = ("cached_children", "cached_parameters", "compiled_families", "present_hooks")


class CellTree(CellPart):
    """The part of Cell that lists its members, which are plain attributes, in the order of their creation."""

    _structure_version = 0
    _order = ()  # names of members in the order of creation; nnx sorts the attributes of the modules that it makes
    _tuple_names = ()  # (attribute, names of the Parameters) of each ParameterTuple
    _cells = LiveMembers(CellBase)
    _params = LiveMembers(Parameter)

    def _structure_changed(self, added=None):
        """Record that members changed: a new structure version invalidates what is cached by it."""
        if added is not None and added not in self._order:
            vars(self)["_order"] = (*self._order, added)
        CellTree._structure_version = new_number()
        VERSION.changed()

    # ---- cells

    def name_cells(self) -> dict[str, Cell]:
        """The child cells by name; one with two names is listed under the first."""
        found, seen = {}, set()
        for name, cell in self._children():
            if id(cell) not in seen:
                seen.add(id(cell))
                found[name] = cell
        return found

    def _children(self) -> list[tuple[str, Any]]:
        """(name, cell) of the child cells; one with two names is listed twice."""
        return [(name, value) for name, value in self._members_in_order() if isinstance(value, CellTree)]

    def _members_in_order(self):
        own = self.__dict__
        for name in self._order:
            value = own.get(name)
            if value is not None:
                yield name, value

    def cells(self) -> Iterable[Cell]:
        """The child cells."""
        return self.name_cells().values()

    def cells_and_names(self, cells: set[Cell] | None = None, name_prefix: str = "") -> Iterator[tuple[str, Cell]]:
        """(path, cell) of this cell, whose path is empty, and of all cells inside, parents first.

        Args:
            cells: a set of cells to leave out; visited cells are added to it.
            name_prefix (str): put in front of all paths.

        Example:
            >>> from msjax import nn
            >>> [name for name, _ in nn.SequentialCell(nn.ReLU(), nn.Tanh()).cells_and_names()]
            ['', '0', '1']
        """
        seen = set() if cells is None else cells
        if self in seen:
            return
        seen.add(self)  # pyright: ignore[reportArgumentType]  (it is a Cell)
        yield name_prefix, self  # pyright: ignore[reportReturnType]
        for name, cell in self.name_cells().items():
            yield from cell.cells_and_names(seen, f"{name_prefix}.{name}" if name_prefix else name)

    def get_sub_cell(self, target: str) -> Cell:
        """The cell at a path such as "block.0.conv"; the empty path is this cell.

        Raises:
            AttributeError: there is none.
        """
        cell = self
        for part in target.split(".") if target else ():
            cell = cell.__dict__.get(part)
            if not isinstance(cell, CellTree):
                raise AttributeError(f"{type(self).__name__} has no cell {target!r}.")
        return cell  # pyright: ignore[reportReturnType]  (a CellTree is a Cell)

    def apply(self, fn: Callable[[Cell], Any]) -> Self:
        """Call ``fn(cell)`` for all cells inside, children first, then for this cell; returns the cell."""
        for cell in self.cells():
            cell.apply(fn)
        fn(self)  # pyright: ignore[reportArgumentType]  (it is a Cell)
        return self

    # ---- parameters

    def _own_parameters(self):
        for name, value in self._members_in_order():
            if isinstance(value, Parameter):
                yield name, value
            elif isinstance(value, ParameterTuple):
                # A ParameterTuple that bypassed __setattr__ has no entry; use its Parameters' present names.
                names = dict(self._tuple_names).get(name) or [p.name for p in value]
                yield from zip(names, value)

    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """(path, Parameter), own ones before those of children; a shared Parameter is yielded once.

        Args:
            name_prefix (str): put in front of all paths.
            expand (bool): False for this cell's own Parameters only.
        """
        return self._named(lambda cell: cell._own_parameters(), name_prefix, expand)

    def _named(self, own, name_prefix, recurse):
        """(path, member) of what `own` gives as (name, member) of this cell and those inside, each member once."""
        seen = set()
        for prefix, cell in self.cells_and_names(name_prefix=name_prefix) if recurse else [(name_prefix, self)]:
            for name, member in own(cell):
                if id(member) not in seen:
                    seen.add(id(member))
                    yield (f"{prefix}.{name}" if prefix else name), member

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """The Parameters, own ones before those of children."""
        for _, parameter in self.parameters_and_names(expand=expand):
            yield parameter

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters that require a gradient."""
        return [p for p in self.get_parameters(expand=recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters that require no gradient."""
        return [p for p in self.get_parameters(expand=recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """The Parameters by their names."""
        return OrderedDict((p.name, p) for p in self.get_parameters(expand=recurse))

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Name each Parameter by the prefix and its path in this cell."""
        if prefix:
            for path, parameter in self.parameters_and_names(expand=recurse):
                parameter.name = prefix + path

    def check_names(self) -> None:
        """Raise ValueError if two Parameters have the same name."""
        names = set()
        for parameter in self.get_parameters():
            if parameter.name in names:
                raise ValueError(f"Two Parameters of {type(self).__name__} have the name {parameter.name!r}.")
            names.add(parameter.name)

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """The Parameters, each mapped to itself, since they have their data from the start."""
        return {p: p for p in self.get_parameters()}

    # ---- buffers

    def named_buffers(self, name_prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Buffer]]:
        """(path, Buffer) of the buffers; those set to None are left out."""
        return self._named(
            lambda cell: [member for member in cell._members_in_order() if isinstance(member[1], Buffer)], name_prefix, recurse
        )

    def buffers(self, recurse: bool = True) -> Iterator[Buffer]:
        """The buffers; those set to None are left out."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_buffer(self, target: str) -> Buffer:
        """The buffer at a path such as "bn.mean".

        Raises:
            AttributeError: there is none.
        """
        path, _, name = target.rpartition(".")
        cell = self.get_sub_cell(path)
        value = cell.__dict__.get(name)
        if not isinstance(value, Buffer):
            raise AttributeError(f"{type(self).__name__} has no buffer {target!r}.")
        return value
