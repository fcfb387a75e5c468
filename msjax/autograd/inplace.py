"""Writing to Tensors in place, and what that means for gradients.

Arrays don't change and nodes of the tape don't either: an in-place operation computes a new value
and gives the Tensor that value and its node. What was recorded before keeps the values that it
saw, so its gradient stays right, whatever is written later; there is no version to check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msjax.autograd.imperative import retain_grad
from msjax.common.node import RootLeaf
from msjax.common.parameter import Parameter
from msjax.state import ROOT, STATE

if TYPE_CHECKING:
    from msjax.common.tensor import Tensor


def rebind(tensor: Any, new: Tensor) -> None:
    """Give a Tensor what another one holds, place on the tape included: the end of every in-place operation.

    A Parameter stays the leaf that gradients are asked for; what was written to it is a new start, as in MindSpore.
    So does any Tensor where nothing is recorded.

    Raises:
        ValueError: another shape.
        RuntimeError: the Tensor is a leaf that `backward()` leaves a gradient in, and operators are being recorded.
    """
    if new._value.shape != tensor._value.shape and not tensor._value.shape == ():
        raise ValueError(f"An in-place operation should keep the shape {tensor.shape}, but gave {new.shape}.")
    if isinstance(tensor, Parameter):
        tensor._value = new._value
        return
    if tensor._node.__class__ is RootLeaf:
        if STATE.recording and (STATE.scope is ROOT or new._node is not None):
            raise RuntimeError(_LEAF.format(shape=tensor.shape))
        tensor._value = new._value
        return
    tensor._value = new._value
    if not STATE.recording and tensor._node is not None and tensor._node.live():
        return
    tensor._node, tensor._oidx = new._node, new._oidx
    tensor._hooks = None
    if tensor._retains:
        # It is the gradient of the present value that is kept.
        tensor._retains = False
        if tensor.requires_grad:
            retain_grad(tensor)


_LEAF = """A leaf Tensor (shape {shape}) that requires a gradient was written to in place, and so would be no leaf any more:
its grad would never come. Ways out:
  1. write to what was computed from it: y = x * 1, then y[0] = 0;
  2. where the write is no part of the computation, such as an update step: `with ms.no_grad():` around it;
  3. write first, then set requires_grad."""
