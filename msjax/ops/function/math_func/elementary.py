"""Elementary functions of one operand: powers, exponentials, trigonometry, rounding, signs."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike, UnaryOperator, UnaryOperatorOfX
from msjax.core.base.typing import JaxArray, Number
from msjax.engine.autograd.views import Rule
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import as_operand, is_half, kind_of, need_floats, rounded_once, to_float
from msjax.ops.function.math_func.tables import of_floats, only_of_floats, unary, with_slopes

__all__ = [
    "abs", "absolute", "acos", "acosh", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan",
    "atanh", "ceil", "cos", "cosh", "deg2rad", "exp", "exp2", "expm1", "floor", "frac", "inv", "log", "log10", "log1p", "log2",
    "logit", "nan_to_num", "neg", "negative", "positive", "rad2deg", "reciprocal", "round", "rsqrt", "sgn", "sign", "sin", "sinc",
    "sinh", "sqrt", "square", "tan", "tanh", "tensor_exp", "tensor_expm1", "trunc",
]  # fmt: skip


def _sign(x):
    # Of NaN it is 0, in jax NaN.
    return jnp.where(x != x, 0, jnp.sign(x)).astype(x.dtype) if kind_of(x.dtype) == "f" else jnp.sign(x)


def _sgn(x):
    if kind_of(x.dtype) != "c":
        return _sign(x)
    size = jnp.abs(x)
    return jnp.where(size == 0, 0, x / jnp.where(size == 0, 1, size)).astype(x.dtype)


def _quotient(x):
    return jax.lax.div(jnp.ones_like(x), x) if kind_of(x.dtype) in "iu" else 1 / to_float(x)


# jax takes the slope at 0 as 1.
_real_abs = with_slopes(lambda x: jnp.abs(x), lambda x, out: _sign(x))


def magnitude(x: TensorLike) -> JaxArray:
    """|x| of an array, with the gradient 0 at 0."""
    return jnp.abs(x) if kind_of(x.dtype) in "cbu" else _real_abs(x)


def wide_slope(fn: Callable[[JaxArray], JaxArray], slope: Callable[[JaxArray], JaxArray]) -> Callable[[JaxArray], JaxArray]:
    """An elementwise function of floats that computes in float32 for half precision, where its own steps would be rounded; `slope` gives its
    derivative from its result."""

    @jax.custom_jvp
    def of_half(x):
        return rounded_once(fn, x)

    @of_half.defjvp
    def of_half_jvp(primals, tangents):
        out = of_half(primals[0])
        return out, (slope(out.astype(jnp.float32)) * tangents[0].astype(jnp.float32)).astype(out.dtype)

    return lambda x: of_half(x) if is_half(x) else fn(x)


# Not out * (1 - out), which is 0 of large numbers.
_logistic = with_slopes(jax.nn.sigmoid, lambda x, out: out * _logistic(-x))
# log(1 + exp(x)) of an array of floats, with derivatives that are exact for large numbers, too.
softplus_of: Callable[[JaxArray], JaxArray] = with_slopes(jax.nn.softplus, lambda x, out: _logistic(x))


def _sinc(x):
    x = to_float(x)
    if kind_of(x.dtype) != "f":
        return jnp.sinc(x)
    # Near 0, jax's derivatives are differences of huge numbers.
    near = jnp.abs(x) < jnp.finfo(x.dtype).eps ** 0.25
    square = jnp.square(jnp.pi * jnp.where(near, x, 0))
    return jnp.where(near, 1 - square / 6 + jnp.square(square) / 120, jnp.sinc(jnp.where(near, 1, x)))


@operator(int_grad=True, tensors=True, view=Rule(write=lambda x, value: value, layout=lambda x: x))
def positive(input: TensorLike) -> JaxArray:
    """The same values, in the memory of `input`."""
    return jnp.positive(as_operand(input))


_X = "Tensor([0.0, 1.0])"
_SIGNED = "Tensor([-1.5, 0.0, 2.5])"

neg: UnaryOperator = unary("neg", jnp.negative, "-input.", (_SIGNED, "[ 1.5 -0.  -2.5]"), int_grad=True)
abs: UnaryOperator = unary(
    "abs", magnitude, "The absolute value; its gradient at 0 is 0.", (_SIGNED, "[1.5 0.  2.5]"), int_grad=True
)
square: UnaryOperator = unary("square", jnp.square, "input * input.", (_SIGNED, "[2.25 0.   6.25]"), int_grad=True)
reciprocal: UnaryOperator = of_floats(
    "reciprocal", jnp.reciprocal, "1 / input.", ("Tensor([0.5, 4.0])", "[2.   0.25]"), wide=True
)
inv: UnaryOperatorOfX = unary(
    "inv", _quotient, "1 / x; of integers an integer.", ("Tensor([0.5, 4.0])", "[2.   0.25]"), parameter="x", wide=True
)

exp: UnaryOperator = of_floats("exp", jnp.exp, "e to the power of input.", (_X, "[1.        2.7182817]"))
# jnp.exp2 of whole numbers is no whole number: of 3 in Float16 8.01.
exp2: UnaryOperator = of_floats("exp2", lambda x: jnp.power(2.0, x), "2 to the power of input.", (_X, "[1. 2.]"))
expm1: UnaryOperator = of_floats("expm1", jnp.expm1, "exp(input) - 1, exact near 0.", (_X, "[0.        1.7182817]"))
log: UnaryOperator = of_floats("log", jnp.log, "The natural logarithm.", ("Tensor([1.0, 10.0])", "[0.        2.3025851]"))
log1p: UnaryOperator = of_floats("log1p", jnp.log1p, "log(1 + input), exact near 0.", (_X, "[0.        0.6931472]"))
log2: UnaryOperator = of_floats("log2", jnp.log2, "The logarithm of base 2.", ("Tensor([1.0, 8.0])", "[0. 3.]"))
log10: UnaryOperator = of_floats("log10", jnp.log10, "The logarithm of base 10.", ("Tensor([1.0, 100.0])", "[0. 2.]"))
sqrt: UnaryOperatorOfX = of_floats(
    "sqrt", jnp.sqrt, "The square root; its gradient at 0 is infinite.", ("Tensor([4.0, 9.0])", "[2. 3.]"), parameter="x"
)
rsqrt: UnaryOperator = of_floats("rsqrt", jax.lax.rsqrt, "1 / sqrt(input).", ("Tensor([4.0, 0.25])", "[0.5 2. ]"))

sin: UnaryOperator = of_floats("sin", jnp.sin, "The sine.", (_X, "[0.         0.84147096]"))
cos: UnaryOperator = of_floats("cos", jnp.cos, "The cosine.", (_X, "[1.         0.54030234]"))
tan: UnaryOperator = of_floats("tan", jnp.tan, "The tangent.", (_X, "[0.        1.5574077]"), wide=True)
asin: UnaryOperator = of_floats(
    "asin", jnp.arcsin, "The inverse sine, for input in [-1, 1].", (_X, "[0.        1.5707964]"), wide=True
)
acos: UnaryOperator = of_floats(
    "acos", jnp.arccos, "The inverse cosine, for input in [-1, 1].", (_X, "[1.5707964 0.       ]"), wide=True
)
atan: UnaryOperator = of_floats("atan", jnp.arctan, "The inverse tangent.", (_X, "[0.        0.7853982]"), wide=True)
sinh: UnaryOperator = of_floats("sinh", jnp.sinh, "The hyperbolic sine.", (_X, "[0.        1.1752012]"))
cosh: UnaryOperator = of_floats("cosh", jnp.cosh, "The hyperbolic cosine.", (_X, "[1.        1.5430807]"))
tanh: UnaryOperator = of_floats(
    "tanh", wide_slope(jnp.tanh, lambda y: 1 - y * y), "The hyperbolic tangent.", (_X, "[0.        0.7615942]")
)
asinh: UnaryOperator = of_floats("asinh", jnp.arcsinh, "The inverse hyperbolic sine.", (_X, "[0.         0.8813736]"), wide=True)
acosh: UnaryOperator = of_floats(
    "acosh",
    jnp.arccosh,
    "The inverse hyperbolic cosine, for input >= 1.",
    ("Tensor([1.0, 2.0])", "[0.        1.3169578]"),
    wide=True,
)
atanh: UnaryOperator = of_floats(
    "atanh",
    jnp.arctanh,
    "The inverse hyperbolic tangent, for input in (-1, 1).",
    ("Tensor([0.0, 0.5])", "[0.        0.5493061]"),
    wide=True,
)
sinc: UnaryOperator = unary(
    "sinc", _sinc, "sin(pi * input) / (pi * input); 1 at 0.", ("Tensor([0.0, 0.5])", "[1.        0.6366197]"), wide=True
)
rad2deg: UnaryOperatorOfX = only_of_floats(
    "rad2deg", jnp.rad2deg, "Radians as degrees.", ("Tensor([0.0, 1.0])", "[ 0.       57.295776]"), parameter="x"
)
deg2rad: UnaryOperatorOfX = only_of_floats(
    "deg2rad", jnp.deg2rad, "Degrees as radians.", ("Tensor([0.0, 180.0])", "[0.        3.1415927]"), parameter="x"
)

floor: UnaryOperator = unary("floor", jnp.floor, "The largest whole number not above input.", (_SIGNED, "[-2.  0.  2.]"))
ceil: UnaryOperator = unary("ceil", jnp.ceil, "The smallest whole number not below input.", (_SIGNED, "[-1.  0.  3.]"))
trunc: UnaryOperator = unary("trunc", jnp.trunc, "input rounded towards zero.", (_SIGNED, "[-1.  0.  2.]"))
frac: UnaryOperatorOfX = unary(
    "frac",
    lambda x: x - jax.lax.stop_gradient(jnp.trunc(x)),
    "The part after the decimal point, with the sign of x.",
    (_SIGNED, "[-0.5  0.   0.5]"),
    int_grad=True,
    parameter="x",
)
sign: UnaryOperator = unary(
    "sign", _sign, "-1, 0 or 1, as input is negative, zero (or NaN) or positive.", (_SIGNED, "[-1.  0.  1.]")
)
sgn: UnaryOperator = unary("sgn", _sgn, "The sign; of complex numbers, input / |input|.", (_SIGNED, "[-1.  0.  1.]"))


@operator(tensors=True)
def round(input: TensorLike, *, decimals: int = 0) -> JaxArray:
    """input rounded to a number of decimals, halves to the even digit.

    Args:
        input (Tensor): any shape, of floats or integers.
        decimals (int): digits after the decimal point; negative ones round before it. Default: 0.

    Example:
        >>> print(ops.round(Tensor([0.5, 1.5, -2.6])))
        [ 0.  2. -3.]
    """
    return jnp.round(as_operand(input), decimals)


@operator(numbers=("low", "high"), name="logit", tensors=True)
def _logit(input, low=None, high=None):
    x = need_floats(input)
    if low is not None:
        x = jnp.where(x < low, low, jnp.where(x > high, high, x)).astype(x.dtype)
    # Outside of [0, 1] the slope is NaN as the value is.
    x = x * jnp.where((x < 0) | (x > 1), jnp.asarray(jnp.nan, x.dtype), jnp.ones((), x.dtype))
    return jnp.log(x) - jnp.log1p(-x)


def logit(input: TensorLike, eps: float | None = None) -> Tensor:
    """log(input / (1 - input)), the inverse of sigmoid.

    Args:
        input (Tensor): any shape, of floats.
        eps (float, optional): input is limited to [eps, 1 - eps] first. Default: None, for no limit.

    Example:
        >>> print(ops.logit(Tensor([0.5, 0.75])))
        [0.        1.0986123]
    """
    return _logit(input) if eps is None or eps < 0 else _logit(input, eps, 1 - eps)


@operator(numbers=("nan", "posinf", "neginf"), tensors=True)
def nan_to_num(
    input: TensorLike, nan: Number | None = None, posinf: Number | None = None, neginf: Number | None = None
) -> JaxArray:
    """input with NaN and infinities replaced.

    Args:
        input (Tensor): any shape, of floats.
        nan (number, optional): the value for NaN. Default: None, for 0.
        posinf, neginf (number, optional): the values for the infinities. Default: None, for the largest and smallest number.

    Example:
        >>> print(ops.nan_to_num(Tensor([1.0, float("nan"), float("inf")]), posinf=9.0))
        [1. 0. 9.]
    """
    return jnp.nan_to_num(as_operand(input), nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


# ---- other names of the same functions

absolute = abs
negative = neg
tensor_exp = exp
tensor_expm1 = expm1
arcsin: UnaryOperatorOfX = of_floats(
    "arcsin", jnp.arcsin, "The inverse sine, for x in [-1, 1].", (_X, "[0.        1.5707964]"), parameter="x", wide=True
)
arccos = acos
arctan = atan
arcsinh = asinh
arccosh = acosh
arctanh = atanh
