"""Operators that change the shape of a Tensor or repeat its elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import jax.numpy as jnp
import numpy as np

from msjax.common.tensor import Tensor
from msjax.common.typing import Shape, TensorLike
from msjax.core.base.checks import check_axis, check_int, check_kind, check_one_of, check_value
from msjax.core.base.typing import Axes, JaxArray
from msjax.engine.autograd.views import Rule
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import broadcast, widened
from msjax.ops.function.array_func.casting import identity, ints

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "expand", "expand_as", "expand_dims", "flatten", "ravel",
    "repeat_elements", "repeat_interleave", "reshape", "squeeze", "tile", "unsqueeze", "view_as",
]  # fmt: skip


# ---- shape


# Of operators that change the shape only.
RESHAPED: Final = Rule(write=lambda x, value, *_: value.reshape(x.shape))


@operator(name="Reshape", int_grad=True, view=RESHAPED)
def reshape(input: Tensor, shape: Shape) -> JaxArray:
    """The same elements in another shape.

    Args:
        input (Tensor): of any shape.
        shape (tuple[int]): the new shape; one size may be -1 and is then inferred.

    Raises:
        ValueError: the shape has another number of elements.

    Example:
        >>> ops.reshape(Tensor([1, 2, 3, 4]), (2, -1)).shape
        (2, 2)
    """
    shape = ints(shape)
    if not all(isinstance(n, (int, np.integer)) for n in shape):
        raise TypeError(f"'shape' should be of ints, but got {shape}.")
    return jnp.reshape(input, shape)


def view_as(input: TensorLike, other: TensorLike) -> Tensor:
    """The elements of `input` in the shape of `other`."""
    check_kind(other, hasattr(other, "dtype") and hasattr(other, "shape"), "be a Tensor", "other", "view_as")
    return reshape(input, other.shape)


def ravel(input: TensorLike) -> Tensor:
    """The elements as one axis; a copy of what doesn't lie in memory in order."""
    return reshape(identity(input) if isinstance(input, Tensor) and not input.is_contiguous() else input, (-1,))


@operator(int_grad=True, view=RESHAPED)
def expand_dims(input_x: TensorLike, axis: int) -> JaxArray:
    """A new axis of size 1 at position `axis`.

    Example:
        >>> ops.expand_dims(Tensor([1.0, 2.0]), -1).shape
        (2, 1)
    """
    check_axis(axis, jnp.ndim(input_x) + 1)
    return jnp.expand_dims(input_x, axis)


def unsqueeze(input: TensorLike, dim: int) -> Tensor:
    """A new axis of size 1 at position `dim`."""
    return expand_dims(input, dim)


@operator(int_grad=True, view=RESHAPED)
def squeeze(input: TensorLike, axis: Axes | None = None) -> JaxArray:
    """Without axes of size 1: all of them, or those named; a named axis of another size stays.

    Args:
        input (Tensor): of any shape.
        axis (int or tuple, optional): the axes.

    Raises:
        ValueError: there is no such axis.
    """
    if axis is None or axis == ():
        return jnp.squeeze(input)
    axes = (axis,) if isinstance(axis, int) else axis
    for a in axes:
        check_axis(a, max(input.ndim, 1), bools=True)
    return jnp.squeeze(input, tuple({a % input.ndim for a in axes if input.shape[a] == 1}) if input.ndim else None)


