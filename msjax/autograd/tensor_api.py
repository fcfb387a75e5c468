"""What Tensors can do about gradients: hooks of their own."""

from __future__ import annotations

from msjax.common.node import RootLeaf
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.errors import check_hook, where
from msjax.hooks.handle import RemovableHandle
from msjax.hooks.nodes import through_custom_vjp, under_jax_transform
from msjax.hooks.tensor_hooks import HookList
from msjax.typing import TensorHook


def register_hook(self: Tensor, hook: TensorHook) -> RemovableHandle:
    """Register a function of the gradient with respect to this Tensor.

    The hook is called as ``hook(grad)`` in each backward pass, once, with the summed gradient: a Tensor of this
    Tensor's shape and dtype. None keeps the gradient; a returned Tensor replaces it. Several hooks run in the order
    of registration, each fed by the one before.

    Args:
        hook (callable): the function.

    Returns:
        A handle; ``handle.remove()`` takes the hook away.

    Raises:
        TypeError: `hook` is not callable.
        RuntimeError: the Tensor comes from `ops.stop_gradient`, or is a Parameter that requires no gradient.

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


def register_hook_list(tensor: Tensor) -> HookList:
    """The hooks of a Tensor, which its place on the tape knows, too."""
    hooks = tensor._hooks
    if hooks is None:
        hooks = tensor._hooks = HookList()
        if under_jax_transform([tensor]):
            # jax differentiates: what is computed from the Tensor from now on goes through a node of its own.
            tensor._value = through_custom_vjp([tensor], hooks.run_each)[0]._value
    node = tensor._node
    if node is None:
        return hooks
    if node.__class__ is RootLeaf:
        node.hooks = hooks
    elif not node.is_leaf and node.live():
        if node.hooks is None:
            node.hooks = {}
        # Two Tensors may stand for one output (an alias); hooks of either see its gradient.
        known = node.hooks.setdefault(tensor._oidx, hooks)
        if known is not hooks:
            hooks = tensor._hooks = known
    return hooks


def hooks(self: Tensor) -> list[TensorHook]:
    """The functions registered with `register_hook`, in order."""
    return [] if self._hooks is None else list(self._hooks.hooks.values())


def remove_hook(self: Tensor) -> None:
    """Take away all functions registered with `register_hook`."""
    if self._hooks is not None:
        self._hooks.clear()


for _method in (register_hook, hooks, remove_hook):
    setattr(Tensor, _method.__name__, _method)
