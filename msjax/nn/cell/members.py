"""The members of a Cell: Parameters, buffers and child cells, as attributes."""

from __future__ import annotations

from typing import Any

from flax import nnx

from msjax.common.bases import CellBase
from msjax.common.parameter import Buffer, Parameter, ParameterTuple
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_kind, check_type
from msjax.core.base.errors import describe
from msjax.core.door import VERSION
from msjax.engine.settings.current import GRAPH_MODE, SETTINGS
from msjax.nn.cell.cell_type import Cell
from msjax.nn.cell.tree import CellTree

_MEMBERS = (Parameter, ParameterTuple, Buffer)
_BUFFER = (
    "{name!r} of cell {cell} is a buffer; write to it in place, as in ops.assign(self.{name}, value), "
    "or register_buffer({name!r}, value) anew."
)


def _is_number_for(parameter, value):
    return parameter.shape == () and (isinstance(value, int) or (isinstance(value, float) and parameter.is_floating_point()))


class CellMembers(CellTree):
    """The part of Cell that handles assignment to attributes and registers members by name."""

    def __setattr__(self, name: str, value: Any) -> None:
        VERSION.changed()
        if isinstance(value, CellBase):
            self._check_initialized(name, value)
            current = self.__dict__.get(name)
            if isinstance(current, (Parameter, Buffer)):
                raise KeyError(f"{name!r} of cell {type(self).__name__} is a {_kind(current)}, which a cell can't replace.")
            object.__setattr__(self, name, value)
            if self._auto_prefix:
                value.update_parameters_name(f"{name}.")
            self._structure_changed(name)
        elif isinstance(value, _MEMBERS):
            self._check_initialized(name, value)
            if isinstance(value, ParameterTuple):
                # Its Parameters are members under their present names.
                vars(self)["_tuple_names"] = (*self._tuple_names, (name, tuple(p.name for p in value)))
            else:
                kind = Parameter if isinstance(value, Parameter) else Buffer
                current = self.__dict__.get(name)
                if isinstance(current, _OWNED) and not isinstance(current, kind):
                    raise KeyError(
                        f"{name!r} of cell {type(self).__name__} is a {_kind(current)}, which a {_kind(value)} can't replace."
                    )
                if kind is Parameter and not value.is_named:
                    value.name = name
            object.__setattr__(self, name, value)
            self._structure_changed(name)
        elif (current := self.__dict__.get(name)) is not None and isinstance(current, _OWNED):
            self._replace_member(name, current, value)
        elif isinstance(value, Tensor) and name in self._empty_buffers():
            raise TypeError(_BUFFER.format(name=name, cell=type(self).__name__))
        elif hasattr(type(value), "metadata") and "nnx_value" in getattr(value, "metadata", ()):
            # Let flax unpack nnx.data(...) and nnx.static(...).
            nnx.Module.__setattr__(self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        VERSION.changed()
        vars(self)["_order"] = tuple(n for n in self._order if n != name)
        self._structure_changed()

    def _check_initialized(self, name, value):
        if "_auto_prefix" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}.__init__ should call super().__init__() before it assigns {type(value).__name__} {name!r}."
            )

    def _replace_member(self, name, current, value):
        """Assign a value that is no Parameter, buffer or cell to the name of one."""
        if isinstance(current, Parameter) and isinstance(value, Tensor):
            current.set_data(value)
        elif SETTINGS.mode == GRAPH_MODE and isinstance(current, Parameter) and _is_number_for(current, value):
            # MindSpore's compiler accepts a number here; its PyNative mode refuses it.
            current.set_data(value)
        elif value is None:
            object.__setattr__(self, name, None)
            self._structure_changed()
        elif isinstance(current, Buffer):
            raise TypeError(_BUFFER.format(name=name, cell=type(self).__name__))
        else:
            raise TypeError(
                f"{name!r} of cell {type(self).__name__} is a {_kind(current)}; assign None or another one to it, "
                f"not {describe(value)}."
            )

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a Tensor that is part of the cell's state, but not a Parameter.

        Args:
            name (str): the attribute's name.
            tensor (Tensor or None): its value.
            persistent (bool): whether it is part of ``state_dict()``.

        Raises:
            TypeError: `name` is not a str, or `tensor` not a Tensor.
            KeyError: the name is empty, contains a dot, or is in use.
        """
        self._check_member_name("register_buffer", name)
        if name not in self._empty_buffers():
            self._check_free("register_buffer", name, Buffer)
        if tensor is None:
            vars(self)["_none_buffers"] = (*self._empty_buffers(), name)
            object.__setattr__(self, name, None)
            return
        check_kind(tensor, isinstance(tensor, Tensor), "be a Tensor or None", name, "register_buffer")
        object.__setattr__(self, name, Buffer(tensor, persistent=bool(persistent)))
        self._structure_changed(name)

    def _empty_buffers(self):
        return self.__dict__.get("_none_buffers", ())

    def _check_member_name(self, who, name):
        check_type(name, str, "the name", who)
        if not name or "." in name:
            raise KeyError(f"For '{who}', the name should be non-empty and without dots, but got {name!r}.")

    def _check_free(self, who, name, kind):
        if hasattr(self, name) and not isinstance(self.__dict__.get(name), kind):
            raise KeyError(f"For '{who}', cell {type(self).__name__} has an attribute {name!r} already.")

    def insert_child_to_cell(self, child_name: str, child_cell: Cell | None) -> None:
        """Add a child cell under a name; a child of that name is replaced.

        Its Parameters keep their names, which assigning the cell to an attribute would prefix.

        Raises:
            KeyError: the name is empty, contains a dot, or is that of an attribute that is not a cell.
            TypeError: the name is not a str, or the child not a Cell.
        """
        self._check_member_name("insert_child_to_cell", child_name)
        self._check_free("insert_child_to_cell", child_name, CellBase)
        is_cell = child_cell is None or isinstance(child_cell, CellBase)
        check_kind(child_cell, is_cell, "be a Cell", f"the child {child_name!r}", "insert_child_to_cell")
        self._check_initialized(child_name, child_cell)
        VERSION.changed()
        object.__setattr__(self, child_name, child_cell)
        self._structure_changed(child_name)

    def insert_param_to_cell(self, param_name: str, param: Parameter | None, check_name_contain_dot: bool = True) -> None:
        """Add a Parameter to the cell under a name.

        Raises:
            KeyError: the name is empty, contains a dot, or is that of another attribute.
            TypeError: the name is not a str, or the value not a Parameter.
        """
        if check_name_contain_dot or not isinstance(param_name, str) or not param_name:
            self._check_member_name("insert_param_to_cell", param_name)
        self._check_free("insert_param_to_cell", param_name, Parameter)
        if param is not None:
            check_type(param, Parameter, param_name, "insert_param_to_cell")
        setattr(self, param_name, param)


# Members that only None or another one of their kind can replace.
_OWNED = (CellBase, Parameter, Buffer)


def _kind(member) -> str:
    return "Parameter" if isinstance(member, Parameter) else "buffer" if isinstance(member, Buffer) else "cell"
