"""Gradients in PyTorch's manner: Tensors that require one, `backward()` and what it adds to `grad`; and hooks of gradients: `Tensor.register_hook`."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from msjax.common.bases import attached_to, computed, settable
from msjax.common.node import RootLeaf
from msjax.common.parameter import Parameter
from msjax.common.run_state import ROOT, STATE, Node
from msjax.common.tensor import Tensor, filled_like, used, wrap
from msjax.common.tensor_hooks import HookList, LateHookError, attach_hooks, differentiates
from msjax.common.tensor_values import TENSORS
from msjax.common.typing import TensorHook
from msjax.core.base.arrays import is_tracer
from msjax.core.base.checks import check_bool, check_kind
from msjax.core.base.errors import check_hook, describe, where
from msjax.core.base.typing import Attribute, SettableAttribute
from msjax.core.door import HookTable, RemovableHandle
from msjax.engine.autograd.backward import add_arrays, add_gradients, run_backward


def register_hook(self: Tensor, hook: TensorHook) -> RemovableHandle:
    """Register a hook on the gradient with respect to this Tensor.

    Each backward pass calls ``hook(grad)`` once, with the summed gradient: a Tensor of this Tensor's shape and dtype. If
    the hook returns None, the gradient stays; if it returns a Tensor, that replaces the gradient. Several hooks run in
    the order of registration, and each gets the gradient that the one before it left.

    Args:
        hook (callable): the function.

    Returns:
        A handle; ``handle.remove()`` takes the hook away.

    Raises:
        TypeError: `hook` is not callable.
        RuntimeError: the Tensor comes from `ops.stop_gradient`, or is a Parameter that requires no gradient; or jax itself
            differentiates (`jax.grad` of a call of a Cell), and something was computed from the Tensor before.

    Example:
        >>> import msjax as ms
        >>> def f(x):
        ...     y = x * 2
        ...     y.register_hook(lambda grad: print("grad of y:", grad))
        ...     return y * y
        >>> print(ms.grad(f)(ms.Tensor(3.0)))
        grad of y: 12.0
        24.0
    """
    check_hook(hook, "register_hook")
    if self._stopped:
        raise RuntimeError(
            f"register_hook was called on the result of ops.stop_gradient (shape {self.shape}, dtype {self.dtype}){where()}, "
            "through which no gradient flows; register it on the Tensor before stop_gradient."
        )
    if isinstance(self, Parameter) and not self.requires_grad:
        raise RuntimeError(
            f"register_hook was called on the Parameter {self.name!r}{where()}, which requires no gradient, so that the hook would "
            "never run; set its requires_grad to True first."
        )
    return register_hook_list(self).add(hook)


def register_hook_list(tensor: Tensor, given: HookList | None = None) -> HookList:
    """The list of hooks of a Tensor, made on first use and attached to its node on the tape.

    Args:
        given: the list of a copy of the Tensor; its hooks become the Tensor's.
    """
    hooks = tensor._hooks
    if hooks is not None and given is not None:
        hooks.join(given)
    if hooks is None:
        # What the code of a transformation registers on nnx's copy of a Parameter is that call's.
        hooks = HookList(None if is_tracer(tensor._value) else tensor) if given is None else given
        with HookTable.changing:  # another thread may register its first hook, too
            hooks = tensor._hooks = hooks if tensor._hooks is None else tensor._hooks
        if TENSORS.under_jax_transform([tensor]):
            # jax differentiates: from now on, the Tensor's value passes through a custom_vjp that runs the hooks.
            run = _refuse_late(tensor) if used(tensor) else hooks.run_each
            tensor._value = TENSORS.through_custom_vjp([tensor], run)[0]._value
    return attach_hooks(tensor, hooks)


def _refuse_late(tensor):
    """For a hook on a Tensor that was used before, where an identity of jax would miss a part of the gradient: raise an error, as soon as
    it is certain that jax differentiates the Tensor."""
    error = LateHookError(
        f"register_hook was called on a Tensor of shape {tensor.shape} and dtype {tensor.dtype}{where()} from which something was "
        "computed before; where jax itself differentiates the objects (under jax.grad, or in a function of jax's around the cell, such "
        "as lax.scan), a hook gets the gradient of later uses only. Register it before the first use, or differentiate with ms.grad or "
        "the function that ms.functionalize returns, where its place makes no difference."
    )
    if differentiates(tensor._value):
        raise error

    def refuse(_):
        raise error

    return refuse


def hooks(self: Tensor) -> list[TensorHook]:
    """The functions registered with `register_hook`, in order."""
    return [] if self._hooks is None else [hook.fn for hook in self._hooks.gradient]


def remove_hook(self: Tensor) -> None:
    """Take away all functions registered with `register_hook`."""
    if self._hooks is not None:
        HookTable.change(self._hooks, lambda _hooks: ())


# ---- what requires a gradient


def _requires_grad(self: Tensor) -> bool:
    """Whether a gradient is computed for this Tensor: True for leaves where it was set, and for what is computed from them.

    Example:
        >>> import msjax as ms
        >>> x = ms.Tensor([1.0, 2.0])
        >>> x.requires_grad = True
        >>> y = (x * x).sum()
        >>> y.backward()
        >>> print(y.requires_grad, x.grad)
        True [2. 4.]
    """
    node = self._node
    return node is not None and (node.__class__ is RootLeaf or node.live())


def _set_requires_grad(self: Tensor, value: bool):
    check_bool(value, "requires_grad")
    if not value:
        if not _is_leaf(self):
            raise RuntimeError(
                "'requires_grad' can be switched off for leaves only, but this Tensor was computed from Tensors that require a "
                "gradient; x.detach() gives one that does not."
            )
        if self._node is not None and self._node.__class__ is not RootLeaf:
            raise RuntimeError(
                "'requires_grad' can't be switched off for an argument of the function that is being differentiated."
            )
        self._node = None
        return
    if _requires_grad(self):
        return
    if not jnp.issubdtype(self._value.dtype, jnp.inexact):
        raise RuntimeError(f"Only floating-point and complex Tensors can require a gradient, but this one is {self.dtype}.")
    if STATE.scope is not ROOT:
        raise RuntimeError(
            "'requires_grad' can't be set in a function that ms.grad or the like differentiates; name the Tensor among its "
            "arguments and in grad_position instead."
        )
    self._stopped = False
    self._node, self._oidx = RootLeaf(self), 0


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set `requires_grad`; returns the Tensor itself.

    Args:
        requires_grad (bool): the new value. Default: True.

    Raises:
        RuntimeError: the Tensor holds integers or Bools, or it is not a leaf and `requires_grad` is False.

    Example:
        >>> import msjax as ms
        >>> x = ms.Tensor(3.0).requires_grad_()
        >>> (x * x).backward()
        >>> print(x.grad)
        6.0
    """
    self.requires_grad = requires_grad
    return self


