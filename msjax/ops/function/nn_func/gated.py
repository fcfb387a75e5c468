"""Gated activations: one half of the channels scales the other."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_axis_of, check_int
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import to_float

__all__ = ["glu", "swiglu"]


def _halves(x, axis):
    check_axis_of(x, check_int(axis, "axis"))
    if x.shape[axis] % 2:
        raise ValueError(f"axis {axis} should have an even size to be halved, but the shape is {x.shape}.")
    return jnp.split(x, 2, axis)


@operator(name="GLU")
def glu(x: TensorLike, axis: int = -1) -> JaxArray:
    """The first half along `axis` times the sigmoid of the second half.

    Example:
        >>> print(ops.glu(Tensor([1.0, 2.0, 0.0, 0.0])))
        [0.5 1. ]
    """
    first, second = _halves(to_float(x), axis)
    return first * jax.nn.sigmoid(second)


@operator(name="Swiglu")
def swiglu(input: TensorLike, dim: int = -1) -> JaxArray:
    """The silu of the first half along `dim` times the second half.

    Example:
        >>> print(ops.swiglu(Tensor([0.0, 1.0, 2.0, 2.0])))
        [0.        1.4621172]
    """
    first, second = _halves(to_float(input), dim)
    return jax.nn.silu(first) * second
