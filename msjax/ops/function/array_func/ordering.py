"""Operators that change the order of axes and of elements."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from msjax.common.tensor import Tensor
from msjax.common.typing import Shape, TensorLike
from msjax.core.base.checks import check_axis, check_value
from msjax.core.base.typing import Axes, JaxArray
from msjax.engine.autograd.views import Rule
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func.casting import ints

__all__ = [
    "flip", "fliplr", "flipud", "moveaxis", "movedim", "permute", "reverse", "reverse_sequence", "roll", "rot90", "swapaxes",
    "swapdims", "t", "transpose",
]  # fmt: skip


@operator(
    name="Transpose",
    int_grad=True,
    view=Rule(write=lambda x, value, axes: jnp.transpose(value, np.argsort([a % x.ndim for a in axes])), layout=np.transpose),
)
def _transpose(input, axes):
    return jnp.transpose(input, axes)


def transpose(input: Tensor, dims: Shape | None = None, *, input_perm: Shape | None = None) -> Tensor:
    """The axes in another order.

    Args:
        input (Tensor): of any shape.
        dims (tuple[int]): the old axes in their new order; the older name `input_perm` is taken, too.

    Raises:
        ValueError: `dims` doesn't name each axis once.

    Example:
        >>> ops.transpose(ops.ones((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    dims = input_perm if dims is None else dims
    if dims is None:
        raise TypeError("transpose() misses its argument 'dims'.")
    return _transpose(input, ints(dims))


def permute(input: TensorLike, axis: Sequence[int]) -> Tensor:
    """The axes in the order `axis`, a tuple."""
    return _transpose(input, ints(axis))


def t(input: Tensor) -> Tensor:
    """A matrix transposed; a Tensor of fewer axes as it is.

    Raises:
        ValueError: there are more than two axes.
    """
    check_value(input, input.ndim <= 2, "have at most two axes", "the Tensor", "t")
    return _transpose(input, (1, 0)) if input.ndim == 2 else input


@operator(int_grad=True, view=Rule(write=lambda x, value, *axes: jnp.swapaxes(value, *axes), layout=np.swapaxes))
def swapaxes(input: TensorLike, axis0: int, axis1: int) -> JaxArray:
    """Two axes exchanged."""
    for axis in (axis0, axis1):
        check_axis(axis, input.ndim)
    return jnp.swapaxes(input, axis0, axis1)


def swapdims(input: TensorLike, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged."""
    return swapaxes(input, dim0, dim1)


@operator(int_grad=True, view=Rule(write=lambda x, value, source, to: jnp.moveaxis(value, to, source), layout=np.moveaxis))
def moveaxis(x: TensorLike, source: Axes, destination: Axes) -> JaxArray:
    """Axes moved from the positions `source` (an int or tuple) to `destination`, the others in their order."""
    return jnp.moveaxis(x, source, destination)


movedim = moveaxis


@operator(int_grad=True)
def _flip(input, dims):
    return jnp.flip(input, dims)


def flip(input: TensorLike, dims: Axes) -> Tensor:
    """The order of elements reversed along the axes `dims`, a tuple.

    Example:
        >>> print(ops.flip(Tensor([1, 2, 3]), (0,)))
        [3 2 1]
    """
    return _flip(input, ints(dims))


def reverse(x: TensorLike, axis: Shape) -> Tensor:
    """The order of elements reversed along the axes `axis`, a tuple."""
    return _flip(x, ints(axis))


def fliplr(input: TensorLike) -> Tensor:
    """The order of elements reversed along the second axis."""
    return _flip(input, (1,))


def flipud(input: TensorLike) -> Tensor:
    """The order of elements reversed along the first axis."""
    return _flip(input, (0,))


@operator(int_grad=True)
def rot90(input: TensorLike, k: int, dims: Sequence[int]) -> JaxArray:
    """The plane of the two axes `dims` turned by k times 90 degrees, from the first axis towards the second."""
    check_value(dims, len(dims) == 2, "be two axes", "dims")
    return jnp.rot90(input, k, dims)


@operator(int_grad=True)
def roll(input: Tensor, shifts: Axes, dims: Axes | None = None) -> JaxArray:
    """Elements moved along axes, those that leave at the end coming in at the start.

    Args:
        input (Tensor): of any shape.
        shifts (int or tuple): how far, for each of `dims`.
        dims (int or tuple, optional): the axes; by default the flattened Tensor is rolled.

    Example:
        >>> print(ops.roll(Tensor([1, 2, 3]), 1))
        [3 1 2]
    """
    return jnp.roll(input, shifts, dims)


@operator(2, int_grad=(0,))
def reverse_sequence(x: TensorLike, seq_lengths: TensorLike, seq_dim: int, batch_dim: int = 0) -> JaxArray:
    """The first elements of each sequence in reverse order.

    Args:
        x (Tensor): the sequences.
        seq_lengths (Tensor): of integers, of shape (x.shape[batch_dim],): how many elements to reverse.
        seq_dim, batch_dim (int): the axis along the sequences, and the one that counts them.
    """
    size = x.shape[seq_dim]
    x = jnp.moveaxis(x, (batch_dim, seq_dim), (0, 1))
    at = jnp.arange(size)
    lengths = seq_lengths.astype(at.dtype)[:, None]
    order = jnp.where(at < lengths, lengths - 1 - at, at)
    out = jnp.take_along_axis(x, order.reshape(order.shape + (1,) * (x.ndim - 2)), axis=1)
    return jnp.moveaxis(out, (0, 1), (batch_dim, seq_dim))