def _is_leaf(self: Tensor) -> bool:
    """True unless the Tensor was computed from Tensors that require a gradient."""
    node = self._node
    return node is None or node.is_leaf or not node.live()


def _grad_fn(self: Tensor) -> Any:
    """The tape's node that computed the Tensor; None for a leaf."""
    return None if _is_leaf(self) else self._node


# ---- gradients


def _grad(self: Tensor) -> Tensor | None:
    """The sum of the gradients that `backward()` computed, a Tensor of the same shape and dtype; None if there is none.

    Only leaves, and Tensors on which `retain_grad()` was called, have one. Set it to None to start again from zero.
    """
    if self._grad is None and not self._retains and not _is_leaf(self):
        warnings.warn("The grad of a Tensor that is no leaf was read; backward() sets it only after retain_grad().", stacklevel=2)
    return self._grad


def _set_grad(self: Tensor, value: Tensor | None):
    if value is not None:
        if not isinstance(value, Tensor):
            raise TypeError(f"'grad' should be a Tensor or None, but got {describe(value)}.")
        if value.shape != self.shape or value._value.dtype != self._value.dtype:
            raise RuntimeError(
                f"'grad' should have the Tensor's shape {self.shape} and dtype {self.dtype}, but got {describe(value)}."
            )
    self._grad = value


def retain_grad(self: Tensor) -> None:
    """Make `backward()` store the gradient of this Tensor in its `grad`, although it is not a leaf.

    The stored gradient is the one after all hooks of the Tensor.

    Raises:
        RuntimeError: the Tensor requires no gradient.

    Example:
        >>> import msjax as ms
        >>> a = ms.Tensor([1.0, 1.0]).requires_grad_()
        >>> b = a * 2
        >>> b.retain_grad()
        >>> b.mean().backward()
        >>> print(a.grad, b.grad)
        [1. 1.] [0.5 0.5]
    """
    if not _requires_grad(self):
        kind = NotImplementedError if STATE.msjax_compiles() else RuntimeError  # the code then runs in PyNative mode
        raise kind("retain_grad() was called on a Tensor that requires no gradient.")
    if self._retains or _is_leaf(self):
        return
    self._retains = True
    ref, node = weakref.ref(self), weakref.ref(self._node)

    def keep(grad):
        tensor = ref()
        if tensor is not None and tensor._node is node():  # not written to since
            add_grad(tensor, grad)

    register_hook_list(self).after.append(keep)


def add_grad(tensor: Tensor, grad: Tensor) -> None:
    """Add `grad` to the `grad` of a Tensor."""
    there = tensor._grad
    if there is None:
        tensor._grad = wrap(grad._value, grad._node, grad._oidx)
    elif grad._node is None and there._node is None:
        there._set_value(add_arrays(there._value, grad._value))
    else:
        tensor._grad = add_gradients(there, grad)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> RemovableHandle:
    """Register ``hook(tensor)``, called after `backward()` has added to the `grad` of this leaf.

    Args:
        hook (callable): the function; its return value is ignored.

    Returns:
        A handle; ``handle.remove()`` takes the hook away.

    Raises:
        TypeError: `hook` is not callable.
        RuntimeError: the Tensor is not a leaf, or requires no gradient.

    Example:
        >>> import msjax as ms
        >>> x = ms.Tensor(3.0).requires_grad_()
        >>> handle = x.register_post_accumulate_grad_hook(lambda tensor: print("grad:", tensor.grad))
        >>> (x * x).backward()
        grad: 6.0
    """
    check_hook(hook, "register_post_accumulate_grad_hook")
    if not self.requires_grad or not _is_leaf(self):
        raise RuntimeError(
            "register_post_accumulate_grad_hook is for leaves that require a gradient; for others, use register_hook."
        )
    if self._post_hooks is None:
        self._post_hooks = HookList()
    return self._post_hooks.add(hook)


