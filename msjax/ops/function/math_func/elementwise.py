"""Elementwise operators of two operands: arithmetic, comparison, limits. The other elementwise topics are joined in here."""

import builtins

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.errors import describe
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import (
    FLOATS_OF_SPECIAL,
    as_operand,
    kind_of,
    need_floats,
    promote,
    require_same_dtype,
    to_float,
)
from msjax.ops.function.math_func import complexes, elementary, logic
from msjax.ops.function.math_func.complexes import *
from msjax.ops.function.math_func.elementary import *
from msjax.ops.function.math_func.logic import *
from msjax.ops.function.math_func.tables import binary, comparison, renamed

__all__ = [
    "accumulate_n", "add", "addcdiv", "addcmul", "addn", "atan2", "arctan2", "clamp", "clip", "clip_by_value", "copysign", "div",
    "divide", "eq", "equal", "float_power", "float_power_ext", "floor_div", "floor_divide", "floor_mod", "floordiv", "floormod",
    "fmax", "fmin", "fmod", "ge", "greater", "greater_equal", "gt", "heaviside", "hypot", "isclose", "approximate_equal", "ldexp",
    "le", "lerp", "less", "less_equal", "logaddexp", "logaddexp2", "lt", "maximum", "minimum", "mul", "multiply", "ne",
    "nextafter", "not_equal", "pow", "pows", "remainder", "sub", "subtract", "tensor_add", "tensor_div", "tensor_floordiv",
    "tensor_ge", "tensor_gt", "tensor_le", "tensor_lt", "tensor_mod", "tensor_mul", "tensor_muls", "tensor_pow", "tensor_sub",
    "true_divide", "truncate_div", "truncate_mod",
]  # fmt: skip
__all__ += complexes.__all__ + elementary.__all__ + logic.__all__

# ---- arithmetic of two operands


@operator(2, name="Add", int_grad=True)
def add(input, other):
    """input + other, elementwise with broadcasting.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.add(ms.Tensor([1.0, 2.0]), 2.0))
        [3. 4.]
    """
    x, y = promote(input, other)
    return x | y if x.dtype == jnp.bool_ else x + y


@operator(2, name="Sub", int_grad=True)
def sub(input, other):
    """input - other, elementwise with broadcasting.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.sub(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])))
        [-2. -2.]
    """
    x, y = promote(input, other)
    if x.dtype == jnp.bool_:
        raise TypeError("two Bools can't be subtracted; use logical_xor.")
    return x - y


@operator(2, name="Sub", int_grad=True)
def sub_method(input, other):
    """The operator - of Tensors: input - other; of two Bools where they differ."""
    x, y = promote(input, other)
    return x ^ y if x.dtype == jnp.bool_ else x - y


@operator(2, name="Mul", int_grad=True)
def mul(input, other):
    """input * other, elementwise with broadcasting.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.mul(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0])))
        [3. 8.]
    """
    x, y = promote(input, other, scalar_tensors_yield=True)
    return x & y if x.dtype == jnp.bool_ else x * y


def _toward_zero(x, y):
    if kind_of(x.dtype) in "biu":
        x, y = (x.astype(jnp.int32), y.astype(jnp.int32)) if x.dtype == jnp.bool_ else (x, y)
        return jax.lax.stop_gradient(jax.lax.div(*jnp.broadcast_arrays(x, y)))
    return jnp.trunc(x / y)


def _downward(x, y):
    # No gradient flows through a step function; jax's own rule for floor_divide is not zero everywhere.
    return jax.lax.stop_gradient(jnp.floor_divide(x, y)).astype(x.dtype)


@operator(2, name="Div", int_grad=True)
def true_divide(input, other, *, rounding_mode=None):
    """input / other, elementwise with broadcasting; of integers a Float32.

    Args:
        input, other (Tensor or number): the operands.
        rounding_mode (str, optional): "floor" or "trunc", to round the result, of the operands' dtype then. Default: None.

    Raises:
        ValueError: another `rounding_mode`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.true_divide(ms.Tensor([1.0, 2.0]), 2))
        [0.5 1. ]
    """
    if rounding_mode is not None:
        if rounding_mode not in ("floor", "trunc"):
            raise ValueError(f"'rounding_mode' should be None, 'floor' or 'trunc', but got {rounding_mode!r}.")
        return (_downward if rounding_mode == "floor" else _toward_zero)(*promote(input, other, scalar_tensors_yield=True))
    x, y = promote(input, other, scalar_tensors_yield=True)
    if kind_of(x.dtype) in "biu":
        # Not by way of their common dtype, which may not hold the number: UInt8 / -1.
        return to_float(as_operand(input)) / to_float(as_operand(other))
    return x / y


