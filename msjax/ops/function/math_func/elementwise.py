"""Elementwise operators of two or more operands other than arithmetic and comparison; limits."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import BinaryOperator, TensorLike
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import FLOATS_OF_SPECIAL, alike, as_operand, kind_of, require_same_dtype, spread, to_float
from msjax.ops.function.math_func.tables import binary, with_slopes

__all__ = [
    "atan2", "arctan2", "clamp", "clip", "clip_by_value", "copysign", "fmax", "fmin", "heaviside", "hypot", "ldexp", "lerp",
    "logaddexp", "logaddexp2", "maximum", "minimum", "nextafter",
]  # fmt: skip


_TWO = "Tensor([1.0, 2.0]), Tensor([3.0, 0.5])"
_OF_FMAX = tuple(jnp.dtype(d) for d in (jnp.float16, jnp.float32, jnp.float64, jnp.bfloat16, jnp.int32, jnp.int64))


def _extreme(name, extreme, which, shown):
    def fn(x, y):
        out = extreme(x, y)
        # Where one is NaN, their sum, so that both get the gradient.
        return jnp.where((x != x) | (y != y), x + y, out) if kind_of(out.dtype) == "f" else out

    doc = f"The {which} of two values, elementwise; equal values share the gradient, and both get it where one is NaN."
    return binary(name, fn, doc, (_TWO, shown), int_grad=True)


def _number_of(name, is_first, which, shown):
    def fn(x, y):
        return jnp.where(is_first(x, y) | (y != y), x, y)

    doc = f"The {which} of two values, elementwise, of equal ones the first; where one is NaN, the other."
    example = ("Tensor([1.0, float('nan')]), Tensor([2.0, 3.0])", shown)
    return binary(name, fn, doc, example, int_grad=True, dtypes=_OF_FMAX)


maximum: BinaryOperator = _extreme("maximum", jnp.maximum, "larger", "[3. 2.]")
minimum: BinaryOperator = _extreme("minimum", jnp.minimum, "smaller", "[1.  0.5]")
fmax: BinaryOperator = _number_of("fmax", jnp.greater_equal, "larger", "[2. 3.]")
fmin: BinaryOperator = _number_of("fmin", jnp.less_equal, "smaller", "[1. 3.]")


@jax.custom_jvp
def _atan2(x, y):
    return jnp.arctan2(x, y)


@_atan2.defjvp
def _atan2_jvp(primals, tangents):
    # Of (0, 0) the slopes are 0, in jax NaN. Float16 can't hold the squares.
    out, wide = _atan2(*primals), jnp.promote_types(primals[0].dtype, jnp.float32)
    x, y, dx, dy = (v.astype(wide) for v in (*primals, *tangents))
    square = x * x + y * y
    zero = square == 0
    share = jnp.where(zero, 0, 1 / jnp.where(zero, 1, square)).astype(wide)
    return out, (y * share * dx - x * share * dy).astype(out.dtype)


atan2: BinaryOperator = binary(
    "atan2",
    _atan2,
    "The angle of the point (other, input), in (-pi, pi].",
    ("Tensor([0.0, 1.0]), Tensor([1.0, 0.0])", "[0.        1.5707964]"),
    floats=to_float,
)


# jax's slope is NaN for a number beside an infinity. A lambda, here and below, since programs of msjax's own functions are kept on disk.
_hypot = with_slopes(lambda x, y: jnp.hypot(x, y), lambda x, y, out: x / out, lambda x, y, out: y / out)
hypot: BinaryOperator = binary(
    "hypot",
    _hypot,
    "sqrt(input**2 + other**2), elementwise, computed without overflow.",
    ("Tensor([3.0, 5.0]), Tensor([4.0, 12.0])", "[ 5. 13.]"),
    dtypes=FLOATS_OF_SPECIAL,
)


def _share_of_sum(log_of_base):
    def slope(x, y, out):
        return jax.nn.sigmoid(jnp.asarray(log_of_base, x.dtype) * (x - y))

    return slope, lambda x, y, out: slope(y, x, out)


# By the difference of the operands: jax takes the slope of an operand beside an infinite one from its own value.
_logaddexp = with_slopes(lambda x, y: jnp.logaddexp(x, y), *_share_of_sum(1))
_logaddexp2 = with_slopes(lambda x, y: jnp.logaddexp2(x, y), *_share_of_sum(math.log(2)))
logaddexp: BinaryOperator = binary(
    "logaddexp",
    _logaddexp,
    "log(exp(input) + exp(other)), elementwise, computed without overflow.",
    ("Tensor([0.0, 1000.0]), Tensor([0.0, 0.0])", "[6.931472e-01 1.000000e+03]"),
    only_floats=True,
)
logaddexp2: BinaryOperator = binary(
    "logaddexp2",
    _logaddexp2,
    "log2(2**input + 2**other), elementwise, computed without overflow.",
    ("Tensor([0.0, 1.0]), Tensor([0.0, 1.0])", "[1. 2.]"),
    only_floats=True,
)
nextafter: BinaryOperator = binary(
    "nextafter",
    lambda x, y: jnp.nextafter(jax.lax.stop_gradient(x), y),
    "The float next to `input` in the direction of `other`.",
    ("Tensor(1.0), Tensor(2.0)", "1.0000001"),
    same=True,
    dtypes=FLOATS_OF_SPECIAL,
    differentiable=False,
)


@operator(2)
def copysign(x: TensorLike, other: TensorLike) -> JaxArray:
    """The magnitude of `x` with the sign of `other`, elementwise.

    Example:
        >>> print(ops.copysign(Tensor([1.0, 2.0]), -1.0))
        [-1. -2.]
    """
    x, other = to_float(x), jnp.asarray(other)
    out = jnp.copysign(x, other.astype(x.dtype))
    # The slope is the quotient's sign, and at 0 that is 0.
    return jnp.where(x == 0, jax.lax.stop_gradient(out), out)


@operator(2)
def heaviside(input: Tensor, values: TensorLike) -> JaxArray:
    """0 where `input` is negative, 1 where it is positive and `values` where it is 0.

    Example:
        >>> print(ops.heaviside(Tensor([-1.0, 0.0, 2.0]), Tensor(0.5)))
        [0.  0.5 1. ]
    """
    x, y = require_same_dtype(input, values)
    return jnp.where(x == 0, y, (x > 0).astype(x.dtype))


@operator(2)
def ldexp(x: TensorLike, other: TensorLike) -> JaxArray:
    """x * 2**other, elementwise.

    Example:
        >>> print(ops.ldexp(Tensor([1.0, 2.0]), Tensor([1, 2])))
        [2. 8.]
    """
    power = jnp.power(2.0, to_float(other))
    x, power = alike(x, power, scalar_tensors_yield=True)
    return x * power


@operator(3)
def lerp(input: TensorLike, end: TensorLike, weight: TensorLike) -> JaxArray:
    """input + weight * (end - input), elementwise; `weight` is a number or a Tensor.

    Example:
        >>> print(ops.lerp(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), 0.5))
        [2. 3.]
    """
    x, y = alike(input, end)
    return _between(*spread(x, y, jnp.asarray(weight).astype(x.dtype)))


# From the nearer end, so that it is exact at both, and an infinite one stays what it is.
_between = with_slopes(
    lambda x, y, weight: jnp.where(jnp.abs(weight) < 0.5, x + weight * (y - x), y - (y - x) * (1 - weight)),
    lambda x, y, weight, out: 1 - weight,
    lambda x, y, weight, out: weight,
    lambda x, y, weight, out: y - x,
)


# ---- limits


def _or_nan(beyond, limit):
    """Where a limit takes the place of a value: beyond it, and everywhere if it is NaN."""
    return beyond | (limit != limit) if kind_of(limit.dtype) == "f" else beyond


@operator(3, name="clamp", int_grad=True)
def _clamp(input, min, max):
    x = as_operand(input)
    if kind_of(x.dtype) == "f":
        x = jnp.where(x == x, x, jax.lax.stop_gradient(x))  # no gradient flows to NaN
    if min is not None:
        x, low = alike(x, min)
        x = jnp.where(_or_nan(x < low, low), low, x)
    if max is not None:
        x, high = alike(x, max)
        x = jnp.where(_or_nan(x > high, high), high, x)
    return x


def clamp(input: TensorLike, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """Values limited to [min, max]; at the limits the gradient is 1.

    Args:
        input (Tensor): any shape. A list or tuple of Tensors gives a list or tuple.
        min, max (Tensor, number or None): the limits; None for no limit. Not both None.

    Raises:
        ValueError: both limits are None.

    Example:
        >>> print(ops.clamp(Tensor([-3.0, 0.5, 3.0]), -1.0, 1.0))
        [-1.   0.5  1. ]
    """
    if min is None and max is None:
        raise ValueError("For 'clamp', 'min' and 'max' can't both be None.")
    if isinstance(input, (tuple, list)):
        return type(input)(_clamp(x, min, max) for x in input)
    return _clamp(input, min, max)


def clip_by_value(x: TensorLike, clip_value_min: TensorLike | None = None, clip_value_max: TensorLike | None = None) -> Tensor:
    """Values limited to [clip_value_min, clip_value_max], in the dtype of `x`; see `clamp`.

    Example:
        >>> print(ops.clip_by_value(Tensor([-2.0, 0.5, 2.0]), -1.0, 1.0))
        [-1.   0.5  1. ]
    """
    limited = clamp(x, clip_value_min, clip_value_max)
    return limited.astype(x.dtype) if isinstance(x, Tensor) and limited.dtype is not x.dtype else limited


arctan2 = atan2
clip = clamp
