"""saved_tensors_hooks: what becomes of the values that operators keep for their backward.

A recorded operator keeps residuals: operands, results, and what else its way back needs. With
``STATE.saving`` set, it hands them over and gets them back when the backward comes to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from msjax.autograd.op import gather
from msjax.common.tensor import Tensor, wrap
from msjax.errors import callable_name, check_callable, describe
from msjax.state import ROOT, swap
from msjax.typing import JaxArray

if TYPE_CHECKING:
    from msjax.autograd.op import OpNode


__all__ = ["saved_tensors_hooks"]


class saved_tensors_hooks:
    """Within it, functions of the user's pack the values that operators keep for their backward, and unpack them there.

    Of the Tensors that a recorded operator would keep, each is handed to `pack_hook`, and what that returns is kept in
    its place. When the backward comes to the operator, `unpack_hook` makes a Tensor of it again: the same one, or one
    of other values, with which the gradient is then computed. In nested contexts the innermost one counts.

    Args:
        pack_hook (callable): from a Tensor to anything.
        unpack_hook (callable): from what `pack_hook` returned to a Tensor of the same shape and dtype.

    Raises:
        TypeError: a hook is not callable, or (in the backward) `unpack_hook` returned no Tensor.
        ValueError: in the backward, `unpack_hook` returned another shape or dtype.
        NotImplementedError: the program is being compiled.

    Example:
        >>> import msjax as ms
        >>> def f(x, y):
        ...     with ms.saved_tensors_hooks(lambda t: t.asnumpy(), lambda a: ms.Tensor(a * 10)):
        ...         return x * y
        >>> print(ms.grad(f)(ms.Tensor(2.0), ms.Tensor(3.0)))
        30.0
    """

    def __init__(self, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]):
        check_callable(pack_hook, "saved_tensors_hooks")
        check_callable(unpack_hook, "saved_tensors_hooks")
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._before = []

    def __enter__(self) -> Self:
        self._before.append(swap(saving=self).__enter__())
        return self

    def __exit__(self, *_exception: Any) -> None:
        self._before.pop().__exit__()

    def save(self, node: OpNode, operands: tuple[Tensor, ...], values: list[JaxArray]) -> None:
        """Take over the values of a node that has just been recorded."""
        residuals = node.residuals
        if residuals is None:
            raise NotImplementedError(
                "saved_tensors_hooks is not offered in a program that is being compiled; there, XLA decides what is kept."
            )
        if not residuals.spec.sources:
            return
        kept = gather(residuals.spec, residuals.leaves, node.values, node.out)
        # In nested gradient functions the backward will be recorded, and then starts from the operands.
        node.saved = _Packed(self, kept, values if node.needs_operands and node.base is not ROOT else None)
        node.values = node.out = None
        node.residuals = residuals.emptied()


class _Packed:
    """The packed residuals of one node, and its packed operands where the backward will be recorded."""

    __slots__ = ("hooks", "kept", "kept_operands")

    def __init__(self, hooks: Any, residuals: Any, operands: Any):
        self.hooks = hooks
        self.kept = [self._pack(v) for v in residuals]
        self.kept_operands = None if operands is None else [self._pack(v) for v in operands]

    def _pack(self, value):
        if not hasattr(value, "shape"):
            return value, None, None  # a Python number or None
        # The user's functions run unrecorded, and what they compute isn't packed.
        with swap(recording=False, saving=None):
            return self.hooks.pack_hook(wrap(value)), value.shape, value.dtype

    def _unpack(self, packed, shape, dtype):
        if shape is None:
            return packed
        # The user's functions run unrecorded, and what they compute isn't packed.
        with swap(recording=False, saving=None):
            tensor = self.hooks.unpack_hook(packed)
        name = callable_name(self.hooks.unpack_hook)
        if not isinstance(tensor, Tensor):
            raise TypeError(f"The unpack hook {name} should return a Tensor, but returned {describe(tensor)}.")
        if tensor.shape != shape or tensor._value.dtype != dtype:
            raise ValueError(
                f"The unpack hook {name} should return a Tensor of shape {shape} and dtype {np.dtype(dtype)}, as it was packed, "
                f"but returned {describe(tensor)}."
            )
        return tensor._value

    def residuals(self, node):
        """The residuals, as the compiled backward takes them."""
        return [self._unpack(*each) for each in self.kept]

    def operands(self, node):
        """The operands' values, where the backward is recorded."""
        if self.kept_operands is None:
            raise RuntimeError(
                f"backward(create_graph=True) reached operator {node.name!r}, whose values saved_tensors_hooks has packed; that "
                "is not offered. Use ms.grad of ms.grad, or no saved_tensors_hooks here."
            )
        return [self._unpack(*each) for each in self.kept_operands]