@operator(2, name="FloorDiv")
def floor_divide(input, other):
    """input / other rounded towards minus infinity, elementwise with broadcasting.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.floor_divide(ms.Tensor([7, -7]), 2))
        [ 3 -4]
    """
    return _downward(*promote(input, other))


@operator(2, name="FloorMod", int_grad=True)
def floor_mod(x, y):
    """The remainder of floor division, with the sign of `y`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.floor_mod(ms.Tensor([7, -7]), 3))
        [1 2]
    """
    return jnp.remainder(*promote(x, y))


@operator(2, name="Remainder", int_grad=True)
def remainder(input, other):
    """The remainder of floor division, with the sign of `other`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.remainder(ms.Tensor([7, -7]), 3))
        [1 2]
    """
    x, y = promote(input, other)
    return jnp.remainder(x, y).astype(x.dtype)


@operator(2, name="Fmod", int_grad=True)
def fmod(input, other):
    """The remainder of division rounded towards zero, with the sign of `input`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.fmod(ms.Tensor([7, -7]), 3))
        [ 1 -1]
    """
    x, y = promote(input, other, scalar_tensors_yield=True)
    return jnp.fmod(x, y).astype(x.dtype)


@operator(2, name="TruncateMod", int_grad=True)
def truncate_mod(x, y):
    """The remainder of division rounded towards zero, with the sign of `x`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.truncate_mod(ms.Tensor([7, -7]), 3))
        [ 1 -1]
    """
    return jnp.fmod(*promote(x, y))


@operator(2, name="TruncateDiv", int_grad=True)
def truncate_div(x, y):
    """x / y rounded towards zero, elementwise with broadcasting.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.truncate_div(ms.Tensor([7, -7]), 2))
        [ 3 -3]
    """
    return _toward_zero(*promote(x, y))


@operator(2, name="RealDiv", int_grad=True)
def tensor_div(x, y):
    """x / y, elementwise with broadcasting; of integers an integer, rounded towards zero.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.tensor_div(ms.Tensor([7, -7]), 2))
        [ 3 -3]
    """
    x, y = promote(x, y)
    return x / y if kind_of(x.dtype) in "fc" else _toward_zero(x, y)


@operator(2, name="Sub", int_grad=True)
def _sub_scaled(input, other, alpha=1):
    x, y = promote(input, other)
    return x - jnp.asarray(alpha, y.dtype) * y


def subtract(input, other, *, alpha=1):
    """input - alpha * other, elementwise with broadcasting.

    Args:
        input, other (Tensor or number): the operands.
        alpha (number): a factor of `other`. Default: 1.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.subtract(ms.Tensor([1.0, 2.0]), 1.0, alpha=2))
        [-1.  0.]
    """
    return sub(input, other) if type(alpha) is int and alpha == 1 else _sub_scaled(input, other, alpha)


@operator(2, name="Pow", int_grad=True)
def _pow(input, exponent):
    x, y = promote(input, exponent)
    if kind_of(x.dtype) == "f":
        return _float_power(x, y)
    return _integer_power(x, as_operand(exponent)) if kind_of(x.dtype) in "iu" else jnp.power(x, y)


def _integer_power(x, y):
    """Powers with a negative exponent rounded towards zero: of 1 and -1 a unit, of others 0."""
    unit = jnp.where(x == 1, 1, 0)
    if kind_of(x.dtype) == "i":
        unit = jnp.where(x == -1, 1 - 2 * (y & 1), unit)
    # As before the promotion: a negative number is none in an unsigned dtype.
    power = jnp.power(x, jnp.maximum(y, 0).astype(x.dtype))
    return jnp.where(y < 0, unit.astype(x.dtype), power)


