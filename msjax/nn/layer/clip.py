"""Clipping by norm, as a layer."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.common.tensor import Tensor
from msjax.errors import describe
from msjax.nn.cell.base import Cell

__all__ = ["ClipByNorm"]


def _clip(x, clip_norm, axis):
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    square = jnp.sum(jnp.square(wide), axis=axis, keepdims=True)
    # The gradient of the root at zero is infinite: there, nothing is to be clipped.
    norm = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
    return wide * clip_norm / jnp.maximum(norm, clip_norm)


_CLIP = Op("ClipByNorm", _clip)


class ClipByNorm(Cell):
    """Scales what has a larger 2-norm than `clip_norm` down to that.

    Args:
        axis (int or tuple of int, optional): the axes that a norm is of. By default all.

    Inputs:
        - **x** (Tensor) - floats.
        - **clip_norm** (Tensor) - positive, of shape () or (1,), or one that fits the norms.

    Outputs:
        Tensor, of the shape of `x`; floats of 32 bits where `x` has fewer.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> print(nn.ClipByNorm()(ms.Tensor([3.0, 4.0]), ms.Tensor(1.0)))
        [0.6 0.8]
    """

    def __init__(self, axis: int | tuple[int, ...] | None = None):
        super().__init__()
        axis = tuple(axis) if isinstance(axis, list) else axis
        axes = axis if isinstance(axis, tuple) else (axis,)
        if axis is not None and any(isinstance(a, bool) or not isinstance(a, int) for a in axes):
            raise TypeError(f"For 'ClipByNorm', 'axis' should be an int or a tuple of ints, but got {describe(axis)}.")
        self.axis = axis

    def construct(self, x: Tensor, clip_norm: Tensor) -> Tensor:
        if not isinstance(x, Tensor) or not x.is_floating_point():
            raise TypeError(f"For 'ClipByNorm', 'x' should be a Tensor of floats, but got {describe(x)}.")
        return apply(_CLIP, (x, clip_norm), (self.axis,))
