"""saved_tensors_hooks: lets user functions pack the residuals that operators keep for the backward pass.

A recorded operator keeps residuals: operands, results and whatever else its backward needs. While
``STATE.saving`` is set, the operator gives them to that object and gets them back in the backward pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from msjax.common.run_state import ROOT
from msjax.common.tensor import Tensor, wrap
from msjax.core.base.errors import callable_name, check_callable, describe
from msjax.core.door import STATE
from msjax.engine.autograd.op import OpNode

__all__ = ["saved_tensors_hooks"]


class saved_tensors_hooks:
    """Packs the Tensors that operators save for the backward pass, and unpacks them there, with two functions of the user.

    Inside this context, each Tensor that a recorded operator would save is passed to `pack_hook`, and the result is saved
    instead. When the backward pass reaches the operator, `unpack_hook` turns it back into a Tensor. That Tensor may have
    other values; the gradient is computed with them. If contexts are nested, the innermost one is used.

    Args:
        pack_hook (callable): from a Tensor to anything.
        unpack_hook (callable): from what `pack_hook` returned to a Tensor of the same shape and dtype.

    Raises:
        TypeError: a hook is not callable, or (in the backward pass) `unpack_hook` did not return a Tensor.
        ValueError: in the backward pass, `unpack_hook` returned another shape or dtype than was packed.
        NotImplementedError: the program is being compiled.

    Example:
        >>> import msjax as ms
        >>> def f(x, y):
        ...     with ms.saved_tensors_hooks(lambda t: t.asnumpy(), lambda a: ms.Tensor(a * 10)):
        ...         return x * y
        >>> print(ms.grad(f)(ms.Tensor(2.0), ms.Tensor(3.0)))
        30.0
    """

    again = False  # see msjax.engine.autograd.recompute

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]):
        check_callable(pack_hook, "saved_tensors_hooks")
        check_callable(unpack_hook, "saved_tensors_hooks")
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        self._before.append(STATE.swap(saving=self).__enter__())
        return self

    def __exit__(self, *_exception: Any) -> None:
        self._before.pop().__exit__()

    def save(self, node: OpNode, operands: Sequence[Any], values: Sequence[Any]) -> None:
        """Pack the residuals of a node that has just been recorded."""
        spec = node.spec
        if spec is None:
            raise NotImplementedError(
                "saved_tensors_hooks is not offered in a program that is being compiled; there, XLA decides what is kept."
            )
        if not spec.sources:
            return
        kept = spec.collected(node.residuals, node.values, node.out)
        # In nested gradient functions the backward pass is recorded too, and needs the operands for that.
        node.saved = _Packed(self, kept, values if node.needs_operands and node.base is not ROOT else None)
        node.values = node.out = None
        node.residuals = ()


class _Packed:
    """The packed residuals of one node, and its packed operands if its backward may be recorded."""

    __slots__ = ("hooks", "kept", "kept_operands")

    def __init__(self, hooks: saved_tensors_hooks, residuals: Sequence[Any], operands: Sequence[Any] | None):
        self.hooks = hooks
        self.kept = [self._pack(v) for v in residuals]
        self.kept_operands = None if operands is None else [self._pack(v) for v in operands]

    def _pack(self, value):
        if not hasattr(value, "shape"):
            return value, None, None  # a Python number or None
        # Operators inside the user's functions are neither recorded nor packed.
        with STATE.swap(recording=False, saving=None):
            return self.hooks.pack_hook(wrap(value)), value.shape, value.dtype

    def _unpack(self, packed, shape, dtype):
        if shape is None:
            return packed
        # Operators inside the user's functions are neither recorded nor packed.
        with STATE.swap(recording=False, saving=None):
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
        """The unpacked residuals, in the order in which the compiled backward takes them."""
        return [self._unpack(*each) for each in self.kept]

    def operands(self, node):
        """The unpacked operands, for a backward pass that is recorded."""
        if self.kept_operands is None:
            raise RuntimeError(
                f"backward(create_graph=True) reached operator {node.name!r}, whose values saved_tensors_hooks has packed; that "
                "is not offered. Use ms.grad of ms.grad, or no saved_tensors_hooks here."
            )
        return [self._unpack(*each) for each in self.kept_operands]