@operator(1, name="Pow", int_grad=True)
def _pow_constant(input, exponent):
    x, _ = promote(input, exponent)
    return jax.lax.integer_pow(x, exponent)


def pow(input, exponent):
    """input to the power of exponent, elementwise with broadcasting.

    Args:
        input, exponent (Tensor or number): the operands.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.pow(ms.Tensor([1.0, 2.0, 3.0]), 2))
        [1. 4. 9.]
    """
    if type(exponent) is int and 0 <= exponent <= 64:
        # Compiled for this exponent: exact, and with a gradient that needs no logarithm.
        return _pow_constant(input, exponent)
    return _pow(input, exponent)


@jax.custom_jvp
def _float_power(x, y):
    return jnp.power(x, y)


def _float_power_jvp(primals, tangents):
    # At a base of 0 jax gives NaN by the base for the exponent 0, and a finite slope by a negative exponent. Below 0, the
    # slope by the exponent is NaN; it must not be multiplied by the zero tangent of a constant exponent.
    (x, y), (dx, dy) = primals, tangents
    out, slope = _float_power(x, y), None
    if not isinstance(dx, SymbolicZero):
        slope = jnp.where(y == 0, jnp.zeros_like(out), y * jnp.power(x, jnp.where(y == 0, 1.0, y - 1)).astype(out.dtype)) * dx
    if not isinstance(dy, SymbolicZero):
        by_y = jnp.where((x == 0) & (y >= 0), jnp.zeros_like(out), jnp.log(x) * out) * dy
        slope = by_y if slope is None else slope + by_y
    return out, jnp.zeros_like(out) if slope is None else slope


_float_power.defjvp(_float_power_jvp, symbolic_zeros=True)


def _wide_power(x, y):
    wide = mstype.to_jax(mstype.complex128 if kind_of(x.dtype) == "c" else mstype.float64)
    x, y = x.astype(wide), y.astype(wide)
    return jnp.power(x, y) if kind_of(x.dtype) == "c" else _float_power(x, y)


_OF_FMAX = tuple(jnp.dtype(d) for d in (jnp.float16, jnp.float32, jnp.float64, jnp.bfloat16, jnp.int32, jnp.int64))
_TWO = "ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 0.5])"

maximum = binary(
    "maximum",
    jnp.maximum,
    "The larger of two values, elementwise; equal values share the gradient.",
    (f"ops.maximum({_TWO})", "[3. 2.]"),
    int_grad=True,
)
minimum = binary(
    "minimum",
    jnp.minimum,
    "The smaller of two values, elementwise; equal values share the gradient.",
    (f"ops.minimum({_TWO})", "[1.  0.5]"),
    int_grad=True,
)
fmax = binary(
    "fmax",
    jnp.fmax,
    "The larger of two values, elementwise; where one is NaN, the other.",
    ("ops.fmax(ms.Tensor([1.0, float('nan')]), ms.Tensor([2.0, 3.0]))", "[2. 3.]"),
    int_grad=True,
    dtypes=_OF_FMAX,
)
fmin = binary(
    "fmin",
    jnp.fmin,
    "The smaller of two values, elementwise; where one is NaN, the other.",
    ("ops.fmin(ms.Tensor([1.0, float('nan')]), ms.Tensor([2.0, 3.0]))", "[1. 3.]"),
    int_grad=True,
    dtypes=_OF_FMAX,
)
atan2 = binary(
    "atan2",
    jnp.arctan2,
    "The angle of the point (other, input), in (-pi, pi].",
    ("ops.atan2(ms.Tensor([0.0, 1.0]), ms.Tensor([1.0, 0.0]))", "[0.        1.5707964]"),
    floats=True,
)
hypot = binary(
    "hypot",
    jnp.hypot,
    "sqrt(input**2 + other**2), elementwise, computed without overflow.",
    ("ops.hypot(ms.Tensor([3.0, 5.0]), ms.Tensor([4.0, 12.0]))", "[ 5. 13.]"),
    dtypes=FLOATS_OF_SPECIAL,
)
logaddexp = binary(
    "logaddexp",
    jnp.logaddexp,
    "log(exp(input) + exp(other)), elementwise, computed without overflow.",
    ("ops.logaddexp(ms.Tensor([0.0, 1000.0]), ms.Tensor([0.0, 0.0]))", "[6.931472e-01 1.000000e+03]"),
    only_floats=True,
)
logaddexp2 = binary(
    "logaddexp2",
    jnp.logaddexp2,
    "log2(2**input + 2**other), elementwise, computed without overflow.",
    ("ops.logaddexp2(ms.Tensor([0.0, 1.0]), ms.Tensor([0.0, 1.0]))", "[1. 2.]"),
    only_floats=True,
)
nextafter = binary(
    "nextafter",
    lambda x, y: jnp.nextafter(jax.lax.stop_gradient(x), y),
    "The float next to `input` in the direction of `other`.",
    ("ops.nextafter(ms.Tensor(1.0), ms.Tensor(2.0)) > 1", "True"),
    same=True,
    dtypes=FLOATS_OF_SPECIAL,
    differentiable=False,
)
float_power = binary(
    "float_power",
    _wide_power,
    "input to the power of other, computed in Float64 (Complex128 for complex Tensors).",
    ("ops.float_power(ms.Tensor([1, 2, 3]), 2)", "[1. 4. 9.]"),
    int_grad=True,
)
float_power = float_power_ext = renamed(float_power, "float_power", exponent="other")