@operator(int_grad=True, view=Rule(write=RESHAPED.write, holds=lambda x, order, *_: order == "C"))
def flatten(input: TensorLike, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> JaxArray:
    """The axes from `start_dim` to `end_dim` as one.

    Args:
        input (Tensor): of any shape; a 0-d Tensor becomes one of one element.
        order (str): "C", rows first, or "F", columns first.
        start_dim, end_dim (int): the first and last axis to join. Default: 1 and -1.

    Raises:
        ValueError: `order` has an unknown value, or `start_dim` comes after `end_dim`.
        TypeError: `start_dim` or `end_dim` is not an int.
    """
    for name, dim in (("start_dim", start_dim), ("end_dim", end_dim)):
        check_int(dim, name)
    check_one_of(order, ("C", "F"), "order")
    if order == "F":
        input = jnp.transpose(input)
    shape = input.shape or (1,)
    rank = len(shape)
    if not input.ndim or (rank == 1 and start_dim in (0, 1, -1) and end_dim in (0, -1)):
        return jnp.reshape(input, shape)
    if not (-rank <= start_dim < rank and -rank <= end_dim < rank):
        raise ValueError(f"'start_dim' and 'end_dim' should be axes of a Tensor of rank {rank}, but got {start_dim}, {end_dim}.")
    start, end = start_dim % rank, end_dim % rank
    if start > end:
        raise ValueError(f"'start_dim' ({start_dim}) should not come after 'end_dim' ({end_dim}).")
    return jnp.reshape(input, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


def _atleast(name, fn, doc):
    kernel = operator(name=name, int_grad=True, view=RESHAPED)(lambda inputs: fn(inputs))

    def function(inputs):
        return tuple(kernel(x) for x in inputs) if isinstance(inputs, (tuple, list)) else kernel(inputs)

    return titled(function, name, doc)


atleast_1d: Final = _atleast("atleast_1d", jnp.atleast_1d, "A Tensor, or each of several, with at least one axis.")
atleast_2d: Final = _atleast(
    "atleast_2d", jnp.atleast_2d, "A Tensor, or each of several, with at least two axes; new ones in front."
)
atleast_3d: Final = _atleast(
    "atleast_3d",
    jnp.atleast_3d,
    "A Tensor, or each of several, with at least three axes: (n,) becomes (1, n, 1), and (m, n) becomes (m, n, 1).",
)

# ---- repetition


def _filled_in(shape, x):
    """The shape to repeat an array to, with the array's own sizes in place of -1."""
    shape = ints(shape)
    missing = len(shape) - x.ndim
    return tuple(x.shape[i - missing] if s == -1 and i >= missing else s for i, s in enumerate(shape))


@operator(name="BroadcastTo", int_grad=True, view=Rule(layout=lambda x, s: np.broadcast_to(x, _filled_in(s, x)), repeats=True))
def broadcast_to(input: TensorLike, shape: Sequence[int]) -> JaxArray:
    """The Tensor repeated to a larger shape.

    Args:
        input (Tensor): its axes are those of `shape` or of size 1; missing ones are added in front.
        shape (tuple[int]): the result's shape; -1 keeps the size of an axis.

    Raises:
        ValueError: the shapes don't fit.

    Example:
        >>> print(ops.broadcast_to(Tensor([1.0, 2.0]), (2, 2)))
        [[1. 2.]
         [1. 2.]]
    """
    if len(wanted := _filled_in(shape, input)) < input.ndim:
        raise ValueError(f"'shape' {ints(shape)} should have at least as many axes as the Tensor, whose shape is {input.shape}.")
    return broadcast(input, wanted)


def expand(input_x: TensorLike, size: int | Sequence[int]) -> Tensor:
    """The Tensor repeated to a larger shape; -1 keeps the size of an axis."""
    return broadcast_to(input_x, size)


def expand_as(input: TensorLike, other: TensorLike) -> Tensor:
    """The Tensor repeated to the shape of `other`."""
    return broadcast_to(input, other.shape)


@operator(int_grad=True)
def _tile(input, dims):
    return jnp.tile(widened(input), dims).astype(input.dtype)


def tile(input: Tensor, dims: Sequence[int]) -> Tensor:
    """The Tensor repeated `dims` times along its axes.

    Args:
        input (Tensor): of any shape.
        dims (tuple[int]): one count for each axis. Fewer counts apply to the last axes; more counts add axes in front.

    Example:
        >>> print(ops.tile(Tensor([1, 2]), (2,)))
        [1 2 1 2]
    """
    dims = ints(dims)
    check_kind(dims, all(isinstance(n, int) for n in dims), "be of ints", "dims", "tile")
    check_value(dims, all(n >= 0 for n in dims), "not be negative", "dims", "tile")
    return _tile(input, dims)


@operator(name="repeat", int_grad=True)
def repeat_interleave(input: TensorLike, repeats: int | Sequence[int] | Tensor, axis: int | None = None) -> JaxArray:
    """Each element, or each slice along an axis, repeated where it stands.

    Args:
        input (Tensor): of any shape.
        repeats (int, tuple, list or Tensor): how often; one count for all, or one for each element along the axis.
        axis (int, optional): the axis; by default the Tensor is flattened first.

    Example:
        >>> print(ops.repeat_interleave(Tensor([1, 2]), Tensor([1, 2])))
        [1 2 2]
    """
    if axis is None:
        input, axis = jnp.ravel(input), 0
    size = input.shape[axis]
    counts = np.broadcast_to(np.array(repeats), (size,))
    # Compute the positions on the host: the number of results has to be known when the program is compiled.
    return jnp.take(widened(input), np.repeat(np.arange(size), counts), axis).astype(input.dtype)


def repeat_elements(x: TensorLike, rep: int, axis: int = 0) -> Tensor:
    """Each slice along `axis` repeated `rep` times where it stands."""
    check_int(rep, "rep", "repeat_elements")
    return repeat_interleave(x, rep, axis)


def shape_of(args: tuple[Any, ...]) -> Any:
    """The shape in arguments given one by one, or as one tuple or list."""
    return args[0] if len(args) == 1 and isinstance(args[0], (tuple, list, Tensor)) else args
