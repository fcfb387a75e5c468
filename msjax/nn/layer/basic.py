"""Basic layers: Identity, Flatten, Unflatten, Roll, OneHot, Norm and others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_axis_of, check_bool, check_kind, check_type, check_value, is_int
from msjax.engine.autograd.op import Op, apply
from msjax.nn.cell.base import Cell
from msjax.nn.function_layer import Layer, OfX, of_type
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func import arrange, ordering, selecting
from msjax.ops.function.math_func.elementary import magnitude

__all__ = ["ClipByNorm", "Flatten", "Identity", "L1Regularizer", "Norm", "OneHot", "Roll", "Unflatten"]


class Identity(Cell):
    """Returns its input.

    Args:
        args, kwargs: ignored, so that the layer can replace any other.

    Example:
        >>> print(nn.Identity()(Tensor([1.0, 2.0])))
        [1. 2.]
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__()

    def construct(self, input: Tensor | tuple[Tensor, ...]) -> Tensor | tuple[Tensor, ...]:
        return input


class Flatten(Layer, start_dim=of_type(int), end_dim=of_type(int)):
    """The axes from `start_dim` to `end_dim` as one; by default all but the first.

    Args:
        start_dim (int): the first axis. Default: 1.
        end_dim (int): the last axis. Default: -1.

    Inputs:
        - **x** (Tensor) - of any shape that has these axes.

    Outputs:
        Tensor.

    Raises:
        TypeError: an argument is not an int, or the input is not a Tensor.
        ValueError: the input has too few axes, or `start_dim` comes after `end_dim`.

    Example:
        >>> nn.Flatten()(ops.ones((2, 3, 4), float32)).shape
        (2, 12)
    """

    start_dim: int = 1
    end_dim: int = -1

    def construct(self, x: Tensor) -> Tensor:
        start, end = self.start_dim, self.end_dim
        n = max(check_type(x, Tensor, "x", "Flatten").ndim, 1)
        if not (-n <= start < n and -n <= end < n):
            raise ValueError(f"For 'Flatten', axes {start} to {end} are out of range for an input of shape {x.shape}.")
        if start % n > end % n:
            raise ValueError(f"For 'Flatten', 'start_dim' should not come after 'end_dim', but they are {start} and {end}.")
        return arrange.flatten(x, start_dim=start, end_dim=end)


class Unflatten(Cell):
    """One axis as several; the opposite of `Flatten`.

    Args:
        axis (int): the axis.
        unflattened_size (tuple or list): the sizes that stand for it; one may be -1.

    Inputs:
        - **input_x** (Tensor) - of any shape that has the axis.

    Outputs:
        Tensor.

    Raises:
        TypeError: `axis` is not an int, or `unflattened_size` no tuple or list.
        ValueError: the sizes don't fit.

    Example:
        >>> nn.Unflatten(1, (2, -1))(ops.ones((3, 8), float32)).shape
        (3, 2, 4)
    """

    def __init__(self, axis: int, unflattened_size: Sequence[int]):
        super().__init__()
        self.axis: Any = check_type(axis, int, "axis", "Unflatten")
        self.unflattened_size: tuple[Any, ...] = tuple(
            check_type(unflattened_size, (tuple, list), "unflattened_size", "Unflatten")
        )

    def construct(self, input_x: Tensor) -> Tensor:
        axis = check_axis_of(check_type(input_x, Tensor, "input_x", "Unflatten"), self.axis, "Unflatten")
        shape = input_x.shape
        return arrange.reshape(input_x, shape[:axis] + self.unflattened_size + shape[axis + 1 :])


class Roll(Cell):
    """Elements moved along axes; what leaves at one end comes in at the other.

    Args:
        shift (int, tuple or list): by how many places; negative for towards the front.
        axis (int, tuple or list): along which axes, as many as there are shifts.

    Inputs:
        - **input_x** (Tensor) - of any shape that has the axes.

    Outputs:
        Tensor, of the same shape and dtype.

    Raises:
        TypeError: a wrong type of `shift` or `axis`.
        ValueError: there are not as many axes as shifts.

    Example:
        >>> print(nn.Roll(2, 0)(Tensor([0, 1, 2, 3, 4])))
        [3 4 0 1 2]
    """

    def __init__(self, shift: int | Sequence[int], axis: int | Sequence[int]):
        super().__init__()
        check_type(shift, (int, tuple, list), "shift", "Roll")
        check_type(axis, (int, tuple, list), "axis", "Roll")
        self.shift: tuple[int] | tuple[int, ...] = (shift,) if isinstance(shift, int) else tuple(shift)
        self.axis: tuple[int] | tuple[int, ...] = (axis,) if isinstance(axis, int) else tuple(axis)
        if len(self.shift) != len(self.axis):
            raise ValueError(
                f"For 'Roll', there should be as many axes as shifts, but there are {len(self.shift)} shifts and {len(self.axis)} axes."
            )

    def construct(self, input_x: Tensor) -> Tensor:
        return ordering.roll(input_x, self.shift, self.axis)