@operator(2)
def copysign(x, other):
    """The magnitude of `x` with the sign of `other`, elementwise.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.copysign(ms.Tensor([1.0, 2.0]), -1.0))
        [-1. -2.]
    """
    x, other = to_float(x), jnp.asarray(other)
    out = jnp.copysign(x, other.astype(x.dtype))
    # The slope is the quotient's sign, and at 0 that is 0.
    return jnp.where(x == 0, jax.lax.stop_gradient(out), out)


@operator(2)
def heaviside(input, values):
    """0 where `input` is negative, 1 where it is positive and `values` where it is 0.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.heaviside(ms.Tensor([-1.0, 0.0, 2.0]), ms.Tensor(0.5)))
        [0.  0.5 1. ]
    """
    x, y = require_same_dtype(input, values)
    return jnp.where(x == 0, y, (x > 0).astype(x.dtype))


@operator(2)
def ldexp(x, other):
    """x * 2**other, elementwise.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.ldexp(ms.Tensor([1.0, 2.0]), ms.Tensor([1, 2])))
        [2. 8.]
    """
    x, y = promote(x, other, scalar_tensors_yield=True)
    return to_float(x) * jnp.exp2(to_float(y))


@operator(3)
def lerp(input, end, weight):
    """input + weight * (end - input), elementwise; `weight` is a number or a Tensor.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.lerp(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0]), 0.5))
        [2. 3.]
    """
    x, y = promote(input, end)
    return x + jnp.asarray(weight).astype(x.dtype) * (y - x)


@operator(4, int_grad=True)
def addcmul(input, tensor1, tensor2, value=1):
    """input + value * tensor1 * tensor2, elementwise with broadcasting.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.addcmul(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0]), ms.Tensor([1.0, 2.0]), 0.5))
        [2.5 6. ]
    """
    dtype = jnp.result_type(*(as_operand(v).dtype for v in (input, tensor1, tensor2)))
    x, y, z, v = (jnp.asarray(a).astype(dtype) for a in (input, tensor1, tensor2, value))
    return x + v * y * z


@operator(4)
def addcdiv(input, tensor1, tensor2, value=1):
    """input + value * tensor1 / tensor2, elementwise with broadcasting.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.addcdiv(ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0]), ms.Tensor([1.0, 2.0]), 0.5))
        [2.5 3. ]
    """
    dtype = jnp.result_type(*(to_float(v).dtype for v in (input, tensor1, tensor2)))
    x, y, z, v = (jnp.asarray(a).astype(dtype) for a in (input, tensor1, tensor2, value))
    return x + v * y / z


def addn(x):
    """The sum of Tensors of one shape and dtype, given as a tuple or list.

    Args:
        x (tuple or list of Tensor): the terms.

    Raises:
        TypeError: `x` is no tuple or list.
        ValueError: it is empty.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.addn([ms.Tensor([1.0]), ms.Tensor([2.0]), ms.Tensor([3.0])]))
        [6.]
    """
    if isinstance(x, Tensor) or not isinstance(x, (tuple, list)):
        raise TypeError(f"For 'AddN', the argument should be a tuple or list of Tensors, but got {describe(x)}.")
    if not x:
        raise ValueError("For 'AddN', the tuple or list of Tensors should not be empty.")
    return builtins.sum(x[1:], start=x[0])


