"""Hooks of Tensors: Tensor.register_hook, hooks and remove_hook."""

from __future__ import annotations

from msjax.common.bases import attached_to
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, used
from msjax.common.tensor_hooks import HookList, LateHookError, attach_hooks, differentiates
from msjax.common.tensor_values import TENSORS
from msjax.common.typing import TensorHook
from msjax.core.base.arrays import is_tracer
from msjax.core.base.errors import check_hook, where
from msjax.core.door import RemovableHandle


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
        hooks = tensor._hooks = HookList(None if is_tracer(tensor._value) else tensor) if given is None else given
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
        self._hooks.clear()


@attached_to(Tensor)
class HookMethods:
    """Methods of hooks on gradients."""

    register_hook = register_hook
    hooks = hooks
    remove_hook = remove_hook