class OneHot(Layer, axis=of_type(int), depth=of_type(int)):
    """Numbers as vectors that are `on_value` at that place and `off_value` elsewhere.

    Args:
        axis (int): where the new axis is put; -1, the default, for the end.
        depth (int): the size of the new axis. Default: 1.
        on_value (float): Default: 1.0.
        off_value (float): Default: 0.0.
        dtype (ms.dtype): of the output. Default: ms.float32.

    Inputs:
        - **indices** (Tensor) - integers of any shape; those outside of [0, depth) give `off_value` throughout.

    Outputs:
        Tensor, with one more axis.

    Raises:
        TypeError: `axis` or `depth` is not an int, or the indices are not integers.

    Example:
        >>> print(nn.OneHot(depth=3)(Tensor([0, 2])))
        [[1. 0. 0.]
         [0. 0. 1.]]
    """

    axis: int = -1
    depth: int = 1
    on_value: float = 1.0
    off_value: float = 0.0
    dtype: Type = mstype.float32

    def construct(self, indices: Tensor) -> Tensor:
        fits = isinstance(indices, Tensor) and indices.dtype.kind in "iu"
        check_kind(indices, fits, "be a Tensor of integers", "the indices", "OneHot")
        return selecting.one_hot_of_type(indices, self.on_value, self.off_value, self.depth, self.axis, self.dtype)


@operator(name="Norm")
def _norm(x, axis, keep_dims):
    return jnp.sqrt(jnp.sum(jnp.square(x), None if axis == () else axis, keepdims=keep_dims))


class Norm(OfX, of=_norm, axis=of_type(int, tuple, list), keep_dims=check_bool):
    """The square root of the sum of squares along axes.

    Args:
        axis (int or tuple): the axes; (), the default, for all.
        keep_dims (bool): whether the axes stay, with size 1. Default: False.

    Example:
        >>> print(nn.Norm(axis=0)(Tensor([3.0, 4.0])))
        5.0
    """

    axis: int | tuple[int, ...] = ()
    keep_dims: bool = False
    _in_repr = ("axis", "keep_dims")


@operator(numbers=("scale",), name="L1Regularizer")
def _l1(weights, scale):
    return scale * jnp.sum(magnitude(weights.astype(jnp.promote_types(weights.dtype, jnp.float32))))


class L1Regularizer(Cell):
    """The sum of absolute values, times a scale.

    Args:
        scale (int or float): positive and finite.

    Raises:
        TypeError: `scale` is not a number.
        ValueError: it is not positive or not finite.

    Example:
        >>> print(nn.L1Regularizer(0.5)(Tensor([1.0, -3.0])))
        2.0
    """

    def __init__(self, scale: float):
        super().__init__()
        check_type(scale, (int, float), "scale", "L1Regularizer")
        check_value(scale, scale > 0 and not math.isinf(scale), "be positive and finite", "scale", "L1Regularizer")
        self.scale = scale

    def construct(self, weights: Tensor) -> Tensor:
        return _l1(weights, float(self.scale))


@partial(Op, "ClipByNorm")
def _clip(x, clip_norm, axis):
    wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    square = jnp.sum(jnp.square(wide), axis=axis, keepdims=True)
    # The gradient of the square root is infinite at zero, where nothing needs clipping.
    norm = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)
    return wide * clip_norm / jnp.maximum(norm, clip_norm)


class ClipByNorm(Cell):
    """Scales down a Tensor whose 2-norm exceeds `clip_norm`, to that norm.

    Args:
        axis (int or tuple of int, optional): the axes of each norm. By default all.

    Inputs:
        - **x** (Tensor) - floats.
        - **clip_norm** (Tensor) - positive, of shape () or (1,), or one that fits the norms.

    Outputs:
        Tensor, of the shape of `x`; floats of 32 bits where `x` has fewer.

    Example:
        >>> print(nn.ClipByNorm()(Tensor([3.0, 4.0]), Tensor(1.0)))
        [0.6 0.8]
    """

    def __init__(self, axis: int | tuple[int, ...] | None = None):
        super().__init__()
        axis = tuple(axis) if isinstance(axis, list) else axis
        axes = axis if isinstance(axis, tuple) else (axis,)
        check_kind(axis, axis is None or all(map(is_int, axes)), "be an int or a tuple of ints", "axis", "ClipByNorm")
        self.axis = axis

    def construct(self, x: Tensor, clip_norm: Tensor) -> Tensor:
        check_kind(x, isinstance(x, Tensor) and x.is_floating_point(), "be a Tensor of floats", "x", "ClipByNorm")
        return apply(_clip, (x, clip_norm), (self.axis,))