class BackwardError(RuntimeError):
    """`backward()` was called inside a function that is being compiled or differentiated."""


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Compute the gradients of this Tensor with respect to all leaves that require one, and add them to the leaves' `grad`.

    The hooks of Tensors, Parameters and cells run in the course of it.

    Args:
        gradient (Tensor, optional): the gradient to start from, of this Tensor's shape. By default 1, which needs a
            Tensor of one element.
        retain_graph (bool): True keeps the graph for another backward. Default: the value of `create_graph`.
        create_graph (bool): True records the backward pass itself, so that gradients can be differentiated. Default: False.
        inputs (Tensor or list, optional): the leaves that get a gradient. By default all.

    Raises:
        RuntimeError: the Tensor requires no gradient; it has several elements and no `gradient` was given; `gradient` has
            another shape; an earlier backward freed the graph; or the call is inside a function that is being compiled, or
            that `ms.grad` or the like differentiates.
        TypeError: `gradient` is not a Tensor.

    Example:
        >>> import msjax as ms
        >>> x = ms.Tensor([1.0, 2.0]).requires_grad_()
        >>> (x * x).backward(ms.Tensor([1.0, 10.0]))
        >>> print(x.grad)
        [ 2. 40.]
    """
    if is_tracer(self._value) or STATE.scope is not ROOT:
        raise BackwardError(
            f"backward() was called in a function that is being {'compiled' if is_tracer(self._value) else 'differentiated'}. There, "
            "gradients are values: use ms.grad, ms.value_and_grad or ms.vjp; or call backward() outside, in PyNative mode."
        )
    node = self._node
    if node is None or node.base is not ROOT:
        raise RuntimeError(
            "backward() was called on a Tensor that requires no gradient: neither it nor anything it was computed from has "
            "requires_grad=True, or it was computed under ms.no_grad() or by a gradient function such as ms.grad."
        )
    if gradient is None:
        if self._value.size != 1:
            raise RuntimeError(
                f"backward() of a Tensor of shape {self.shape}: only a Tensor of one element has a gradient to start from; "
                "give one of this shape, as in y.backward(ops.ones_like(y)), or reduce it first, as in y.sum().backward()."
            )
        gradient = filled_like(self._value, 1)
    elif check_kind(gradient, isinstance(gradient, Tensor), "be a Tensor or None", "gradient", "backward").shape != self.shape:
        raise RuntimeError(f"For 'backward', 'gradient' has shape {gradient.shape}, but the Tensor has shape {self.shape}.")
    elif gradient._value.dtype != self._value.dtype:
        gradient = gradient.astype(self.dtype)
    targets = None if inputs is None else _leaves(inputs)
    keep = create_graph if retain_graph is None else bool(retain_graph)
    start = gradient if create_graph else gradient._value
    run_backward([(node, self._oidx, start)], targets, recorded=bool(create_graph), keep=keep, deliver=_deliver)


def _leaves(inputs) -> set[Node]:
    leaves = set()
    for tensor in [inputs] if isinstance(inputs, Tensor) else list(inputs):
        if not isinstance(tensor, Tensor) or not tensor.requires_grad or not _is_leaf(tensor):
            raise RuntimeError(f"For 'backward', 'inputs' should be leaves that require a gradient, but got {describe(tensor)}.")
        leaves.add(tensor._node)
    if not leaves:
        raise RuntimeError("For 'backward', 'inputs' should not be empty.")
    return leaves


def _deliver(leaf, grad):
    tensor = leaf.tensor
    if tensor is None or not tensor.requires_grad:
        return
    add_grad(tensor, grad if isinstance(grad, Tensor) else wrap(grad))
    if tensor._post_hooks is not None:
        for hook in tensor._post_hooks.gradient:
            hook.fn(tensor)


@attached_to(Tensor)
class GradientMethods:
    """Hooks on gradients, and gradients that `backward` stores."""

    register_hook = register_hook
    hooks = hooks
    remove_hook = remove_hook
    requires_grad: SettableAttribute[bool] = settable(_requires_grad, _set_requires_grad)
    is_leaf: Attribute[bool] = computed(_is_leaf)
    grad_fn: Attribute[Any] = computed(_grad_fn)
    grad: SettableAttribute[Tensor | None] = settable(_grad, _set_grad)
    requires_grad_ = requires_grad_
    retain_grad = retain_grad
    register_post_accumulate_grad_hook = register_post_accumulate_grad_hook
    backward = backward
