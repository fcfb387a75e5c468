"""Cell: the base of layers and networks, a stateful object over flax's nnx.Module."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from flax import nnx

from msjax.autograd.precision import computing_in
from msjax.autograd.recompute import call_recomputed
from msjax.autograd.saved import saved_tensors_hooks
from msjax.common import dtype as mstype
from msjax.common.bases import CellBase
from msjax.common.buffer import Buffer
from msjax.common.parameter import Parameter, ParameterTuple
from msjax.common.tensor import Tensor
from msjax.context import GRAPH_MODE, SETTINGS
from msjax.errors import cell_path, describe
from msjax.flax_slots import MODULE_STATE, blank_like
from msjax.hooks import table as hook_table
from msjax.hooks.protocol import call_with_hooks
from msjax.hooks.table import hooks_of
from msjax.nn.cell.custom_bprop import call_with_bprop
from msjax.nn.cell.hooks import CellHooks
from msjax.nn.cell.state_dict import CellState
from msjax.nn.cell.torch_names import TorchNames
from msjax.nn.cell.tree import CellTree, CompiledCacheSlot
from msjax.state import COMPILER, STATE, programs_changed

if TYPE_CHECKING:
    from msjax.common.dtype import Type
    from msjax.compile.noop import JitConfig


_MEMBERS = (Parameter, ParameterTuple, Buffer)
_BUFFER = (
    "{name!r} of cell {cell} is a buffer; write to it in place, as in ops.assign(self.{name}, value), "
    "or register_buffer({name!r}, value) anew."
)


def _is_number_for(parameter, value):
    return parameter.shape == () and (isinstance(value, int) or (isinstance(value, float) and parameter.is_floating_point()))


class Cell(CellBase, CompiledCacheSlot, CellTree, CellState, CellHooks, TorchNames, nnx.Module, pytree=False):
    """The base class of layers and networks.

    A subclass makes its layers and Parameters in ``__init__`` and computes in ``construct``. Calling the cell
    runs its hooks around ``construct``. A cell is a flax ``nnx.Module``, too.

    Args:
        auto_prefix (bool): whether Parameters of child cells get the child's name in front of theirs.
        flags: kept for MindSpore's programs.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> class Net(nn.Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.fc = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        ...     def construct(self, x):
        ...         return self.fc(x) * 2
        >>> net = Net()
        >>> print(net(ms.Tensor([[1.0, 2.0]])))
        [[6.]]
        >>> [p.name for p in net.trainable_params()]
        ['fc.weight', 'fc.bias']
    """

    __slots__ = ()  # flax refuses classes with slots, and would find that of Beside

    # Defaults of the class; an instance has an entry of its own only for what was changed.
    training = False
    requires_grad = False
    _hooks = hook_table.EMPTY
    _special = False  # the call needs more than construct: hooks, mixed precision, recomputation
    _to_float = None
    _recompute = None  # the settings of recompute()
    _param_prefix = ""
    _flags = None
    bprop = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # Not inherited in flax: each class has to say that it is no pytree.
        kwargs.setdefault("pytree", False)
        super().__init_subclass__(**kwargs)
        if cls.bprop is not None and "bprop" in cls.__dict__:
            cls._special = True

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None):
        self.__dict__["_auto_prefix"] = bool(auto_prefix)
        if flags:
            self.add_flags(**flags)

    # ---- calling

    if TYPE_CHECKING:
        # Any, since subclasses choose its parameters, and may put a compiled function in its place.
        construct: Any
    else:

        def construct(self, *args: Any, **kwargs: Any) -> Any:
            """What the cell computes; defined by subclasses."""
            raise AttributeError(f"{type(self).__name__} defines no method 'construct', and so can't be called.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if SETTINGS.mode == GRAPH_MODE:
            done, result = COMPILER.call_cell(self, args, kwargs)  # pyright: ignore[reportOptionalCall]
            if done:
                return result
        if self._special:
            return self.call_uncompiled(args, kwargs)
        cells = STATE.cells
        cells.append(self)
        try:
            return self.construct(*args, **kwargs)
        except Exception as error:
            _name_cell(error, cells)
            raise
        finally:
            cells.pop()

    def call_uncompiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The call with all that a cell may have: hooks, a floating type of its own, a bprop, recomputation."""
        cells = STATE.cells
        cells.append(self)
        try:
            function = self.construct if self.bprop is None else self._call_bprop
            if self._recompute or self._hooks.saved_tensors:
                function = partial(self._call_saving, function)
            if self._to_float is None:
                return call_with_hooks(function, args, kwargs, self, hooks_of)
            with computing_in(self._to_float):
                return call_with_hooks(function, args, kwargs, self, hooks_of)
        except Exception as error:
            _name_cell(error, cells)
            raise
        finally:
            cells.pop()

    def _call_bprop(self, *args, **kwargs):
        return call_with_bprop(self, args, kwargs)

    def _call_saving(self, function, *args, **kwargs):
        """Call a function where values kept for the backward are packed, or computed again."""
        packing = self._hooks.saved_tensors
        with saved_tensors_hooks(*packing[-1].fn) if packing else nullcontext():
            if self._recompute:
                return call_recomputed(function, args, kwargs, self._recompute["context_fn"])
            return function(*args, **kwargs)

    # ---- hooks

    def _set_hooks(self, table):
        self.__dict__["_hooks"] = table
        self._refresh_special()

    def _refresh_special(self):
        programs_changed()
        if self._hooks.in_calls or self._to_float is not None or self._recompute:
            self.__dict__["_special"] = True
        else:
            self.__dict__.pop("_special", None)

    def recompute(
        self,
        *,
        use_reentrant: bool = True,
        output_recompute: bool = False,
        early_stop: bool = True,
        context_fn: Callable[..., Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Compute inner values of this cell again in the backward pass instead of keeping them; see `ms.recompute`.

        The cell's own hooks run once; those of the cells in it, where they are forward hooks, again in the backward.

        Args:
            use_reentrant, output_recompute, early_stop, kwargs: kept for MindSpore's programs, without effect.
            context_fn (callable, optional): returns two context managers, for the first and the second run.

        Example:
            >>> import msjax as ms
            >>> from msjax import nn
            >>> net = nn.SequentialCell(nn.Tanh(), nn.Tanh())
            >>> net.recompute()
            >>> print(ms.grad(net)(ms.Tensor(0.0)))
            1.0
        """
        self.__dict__["_recompute"] = {"context_fn": context_fn}
        self._refresh_special()

    # ---- members

    def __setattr__(self, name: str, value: Any) -> None:
        programs_changed()
        if isinstance(value, Cell):
            self._check_initialized(name, value)
            current = self.__dict__.get(name)
            if isinstance(current, (Parameter, Buffer)):
                raise KeyError(f"{name!r} of cell {type(self).__name__} is a {_kind(current)}, which a cell can't replace.")
            object.__setattr__(self, name, value)
            self._adopt(name, value)
            self._structure_changed(name)
        elif isinstance(value, _MEMBERS):
            self._check_initialized(name, value)
            if isinstance(value, ParameterTuple):
                # Its Parameters are members under the names that they have now.
                self.__dict__["_tuple_names"] = (*self._tuple_names, (name, tuple(p.name for p in value)))
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
            # nnx.data(...) and nnx.static(...) are flax's to unpack.
            nnx.Module.__setattr__(self, name, value)
        else:
            object.__setattr__(self, name, value)

    def __getstate__(self) -> Any:
        return self.__dict__

    def __delattr__(self, name: str) -> None:
        object.__delattr__(self, name)
        programs_changed()
        self.__dict__["_order"] = tuple(n for n in self._order if n != name)
        self._structure_changed()

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            raise AttributeError(f"The cell {type(self).__name__} has no attribute {name!r}.")

    def _check_initialized(self, name, value):
        if "_auto_prefix" not in self.__dict__:
            raise AttributeError(
                f"{type(self).__name__}.__init__ should call super().__init__() before it assigns {type(value).__name__} {name!r}."
            )

    def _replace_member(self, name, current, value):
        """What assigning to the name of a Parameter, buffer or cell does if the value is none of these."""
        if isinstance(current, Parameter) and isinstance(value, Tensor):
            current.set_data(value)
        elif SETTINGS.mode == GRAPH_MODE and isinstance(current, Parameter) and _is_number_for(current, value):
            # MindSpore's compiler takes a number here, which its PyNative mode refuses.
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
        """Keep a Tensor that is part of the cell's state, but no Parameter.

        Args:
            name (str): its attribute.
            tensor (Tensor or None): its value.
            persistent (bool): whether it is part of ``state_dict()``.

        Raises:
            TypeError: `name` is no str, or `tensor` no Tensor.
            KeyError: the name is empty, dotted, or in use.
        """
        self._check_member_name("register_buffer", name)
        if name not in self._empty_buffers():
            self._check_free("register_buffer", name, Buffer)
        if tensor is None:
            self.__dict__.setdefault("_none_buffers", ())
            self.__dict__["_none_buffers"] += (name,)
            object.__setattr__(self, name, None)
            return
        if not isinstance(tensor, Tensor):
            raise TypeError(f"For 'register_buffer', {name!r} should be a Tensor or None, but got {describe(tensor)}.")
        object.__setattr__(self, name, Buffer(tensor, persistent=bool(persistent)))
        self._structure_changed(name)

    def _empty_buffers(self):
        return self.__dict__.get("_none_buffers", ())

    def _check_member_name(self, who, name):
        if not isinstance(name, str):
            raise TypeError(f"For '{who}', the name should be a str, but got {describe(name)}.")
        if not name or "." in name:
            raise KeyError(f"For '{who}', the name should be non-empty and without dots, but got {name!r}.")

    def _check_free(self, who, name, kind):
        if hasattr(self, name) and not isinstance(self.__dict__.get(name), kind):
            raise KeyError(f"For '{who}', cell {type(self).__name__} has an attribute {name!r} already.")

    def insert_child_to_cell(self, child_name: str, child_cell: Cell | None) -> None:
        """Make a cell a child under a name; one that has the name is replaced.

        Unlike those of a cell assigned to an attribute, its Parameters keep their names.

        Raises:
            KeyError: the name is empty, dotted, or that of an attribute that is no cell.
            TypeError: a wrong type of name or cell.
        """
        self._check_member_name("insert_child_to_cell", child_name)
        self._check_free("insert_child_to_cell", child_name, Cell)
        if child_cell is not None and not isinstance(child_cell, Cell):
            raise TypeError(
                f"For 'insert_child_to_cell', the child {child_name!r} should be a Cell, but got {describe(child_cell)}."
            )
        self._check_initialized(child_name, child_cell)
        programs_changed()
        object.__setattr__(self, child_name, child_cell)
        self._structure_changed(child_name)

    def insert_param_to_cell(self, param_name: str, param: Parameter | None, check_name_contain_dot: bool = True) -> None:
        """Make a Parameter one of the cell's under a name.

        Raises:
            KeyError: the name is empty, dotted, or that of another attribute.
            TypeError: a wrong type of name or Parameter.
        """
        if check_name_contain_dot or not isinstance(param_name, str) or not param_name:
            self._check_member_name("insert_param_to_cell", param_name)
        self._check_free("insert_param_to_cell", param_name, Parameter)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"For 'insert_param_to_cell', {param_name!r} should be a Parameter, but got {describe(param)}.")
        setattr(self, param_name, param)

    # ---- settings

    def set_train(self, mode: bool = True) -> Self:
        """Set the cell and all in it to training (True) or inference (False); returns the cell."""
        for _, cell in self.cells_and_names():
            object.__setattr__(cell, "training", bool(mode))
        programs_changed()
        return self

    def set_grad(self, requires_grad: bool = True) -> Self:
        """Say whether the cell is to be differentiated; gradients are taken either way. Returns the cell."""
        object.__setattr__(self, "requires_grad", bool(requires_grad))
        return self

    def to_float(self, dst_type: Type) -> Self:
        """Compute the cell, and all in it, in another floating type: its operators convert their floating operands.

        Parameters keep their type, and gradients are converted back to it. What converts a type itself (``x.astype``) and
        indexing are left alone.

        Args:
            dst_type: ms.float16, ms.bfloat16 or ms.float32.

        Raises:
            ValueError: another type.
        """
        if dst_type not in (mstype.float16, mstype.bfloat16, mstype.float32):
            raise ValueError(f"For 'to_float', the type should be ms.float16, ms.bfloat16 or ms.float32, but got {dst_type!r}.")
        for _, cell in self.cells_and_names():
            cell.__dict__["_to_float"] = dst_type
            cell._refresh_special()
        return self

    def set_jit_config(self, jit_config: JitConfig) -> None:
        """Take a `JitConfig`, and leave compiling to XLA."""
        from msjax.compile.noop import JitConfig

        if not isinstance(jit_config, JitConfig):
            raise TypeError(f"For 'set_jit_config', the argument should be a JitConfig, but got {describe(jit_config)}.")

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Without effect: it tells MindSpore's compiler which sizes vary; here each combination of shapes has its program."""

    def cast_inputs(self, inputs: Sequence[Any], dst_type: Type) -> tuple[Any, ...]:
        """Floating Tensors among the inputs cast to a type; everything else as it is."""
        return tuple(
            x.astype(dst_type) if isinstance(x, Tensor) and x.is_floating_point() and x.dtype != dst_type else x for x in inputs
        )

    def add_flags(self, **flags: Any) -> Self:
        """Keep settings on the cell, readable with `get_flags` and as attributes; returns the cell."""
        self.__dict__.update(flags)
        self.__dict__["_flags"] = {**(self._flags or {}), **flags}
        return self

    def add_flags_recursive(self, **flags: Any) -> Self:
        """Keep settings on the cell and all in it; returns the cell."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """The settings kept with `add_flags`."""
        return dict(self._flags or {})

    @property
    def cls_name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        # nnx copies a module without regard to what else is being copied with it.
        other = memo[id(self)] = blank_like(self)
        for name, value in self.__dict__.items():
            if name not in MODULE_STATE:
                other.__dict__[name] = copy.deepcopy(value, memo)
        return other

    # ---- text

    def extend_repr(self) -> str:
        """What a layer shows of its settings in ``repr``; overridden by layers."""
        return ""

    def __repr__(self) -> str:
        extra = self.extend_repr()
        children = [f"({name}): " + repr(cell).replace("\n", "\n  ") for name, cell in self._children()]
        if not children:
            return f"{type(self).__name__}({extra})"
        lines = ([extra] if extra else []) + children
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"

    __str__ = __repr__

    def __iter__(self) -> Any:
        raise TypeError(f"The cell {type(self).__name__} can't be iterated; use its cells() or cells_and_names().")


def _global_hooks_changed(table):
    # Cells that have an entry of their own need the long way in any case.
    Cell._special = table is not hook_table.EMPTY


hook_table.GLOBAL.changed = _global_hooks_changed


# What an attribute may be that only None or one of its kind replaces.
_OWNED = (Cell, Parameter, Buffer)


def _kind(member) -> str:
    return "Parameter" if isinstance(member, Parameter) else "buffer" if isinstance(member, Buffer) else "cell"


def _name_cell(error, cells):
    """Add to an exception that leaves a cell in which cell it was raised, once."""
    if not getattr(error, "_msjax_named", False):
        try:
            error._msjax_named = True
        except AttributeError:
            return
        error.add_note(f"in cell {cell_path(cells)}")
