"""Arithmetic: sums, products, quotients, remainders, powers."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Final

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_kind, check_value
from msjax.core.base.typing import JaxArray, Number
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import alike, as_operand, broadcast, is_number, kind_of, promote, quotient, to_float
from msjax.ops.function.math_func.tables import binary, renamed

__all__ = [
    "accumulate_n", "add", "addcdiv", "addcmul", "addn", "div", "divide", "float_power", "float_power_ext", "floor_div",
    "floor_divide", "floor_mod", "floordiv", "floormod", "fmod", "mul", "multiply", "pow", "pows", "remainder", "sub", "subtract",
    "tensor_add", "tensor_div", "tensor_floordiv", "tensor_mod", "tensor_mul", "tensor_muls", "tensor_pow", "tensor_sub",
    "true_divide", "truncate_div", "truncate_mod",
]  # fmt: skip


@operator(2, name="Add", int_grad=True)
def add(input: TensorLike, other: TensorLike) -> JaxArray:
    """input + other, elementwise with broadcasting.

    Example:
        >>> print(ops.add(Tensor([1.0, 2.0]), 2.0))
        [3. 4.]
    """
    x, y = alike(input, other)
    return x | y if x.dtype == jnp.bool_ else x + y


@operator(2, name="Sub", int_grad=True)
def sub(input: TensorLike, other: TensorLike) -> JaxArray:
    """input - other, elementwise with broadcasting.

    Example:
        >>> print(ops.sub(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        [-2. -2.]
    """
    x, y = alike(input, other)
    if x.dtype == jnp.bool_:
        raise TypeError("two Bools can't be subtracted; use logical_xor.")
    return x - y


@operator(2, name="Sub", int_grad=True)
def sub_method(input: TensorLike, other: TensorLike) -> JaxArray:
    """The operator - of Tensors: input - other; of two Bools where they differ."""
    x, y = alike(input, other)
    return x ^ y if x.dtype == jnp.bool_ else x - y


@operator(2, name="Mul", int_grad=True)
def mul(input: TensorLike, other: TensorLike) -> JaxArray:
    """input * other, elementwise with broadcasting.

    Example:
        >>> print(ops.mul(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        [3. 8.]
    """
    x, y = alike(input, other, scalar_tensors_yield=True)
    return x & y if x.dtype == jnp.bool_ else x * y


def _toward_zero(x, y):
    if kind_of(x.dtype) in "biu":
        x, y = (x.astype(jnp.int32), y.astype(jnp.int32)) if x.dtype == jnp.bool_ else (x, y)
        return _farthest_by_zero(x, y, jax.lax.stop_gradient(jax.lax.div(*jnp.broadcast_arrays(x, y))))
    return jnp.trunc(x / y)


def _downward(x, y):
    # No gradient flows through a step function; jax's own rule for floor_divide is not zero everywhere.
    floor = jax.lax.stop_gradient(jnp.floor_divide(x, y)).astype(x.dtype)
    return _farthest_by_zero(x, y, floor) if kind_of(x.dtype) in "biu" else floor


def _farthest_by_zero(x, y, rounded):
    # MindSpore's quotients by 0 are the numbers of the type farthest from 0, and 0 of 0, as Float64 infinities and NaN become.
    bounds = (False, True) if x.dtype == jnp.bool_ else (jnp.iinfo(x.dtype).min, jnp.iinfo(x.dtype).max)
    least, greatest = (jnp.asarray(bound, x.dtype) for bound in bounds)
    return jnp.where(y == 0, jnp.where(x == 0, x, jnp.where(x > 0, greatest, least)), rounded)


@operator(2, name="Div", int_grad=True)
def true_divide(input: TensorLike, other: TensorLike, *, rounding_mode: str | None = None) -> JaxArray:
    """input / other, elementwise with broadcasting; of integers a Float32.

    Args:
        input, other (Tensor or number): the operands.
        rounding_mode (str, optional): "floor" or "trunc", to round the result, of the operands' dtype then. Default: None.

    Raises:
        ValueError: an unknown `rounding_mode`.

    Example:
        >>> print(ops.true_divide(Tensor([1.0, 2.0]), 2))
        [0.5 1. ]
    """
    if rounding_mode is not None:
        check_value(rounding_mode, rounding_mode in ("floor", "trunc"), "be None, 'floor' or 'trunc'", "rounding_mode")
        return (_downward if rounding_mode == "floor" else _toward_zero)(*promote(input, other, scalar_tensors_yield=True))
    x, y = alike(input, other, scalar_tensors_yield=True)
    if kind_of(x.dtype) in "biu":
        # Don't promote first: the common dtype may not hold the number, as in UInt8 / -1.
        return to_float(as_operand(input)) / to_float(as_operand(other))
    return quotient(x, y)


@operator(2, name="FloorDiv")
def floor_divide(input: TensorLike, other: TensorLike) -> JaxArray:
    """input / other rounded towards minus infinity, elementwise with broadcasting.

    Example:
        >>> print(ops.floor_divide(Tensor([7, -7]), 2))
        [ 3 -4]
    """
    return _downward(*promote(input, other))


@operator(2, name="FloorMod", int_grad=True)
def floor_mod(x: TensorLike, y: TensorLike) -> JaxArray:
    """The remainder of floor division, with the sign of `y`.

    Example:
        >>> print(ops.floor_mod(Tensor([7, -7]), 3))
        [1 2]
    """
    return jnp.remainder(*alike(x, y))


@operator(2, name="Remainder", int_grad=True)
def remainder(input: TensorLike, other: TensorLike) -> JaxArray:
    """The remainder of floor division, with the sign of `other`.

    Example:
        >>> print(ops.remainder(Tensor([7, -7]), 3))
        [1 2]
    """
    x, y = alike(input, other)
    return jnp.remainder(x, y).astype(x.dtype)


@operator(2, name="Fmod", int_grad=True)
def fmod(input: TensorLike, other: TensorLike) -> JaxArray:
    """The remainder of division rounded towards zero, with the sign of `input`.

    Example:
        >>> print(ops.fmod(Tensor([7, -7]), 3))
        [ 1 -1]
    """
    if not is_number(input) and kind_of(input.dtype) == "u":
        other = builtins.abs(other)  # a negative divisor would wrap; its sign does not count
    x, y = alike(input, other, scalar_tensors_yield=True)
    return jnp.fmod(x, y).astype(x.dtype)


@operator(2, name="TruncateMod", int_grad=True)
def truncate_mod(x: TensorLike, y: TensorLike) -> JaxArray:
    """The remainder of division rounded towards zero, with the sign of `x`.

    Example:
        >>> print(ops.truncate_mod(Tensor([7, -7]), 3))
        [ 1 -1]
    """
    return jnp.fmod(*alike(x, y))


@operator(2, name="TruncateDiv", int_grad=True)
def truncate_div(x: TensorLike, y: TensorLike) -> JaxArray:
    """x / y rounded towards zero, elementwise with broadcasting.

    Example:
        >>> print(ops.truncate_div(Tensor([7, -7]), 2))
        [ 3 -3]
    """
    return _toward_zero(*alike(x, y))


@operator(2, name="RealDiv", int_grad=True)
def tensor_div(x: TensorLike, y: TensorLike) -> JaxArray:
    """x / y, elementwise with broadcasting; of integers an integer, rounded towards zero.

    Example:
        >>> print(ops.tensor_div(Tensor([7, -7]), 2))
        [ 3 -3]
    """
    x, y = alike(x, y)
    return quotient(x, y) if kind_of(x.dtype) in "fc" else _toward_zero(x, y)


@operator(2, numbers=("alpha",), name="Sub", int_grad=True)
def _sub_scaled(input, other, alpha=1):
    x, y = alike(input, other)
    return x - jnp.asarray(alpha, y.dtype) * y


def subtract(input: Tensor | Number, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """input - alpha * other, elementwise with broadcasting.

    Args:
        input, other (Tensor or number): the operands.
        alpha (number): a factor of `other`. Default: 1.

    Example:
        >>> print(ops.subtract(Tensor([1.0, 2.0]), 1.0, alpha=2))
        [-1.  0.]
    """
    return sub(input, other) if type(alpha) is int and alpha == 1 else _sub_scaled(input, other, alpha)


@operator(2, name="Pow", int_grad=True)
def _pow(input, exponent):
    x, y = alike(input, exponent)
    if kind_of(x.dtype) == "f":
        return _float_power(x, y)
    return _integer_power(x, as_operand(exponent)) if kind_of(x.dtype) in "iu" else jnp.power(x, y)


def _integer_power(x, y):
    """Powers with a negative exponent rounded towards zero: of 1 and -1 a unit, of others 0."""
    unit = jnp.where(x == 1, 1, 0)
    if kind_of(x.dtype) == "i":
        unit = jnp.where(x == -1, 1 - 2 * (y & 1), unit)
    # Use the exponent from before the promotion: an unsigned dtype has no negative numbers.
    power = jnp.power(x, jnp.maximum(y, 0).astype(x.dtype))
    return jnp.where(y < 0, unit.astype(x.dtype), power)


@operator(1, name="Pow", int_grad=True)
def _pow_constant(input, exponent):
    x, _ = promote(input, exponent)
    return jax.lax.integer_pow(x, exponent)


def pow(input: Tensor | Number, exponent: Tensor | Number) -> Tensor:
    """input to the power of exponent, elementwise with broadcasting.

    Args:
        input, exponent (Tensor or number): the operands.

    Example:
        >>> print(ops.pow(Tensor([1.0, 2.0, 3.0]), 2))
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


_float_power_of_any = binary(
    "float_power",
    _wide_power,
    "input to the power of other, computed in Float64 (Complex128 for complex Tensors).",
    ("Tensor([1, 2, 3]), 2", "[1. 4. 9.]"),
    floats=lambda x: as_operand(x).astype(mstype.to_jax(mstype.float64)),
    int_grad=True,
)
float_power: Final = renamed(_float_power_of_any, "float_power", exponent="other")
float_power_ext = float_power


def _terms(prepare, value, *operands):
    """The operands in their common dtype and of the result's shape, and the factor in this dtype."""
    dtype = jnp.result_type(*(prepare(v).dtype for v in operands))
    arrays = [jnp.asarray(a).astype(dtype) for a in operands]
    # So that the gradients of empty results are zeros, not 0 times an infinity.
    shape = jnp.broadcast_shapes(*(a.shape for a in arrays))
    return *(broadcast(a, shape) for a in arrays), jnp.asarray(value).astype(dtype)


@operator(4, int_grad=True)
def addcmul(input: TensorLike, tensor1: TensorLike, tensor2: TensorLike, value: TensorLike = 1) -> JaxArray:
    """input + value * tensor1 * tensor2, elementwise with broadcasting.

    Example:
        >>> print(ops.addcmul(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([1.0, 2.0]), 0.5))
        [2.5 6. ]
    """
    x, y, z, v = _terms(as_operand, value, input, tensor1, tensor2)
    return x + v * y * z


@operator(4)
def addcdiv(input: TensorLike, tensor1: TensorLike, tensor2: TensorLike, value: TensorLike = 1) -> JaxArray:
    """input + value * tensor1 / tensor2, elementwise with broadcasting.

    Example:
        >>> print(ops.addcdiv(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]), Tensor([1.0, 2.0]), 0.5))
        [2.5 3. ]
    """
    x, y, z, v = _terms(to_float, value, input, tensor1, tensor2)
    return x + quotient(v * y, z)


def addn(x: Sequence[Tensor]) -> Tensor:
    """The sum of Tensors of one shape and dtype, given as a tuple or list.

    Args:
        x (tuple or list of Tensor): the terms.

    Raises:
        TypeError: `x` is not a tuple or list.
        ValueError: it is empty.

    Example:
        >>> print(ops.addn([Tensor([1.0]), Tensor([2.0]), Tensor([3.0])]))
        [6.]
    """
    check_kind(x, isinstance(x, (tuple, list)), "be a tuple or list of Tensors", "the argument", "AddN")
    if not x:
        raise ValueError("For 'AddN', the tuple or list of Tensors should not be empty.")
    return builtins.sum(x[1:], start=x[0])


accumulate_n = addn
div = true_divide
divide = true_divide
true_divide = renamed(true_divide, "true_divide", dividend="input", divisor="other")
multiply = mul
tensor_mul = mul
tensor_muls = mul
tensor_add = add
tensor_sub = sub
floordiv = floor_divide
tensor_floordiv = floor_divide
floor_div: Final = renamed(floor_divide, "floor_div", x="input", y="other")
floormod = floor_mod
tensor_mod = floor_mod
pows = pow
tensor_pow = pow
