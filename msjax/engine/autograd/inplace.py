"""Writing to Tensors in place, and what that means for gradients.

Arrays and tape nodes are immutable: an in-place operation computes a new value and gives the Tensor
that value and its node. Nodes recorded earlier keep the values that they saw, so their gradients
stay right whatever is written later, and Tensors need no version counter.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.node import Leaf, RootLeaf
from msjax.common.parameter import Parameter
from msjax.common.run_state import ROOT, STATE
from msjax.common.tensor import Tensor, wrap
from msjax.core.base.arrays import is_float, is_tracer
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.imperative import retain_grad


def rebind(tensor: Tensor, new: Tensor) -> None:
    """Give a Tensor the value and the tape node of another one; the last step of every in-place operation.

    A Parameter stays a leaf: no gradient flows through what is written to it, as in MindSpore. The same holds for any
    Tensor while recording is off.

    Raises:
        ValueError: the new value has another shape.
        RuntimeError: the Tensor is a leaf with `requires_grad`, and operators are being recorded.
    """
    original = tensor.__dict__.get("_stands_for")
    if original is not None:
        # The input of a cell with backward hooks: what construct writes to it, the caller's Tensor shows.
        rebind(original, new)
    if new._value.shape != tensor._value.shape and not tensor._value.shape == ():
        raise ValueError(f"An in-place operation should keep the shape {tensor.shape}, but gave {new.shape}.")
    if isinstance(tensor, Parameter):
        tensor._set_value(at_the_place_of(tensor._value, new._value) if STATE.differentiated_by_jax() else new._value)
        return
    if tensor._node.__class__ is RootLeaf:
        if STATE.recording and (STATE.scope is ROOT or new._node is not None):
            raise RuntimeError(_LEAF.format(shape=tensor.shape))
        tensor._set_value(new._value)
        return
    own = tensor.__dict__
    if "_view" in own:
        own["_view"].write(tensor, new)
        return
    if not STATE.recording and tensor._node is not None and tensor._node.live():
        tensor._set_value(new._value)
        return
    tensor._value = at_the_place_of(tensor._value, new._value) if STATE.stops_jax() else new._value
    STATE.wrote(tensor)
    if "_views" in own:
        own["_views"].changed(recorded=True)
    leave_hooks(own, tensor._node)
    tensor._node, tensor._oidx = new._node, new._oidx
    if tensor._retains:
        # `grad` should hold the new value's gradient.
        tensor._retains = False
        if tensor.requires_grad:
            retain_grad(tensor)


def leave_hooks(own: dict[str, Any], node: Any) -> None:
    """Leave the hooks of a Tensor of these attributes, which is written to, with the node that it had, whose gradient they get."""
    hooks = own.get("_hooks")
    if isinstance(node, Leaf) and not node.earlier:
        node.earlier = (hooks,)
    if hooks is not None:
        # A program that has written this calls the observers afterwards, and refers weakly to their list.
        own["_hooks_of_earlier"], own["_hooks"] = hooks, None


@jax.custom_jvp
def _new_value(old, new):
    return new


_new_value.defjvp(lambda values, tangents: (values[1], tangents[0]))


def at_the_place_of(old: JaxArray, new: JaxArray) -> JaxArray:
    """A new value that jax differentiates as the old one: what is written without being recorded leaves the gradient as it is."""
    if not (is_tracer(old) or is_tracer(new)) or not jnp.issubdtype(new.dtype, jnp.inexact):
        return new
    return _new_value(old, new) if (old.shape, old.dtype) == (new.shape, new.dtype) else jax.lax.stop_gradient(new)


# Held while a Tensor gets a value that was computed from its own, and while its list of views changes.
WRITING = threading.RLock()


def update(tensor: Tensor, computed: Callable[[], Tensor]) -> None:
    """`rebind` to what a function computes of a Tensor, which is no view; again where another thread has written to it meanwhile.

    So threads may write to different parts of a Tensor.
    """
    while True:
        seen = tensor._value
        new = computed()
        with WRITING:
            if tensor._value is seen:
                return rebind(tensor, new)


def written(tensor: Tensor, new: Tensor) -> Tensor:
    """`rebind`, and what an operator that writes returns: the Tensor; of a Parameter, where gradients are recorded, a Tensor that shows how it was computed.

    The Parameter stays a leaf, so that what reads it later has no gradient of what was written. What is written to the result, the Parameter
    shows.
    """
    rebind(tensor, new)
    node, value = new._node, new._value
    by_jax = is_tracer(value) and is_float(value) and STATE.differentiated_by_jax() and not STATE.stops_jax()
    if not isinstance(tensor, Parameter) or not (by_jax or (node is not None and node.live())):
        return tensor
    result = wrap(value, node, new._oidx)
    result._stands_for = tensor
    return result


def replace(tensor: Tensor, new: Tensor) -> None:
    """Give a Tensor the value and the tape node of another one, of any shape and type; one of another shape or type is memory of its own."""
    own = tensor.__dict__
    if "_view" in own and new._value.shape == tensor._value.shape and new._value.dtype == tensor._value.dtype:
        return own["_view"].write(tensor, new)
    tensor._replace(new._value)
    if isinstance(tensor, Parameter):
        return
    tensor._node, tensor._oidx = new._node, new._oidx
    if "_views" in own:
        own["_views"].changed(recorded=True)


_LEAF = """A leaf Tensor (shape {shape}) that requires a gradient was written to in place. It would no longer be a leaf, and
backward() would never set its grad. Ways out:
  1. write to what was computed from it: y = x * 1, then y[0] = 0;
  2. if the write is not part of the computation, such as an update step, put it into `with ms.no_grad():`;
  3. write first, then set requires_grad."""
