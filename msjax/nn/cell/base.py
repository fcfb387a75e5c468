"""Cell: the base class of layers and networks, a subclass of flax's nnx.Module."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Self

from flax import nnx

from msjax.common.run_state import COMPILER, GLOBAL, STATE
from msjax.common.tensor import Tensor
from msjax.common.tensor_values import TENSORS
from msjax.core.base import jax_slots
from msjax.core.base.arrays import CONCRETE
from msjax.core.base.checks import check_options
from msjax.core.base.errors import cell_path, has_note, shorten
from msjax.core.base.flax_slots import MODULE_STATE, ToldOfWrites, blank_like
from msjax.core.door import ACTIVITY, VERSION, CallbackBatch, CallFrame, HookTable
from msjax.engine.autograd.precision import computing_in
from msjax.engine.autograd.recompute import TwoContexts, call_recomputed, saved_tensors_hooks
from msjax.engine.settings.current import GRAPH_MODE, SETTINGS
from msjax.nn.cell.custom_bprop import call_with_bprop
from msjax.nn.cell.hooks import hooks_of
from msjax.nn.cell.state_dict import CellState
from msjax.nn.cell.torch_names import TorchNames
from msjax.nn.cell.tree import CellType, CompiledCacheSlot
from msjax.ops.dispatch.docs import with_imports

# The options of `Cell.recompute` in MindSpore's releases.
_RECOMPUTE = (
    "use_reentrant", "output_recompute", "early_stop", "context_fn", "mp_comm_recompute", "parallel_optimizer_comm_recompute",
    "recompute_slice_activation", "mode",
)  # fmt: skip


class Cell(CompiledCacheSlot, TorchNames, CellState, ToldOfWrites, nnx.Module, metaclass=CellType, pytree=False):
    """The base class of layers and networks.

    A subclass creates its layers and Parameters in ``__init__`` and computes in ``construct``. Calling the cell runs
    ``construct`` with the cell's hooks around it. A cell is also a flax ``nnx.Module``.

    Args:
        auto_prefix (bool): whether the names of a child cell's Parameters get the child's name as a prefix.
        flags: settings to keep on the cell, as in `add_flags`.

    Example:
        >>> from msjax import Tensor, nn
        >>> class Net(nn.Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.fc = nn.Dense(2, 1, weight_init="ones", bias_init="zeros")
        ...     def construct(self, x):
        ...         return self.fc(x) * 2
        >>> net = Net()
        >>> print(net(Tensor([[1.0, 2.0]])))
        [[6.]]
        >>> [p.name for p in net.trainable_params()]
        ['fc.weight', 'fc.bias']
    """

    __slots__ = ()  # so that flax, which refuses classes with slots, does not find those of CompiledCacheSlot

    # Defaults on the class; an instance has an entry of its own only for what was changed.
    training = False
    requires_grad = False
    _hooks = HookTable.EMPTY
    _special = False  # a call does more than construct: hooks, mixed precision, recomputation
    _to_float = None
    _recompute = None  # the settings of recompute()
    _param_prefix = ""
    _flags = None
    _in_repr: tuple[str, ...] = ()  # the attributes of a layer that `extend_repr` shows
    bprop: Callable[..., Any] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # flax does not inherit this setting: each class has to be declared as no pytree.
        kwargs.setdefault("pytree", False)
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("msjax."):
            cls.__doc__ = with_imports(vars(cls).get("__doc__"))
        if cls.bprop is not None and "bprop" in cls.__dict__:
            cls._special = True

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None):
        vars(self)["_auto_prefix"] = bool(auto_prefix)
        if flags:
            self.add_flags(**flags)

    # ---- calling

    if TYPE_CHECKING:
        # Any, since subclasses choose its parameters, and may replace it by a compiled function.
        construct: Any
    else:

        def construct(self, *args: Any, **kwargs: Any) -> Any:
            """Compute the cell's outputs from its inputs; defined by subclasses."""
            raise AttributeError(f"{type(self).__name__} defines no method 'construct', and so can't be called.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if SETTINGS.mode == GRAPH_MODE:
            done, result = COMPILER.call_cell(self, args, kwargs)
            if done:
                return result
        owners = STATE.owners
        # What most calls of a network show at once is that jax traces nothing: their first argument is a concrete Tensor.
        if (
            not owners
            and not (args and args[0].__class__ is Tensor and args[0]._value.__class__ in CONCRETE)
            and jax_slots.trace_state() != jax_slots.NO_TRACE
        ):
            return CallbackBatch.of_call(TENSORS, partial(self.call_uncompiled, args, kwargs))
        if self._special:
            return self.call_uncompiled(args, kwargs)
        owners.append(self)  # as `calling` does; written out, since every cell comes here
        try:
            if ACTIVITY.slow_dispatch:
                STATE.entered(self)
            return self.construct(*args, **kwargs)
        except Exception as error:
            _name_cell(error, owners)
            raise
        finally:
            owners.pop()

    def call_uncompiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the cell with its hooks, its `to_float` type, its `bprop` and its recomputation."""
        owners = STATE.owners
        owners.append(self)
        try:
            if ACTIVITY.slow_dispatch:
                STATE.entered(self)
            function = self.construct if self.bprop is None else partial(call_with_bprop, self)
            if self._recompute or self._hooks.saved_tensors:
                function = partial(self._call_saving, function)
            owner = self._hooks.owner
            subject = self if owner is None or owner() is self else self._original(owner())
            table_of = hooks_of if subject is self else lambda _: hooks_of(self)
            if self._to_float is None:
                return CallFrame(subject, table_of, TENSORS).run(function, args, kwargs)
            with computing_in(self._to_float):
                return CallFrame(subject, table_of, TENSORS).run(function, args, kwargs)
        except Exception as error:
            _name_cell(error, owners)
            raise
        finally:
            owners.pop()

    def _original(self, original):
        """The cell that this copy, which shares its hooks, was made from: hooks get the user's cell where nnx's transformations run a
        copy. A copy that the user made is a cell of its own."""
        return self if original is None or jax_slots.trace_state() == jax_slots.NO_TRACE else original

    def _call_saving(self, function, /, *args, **kwargs):
        """Call a function such that its residuals are packed, or recomputed in the backward pass."""
        packing = self._hooks.saved_tensors
        with saved_tensors_hooks(*packing[-1].fn) if packing else nullcontext():
            if self._recompute:
                return call_recomputed(function, args, kwargs, self._recompute["context_fn"])
            return function(*args, **kwargs)

    # ---- hooks

    def _set_hooks(self, table):
        owner = None if table.owner is None else table.owner()
        # In a trace of nnx, a copy's hooks go on as those of the cell that it was made from.
        of_original = owner is not None and owner is not self and jax_slots.trace_state() != jax_slots.NO_TRACE
        before = self._hooks.owner
        self._keep_hooks(table if of_original else table.owned_by(self))
        self._refresh_special()
        # Copies share the hooks until they get some of their own.
        for other in before.copies if before is not None and before() is self else ():
            if other._hooks.owner is before:
                other._keep_hooks(self._hooks)
                other._refresh_special()

    def _keep_hooks(self, table):
        self.present_hooks = table
        if table is HookTable.EMPTY:  # then nnx finds the program of the cell that never had any
            vars(self).pop("_hooks", None)
        else:
            vars(self)["_hooks"] = table

    def written_by_nnx(self) -> None:
        """Called when nnx has written all attributes: after a program of nnx.jit, those of its trace. Who listens may be others since."""
        present = getattr(self, "present_hooks", None)
        if present is None:
            if self._hooks.owner is not None:
                self._hooks.owner.copies.add(self)
            return
        traced = self._hooks
        for kind in HookTable.CALL_KINDS:
            there = getattr(present, kind)
            for hook in getattr(traced, kind):
                if hook.fixed and hook not in there:  # registered by the code that was traced
                    present = present.add(kind, hook)
        self._keep_hooks(present.owned_by(self))
        self._note_special()

    def _refresh_special(self):
        VERSION.changed()
        self._note_special()

    def _note_special(self):
        if self._hooks.in_calls or self._to_float is not None or self._recompute:
            vars(self)["_special"] = True
        else:
            vars(self).pop("_special", None)

    def recompute(
        self,
        *,
        use_reentrant: bool = True,
        output_recompute: bool = False,
        early_stop: bool = True,
        context_fn: Callable[[], TwoContexts] | None = None,
        **kwargs: Any,
    ) -> None:
        """Recompute inner values of this cell in the backward pass instead of keeping them; see `ms.recompute`.

        The cell's own hooks run once. Forward hooks of the cells inside run again in the backward pass.

        Args:
            use_reentrant, output_recompute, early_stop: accepted for compatibility with MindSpore; without effect.
            context_fn (callable, optional): returns two context managers, for the first and the second run.
            **kwargs: MindSpore's `mp_comm_recompute`, `parallel_optimizer_comm_recompute` and `recompute_slice_activation`; without effect.

        Raises:
            TypeError: there is no such option.

        Example:
            >>> from msjax import Tensor, grad, nn
            >>> net = nn.SequentialCell(nn.Tanh(), nn.Tanh())
            >>> net.recompute()
            >>> print(grad(net)(Tensor(0.0)))
            1.0
        """
        check_options(kwargs, _RECOMPUTE, "recompute")
        vars(self)["_recompute"] = {"context_fn": context_fn}
        self._refresh_special()

    # ---- state

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name):
            raise AttributeError(f"The cell {type(self).__name__} has no attribute {name!r}.")

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # nnx's own __deepcopy__ ignores `memo`, and so would copy shared objects twice.
        return self._copied(memo, copy.deepcopy)

    def __copy__(self) -> Self:
        return self._copied({}, lambda value, _: value)

    def _copied(self, memo, copied):
        other = memo[id(self)] = blank_like(self)
        for name, value in self.__dict__.items():
            if name not in MODULE_STATE:
                vars(other)[name] = copied(value, memo)
        if "_hooks" in vars(other):
            vars(other)["_hooks"] = other._hooks.owned_by(other)
        return other

    # ---- text

    def extend_repr(self) -> str:
        """The settings that ``repr`` shows; layers override it."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._in_repr)

    def __repr__(self) -> str:
        extra = self.extend_repr()
        children = [f"({name}): " + repr(cell).replace("\n", "\n  ") for name, cell in self._children()]
        if not children:
            return f"{type(self).__name__}({extra})"
        lines = ([extra] if extra else []) + children
        return f"{type(self).__name__}(\n  " + "\n  ".join(lines) + "\n)"

    __str__ = __repr__

    def __iter__(self) -> NoReturn:
        raise TypeError(f"The cell {type(self).__name__} can't be iterated; use its cells() or cells_and_names().")


def _global_hooks_changed(table):
    # Cells with an entry of their own have `_special` True already.
    Cell._special = table is not HookTable.EMPTY


GLOBAL.changed = _global_hooks_changed


def _name_cell(error, owners):
    """Add a note with the cell's path to an exception, in the innermost cell that it leaves; of a report, leave out the way there."""
    shorten(error)
    if not has_note(error, ("in cell ", "raised by ")):
        error.add_note(f"in cell {cell_path(owners)}")
