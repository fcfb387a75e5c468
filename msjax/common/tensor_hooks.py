"""Hooks on Tensors and Parameters: functions of one gradient."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.node import RootLeaf
from msjax.common.parameter import Parameter
from msjax.common.run_state import STATE
from msjax.common.tensor import Tensor, wrap
from msjax.common.tensor_values import TENSORS
from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer
from msjax.core.base.errors import callable_name, describe
from msjax.core.base.flax_slots import when_copied
from msjax.core.base.trial_run import put_back
from msjax.core.base.weak import new_number
from msjax.core.door import VERSION, Frame, Hook, HookKind, HookTable, RemovableHandle


class LateHookError(RuntimeError):
    """A hook came too late to see the whole gradient of its Tensor."""


class HookList:
    """The hooks of one Tensor value, in the order of registration.

    Attributes:
        hooks: by the numbers of their handles.
        after: functions that are called with the final gradient.
        number: no other list of the process has it.
        parameter: a weak reference to the Parameter whose hooks these are, or None.
    """

    __slots__ = ("hooks", "after", "number", "parameter", "__weakref__")

    def __init__(self, tensor: Tensor | None = None):
        self.hooks: dict[int, Hook] = {}
        self.after: list[Callable[[Tensor], Any]] = []
        self.number: int = new_number()
        self.parameter = weakref.ref(tensor) if isinstance(tensor, Parameter) else None

    def __bool__(self) -> bool:
        return bool(self.hooks or self.after)

    def add(self, hook: Callable[[Tensor], Any]) -> RemovableHandle:
        """Register `hook(grad)`; it runs after the hooks registered before."""
        added = Hook.registered(hook, of_tensors=True)
        # The second run of a recomputed call comes by again.
        if STATE.saving is None or not STATE.saving.again:
            self.put(added)
            VERSION.changed()
        return RemovableHandle(self, _remove, added.id)

    def put(self, hook: Hook) -> None:
        """Add a hook, without telling programs."""
        HookTable.before_change(self)
        self.hooks[hook.id] = hook
        self._tell_copies()

    def take(self, id: int) -> None:
        """Take the hook of this number off, if it is there, without telling programs."""
        HookTable.before_change(self)
        self.hooks.pop(id, None)
        self._tell_copies()

    def _set_hooks(self, hooks):
        put_back(self.hooks, {hook.id: hook for hook in hooks})
        self._tell_copies()
        VERSION.changed()

    def _tell_copies(self):
        if self.parameter is None or (parameter := self.parameter()) is None:
            return
        if self.hooks:
            parameter._metadata[_IN_METADATA] = _OfCopies(self)
        else:
            parameter._metadata.pop(_IN_METADATA, None)

    def join(self, other: HookList) -> None:
        """Take over the hooks of another list, behind those that are here; handles of either one remove them from both."""
        self.hooks.update(other.hooks)
        other.hooks = self.hooks
        self._tell_copies()

    @property
    def key(self) -> tuple[Any, ...]:
        """What programs with these hooks are found by: the list, since they know their slots by it, and `Hook.key`."""
        return (self.number, *[hook.key for hook in self.gradient]) if self.hooks else ()

    @property
    def of_programs(self) -> list[Hook]:
        """The hooks that are part of programs, as observers, which stand in slots, are not."""
        return [hook for hook in self.gradient if not hook.in_slot]

    @property
    def gradient(self) -> tuple[Hook, ...]:
        """The hooks that are there now, in a tuple: another thread may add and remove some meanwhile."""
        # Python makes this of a list, which goes through the dict in one step: in tuple(), it may collect garbage, and run other threads, on the way.
        return (*self.hooks.values(),)

    _hooks = gradient

    def _hooks_around(self):
        return self

    def run(self, grad: Tensor) -> Tensor:
        """Run all hooks on a gradient, each on the result of the one before; returns the final gradient."""
        frame = Frame(TENSORS, self)
        for number, hook in enumerate(self.gradient):
            grad = frame.run_backward(_GRADIENT, hook, (grad,), 0, number)
        for function in self.after:
            function(grad)
        return grad

    def run_each(self, grads: Iterable[Tensor | None]) -> list[Tensor | None]:
        """Run all hooks on each of several gradients; None stays None."""
        return [grad if grad is None else self.run(grad) for grad in grads]


def attach_hooks(tensor: Tensor, hooks: HookList) -> HookList:
    """Attach the hooks of a Tensor to its node on the tape; returns the list that the Tensor has now."""
    node = tensor._node
    if node is None:
        return hooks
    if node.__class__ is RootLeaf:
        node.hooks = hooks
    elif not node.is_leaf and node.live():
        if node.hooks is None:
            node.hooks = {}
        # Two Tensors may be the same output (aliases); hooks of either see its gradient.
        known = node.hooks.setdefault(tensor._oidx, hooks)
        if known is not hooks:
            known.join(hooks)
            hooks = tensor._hooks = known
    return hooks


def _remove(hook_list, id):
    hook_list.take(id)
    VERSION.changed()


class _OfCopies:
    """The hooks of a Parameter among its metadata, which nnx gives to its copies, and which is a part of what nnx's programs are found by.

    Attributes:
        hooks: the HookList, which the copies share.
        key: what programs with the present hooks are found by.
        passed: a weak reference to the trace of jax in which the copy's value passes the hooks, or None.
    """

    __slots__ = ("hooks", "key", "passed")

    def __init__(self, hooks: HookList, passed: Any = None):
        self.hooks = hooks
        self.key = hooks.key
        self.passed = passed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _OfCopies) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<{len(self.hooks.hooks)} hooks>"


def _share_hooks(parameter):
    """Give the copy of a Parameter its hooks. Where jax differentiates the copy, its value passes them; once, however often it is copied."""
    if (own := parameter._metadata.get(_IN_METADATA)) is None:
        return
    hooks, value = own.hooks, parameter._value
    parameter._hooks = hooks
    if hooks and is_tracer(value) and differentiates(value):
        trace = jax_slots.trace_of(value)
        if own.passed is None or own.passed() is not trace:
            parameter._metadata[_IN_METADATA] = _OfCopies(hooks, weakref.ref(trace))
            parameter._value = TENSORS.through_custom_vjp([parameter], hooks.run_each)[0]._value


_IN_METADATA = "gradient_hooks"
when_copied(Parameter, _share_hooks)


def differentiates(value: Any) -> bool:
    """Whether the innermost transformation of jax that traces a value differentiates it."""
    return jax_slots.trace_of(jax.lax.stop_gradient(value)) is not jax_slots.trace_of(value)


def _replacement(_values, hook, _text, result, grad, _owners):
    """The new gradient from a Tensor hook's result: cast to the gradient's dtype and broadcast to its shape; no imaginary part is left out."""
    if not isinstance(result, Tensor):
        raise RuntimeError(
            f"A Tensor hook should return a Tensor or None, but hook {callable_name(hook)} returned {describe(result)} "
            f"for a gradient of shape {grad.shape} and dtype {grad.dtype}."
        )
    if result.shape == grad.shape and result._value.dtype == grad._value.dtype:
        return result
    try:
        fits = jnp.broadcast_shapes(result.shape, grad.shape) == grad.shape
    except ValueError:
        fits = False
    if not fits or jnp.iscomplexobj(result._value) > jnp.iscomplexobj(grad._value):
        raise ValueError(
            f"Hook {callable_name(hook)} returned a gradient of shape {result.shape} and dtype {result.dtype}, "
            f"but expected are shape {grad.shape} and dtype {grad.dtype}."
        )
    if result._node is not None and result._node.live():
        return result.astype(grad.dtype).broadcast_to(grad.shape)
    return wrap(jnp.broadcast_to(result._value.astype(grad._value.dtype), grad.shape))


_GRADIENT = HookKind("gradient", "Tensor hook", _replacement)