accumulate_n = addn


# ---- comparison

equal = comparison("equal", jnp.equal, "input == other, elementwise, as Bool.", (f"ops.equal({_TWO})", "[False False]"))
not_equal = comparison(
    "not_equal", jnp.not_equal, "input != other, elementwise, as Bool.", (f"ops.not_equal({_TWO})", "[ True  True]")
)
greater = comparison("greater", jnp.greater, "input > other, elementwise, as Bool.", (f"ops.greater({_TWO})", "[False  True]"))
greater_equal = comparison(
    "greater_equal", jnp.greater_equal, "input >= other, elementwise, as Bool.", (f"ops.greater_equal({_TWO})", "[False  True]")
)
less = comparison("less", jnp.less, "input < other, elementwise, as Bool.", (f"ops.less({_TWO})", "[ True False]"))
less_equal = comparison(
    "less_equal", jnp.less_equal, "input <= other, elementwise, as Bool.", (f"ops.less_equal({_TWO})", "[ True False]")
)


@operator(2, differentiable=False)
def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """True where |input - other| <= atol + rtol * |other|; of two NaN, `equal_nan`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.isclose(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 2.1])))
        [ True False]
    """
    return jnp.isclose(*require_same_dtype(input, other), rtol=rtol, atol=atol, equal_nan=equal_nan)


@operator(2, differentiable=False)
def approximate_equal(x, y, tolerance=1e-5):
    """True where |x - y| < tolerance, elementwise.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.approximate_equal(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 2.1]), 0.2))
        [ True  True]
    """
    x, y = (need_floats(v) for v in promote(x, y))
    return jnp.abs(x - y) < tolerance


# ---- limits


@operator(3, name="clamp", int_grad=True)
def _clamp(input, min, max):
    x = as_operand(input)
    if min is not None:
        x, low = promote(x, min)
        x = jnp.where(x < low, low, x)
    if max is not None:
        x, high = promote(x, max)
        x = jnp.where(x > high, high, x)
    return x


def clamp(input, min=None, max=None):
    """Values limited to [min, max]; at the limits the gradient is 1.

    Args:
        input (Tensor): any shape. A list or tuple of Tensors gives a list or tuple.
        min, max (Tensor, number or None): the limits; None for no limit. Not both None.

    Raises:
        ValueError: both limits are None.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.clamp(ms.Tensor([-3.0, 0.5, 3.0]), -1.0, 1.0))
        [-1.   0.5  1. ]
    """
    if min is None and max is None:
        raise ValueError("For 'clamp', 'min' and 'max' can't both be None.")
    if isinstance(input, (tuple, list)):
        return type(input)(_clamp(x, min, max) for x in input)
    return _clamp(input, min, max)


def clip(input, min=None, max=None):
    """Values limited to [min, max]; see `clamp`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.clip(ms.Tensor([-2.0, 0.5, 2.0]), -1.0, 1.0))
        [-1.   0.5  1. ]
    """
    return clamp(input, min, max)


def clip_by_value(x, clip_value_min=None, clip_value_max=None):
    """Values limited to [clip_value_min, clip_value_max]; see `clamp`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.clip_by_value(ms.Tensor([-2.0, 0.5, 2.0]), -1.0, 1.0))
        [-1.   0.5  1. ]
    """
    return clamp(x, clip_value_min, clip_value_max)


# ---- other names of the same functions

div = divide = true_divide
true_divide = renamed(true_divide, "true_divide", dividend="input", divisor="other")
multiply = tensor_mul = tensor_muls = mul
tensor_add = add
tensor_sub = sub
floordiv = tensor_floordiv = floor_divide
floor_div = renamed(floor_divide, "floor_div", x="input", y="other")
floormod = tensor_mod = floor_mod
pows = tensor_pow = pow
arctan2 = atan2
eq = equal
ne = not_equal
gt = tensor_gt = greater
ge = tensor_ge = greater_equal
lt = tensor_lt = less
le = tensor_le = less_equal
