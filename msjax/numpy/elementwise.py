"""Elementwise functions under numpy's names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike, BinaryOperator, DTypeLike
from msjax.core.base.checks import check_in_range
from msjax.core.base.typing import JaxArray, Number
from msjax.numpy.lifting import SHORT, as_type, floating, lifted, of_numbers, promoted, short, single, tensor, wide
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import promote, to_float
from msjax.ops.function.math_func.tables import renamed

__all__ = [
    "abs", "absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "cbrt", "ceil", "clip", "copysign", "cos", "cosh", "deg2rad", "divide",
    "divmod", "equal", "exp", "exp2", "expm1", "fabs", "fix", "float_power", "floor", "floor_divide", "fmod", "gcd",
    "greater", "greater_equal", "heaviside", "hypot", "interp", "invert", "isclose", "isfinite", "isinf", "isnan", "isneginf",
    "isposinf", "lcm", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logical_and",
    "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "mod", "multiply", "negative", "not_equal", "positive",
    "power", "rad2deg", "radians", "reciprocal", "remainder", "rint", "sign", "signbit", "sin", "sinh", "sqrt", "square",
    "subtract", "tan", "tanh", "true_divide", "trunc", "unwrap",
]  # fmt: skip


def _jnp1(name, fn):
    return operator(1, name=name)(lambda x: fn(to_float(x)))


def _jnp2(name, fn, *, floats=False):
    return operator(2, name=name, int_grad=True)(of_numbers((lambda x, y: fn(to_float(x), to_float(y))) if floats else fn))


def _whole(name, fn):
    return operator(2, name=name, differentiable=False)(of_numbers(fn))


def _reciprocal(x):
    if x.dtype.kind == "f":
        return ops.reciprocal(x)
    return _whole_reciprocal(as_type(x, mstype.int64) if x.dtype == mstype.bool_ else x)


@operator(1, name="reciprocal")
def _whole_reciprocal(x):
    return jnp.where(x == 0, jnp.asarray(jnp.iinfo(x.dtype).max, x.dtype), jnp.where(jnp.abs(x) == 1, x, 0)).astype(x.dtype)


def _copysign(x, y):
    return jnp.where(jnp.signbit(to_float(x)) == jnp.signbit(to_float(y)), x, -x)


def _heaviside(x, y):
    return jnp.heaviside(to_float(x), to_float(y)).astype(x.dtype)


def _gcd(x, y):
    """By Euclid's way, which takes fractions, too."""

    def step(pair):
        x, y = pair
        return jnp.where(y == 0, x, y), jnp.where(y == 0, y, jnp.remainder(x, jnp.where(y == 0, 1, y)))

    return jax.lax.while_loop(lambda pair: jnp.any(pair[1] != 0), step, (*jnp.broadcast_arrays(jnp.abs(x), jnp.abs(y)),))[0]


def _lcm(x, y):
    divisor = _gcd(x, y)
    return jnp.abs(jnp.where(divisor == 0, 0, x // jnp.where(divisor == 0, 1, divisor) * y))


_BYTES = (mstype.bool_, mstype.int8, mstype.uint8)
# Operands that MindSpore does not name x.
_PARAMETERS = {"arccos": "input", "logical_not": "a", "negative": "a", "positive": "a"}


class _Unary(Protocol):
    def __call__(self, x: ArrayLike, dtype: DTypeLike | None = None) -> Tensor: ...


class _Binary(Protocol):
    def __call__(self, x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> Tensor: ...


_Pair = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def _circular(x):
    """Floats as they are; as in numpy, one-byte integers become Float16, others Float32."""
    x = tensor(x)
    return as_type(x, mstype.float16) if x.dtype in _BYTES else floating(x)


def _unary(name: str, function: Callable[[Tensor], Tensor], convert: Callable[[ArrayLike], Tensor], doc: str) -> _Unary:
    def call(x: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
        return as_type(function(convert(x)), dtype)

    if name in _PARAMETERS:
        call = renamed(call, name, **{_PARAMETERS[name]: "x"})
    return titled(call, name, f"{doc} Elementwise; the result in `dtype`, if that is given.")


def _neither_short(x1, x2):
    """Two Float32, if neither is a Float16 or Float32 (two Float64, too); else of their common type."""
    x1, x2 = tensor(x1), tensor(x2)
    return promoted(x1, x2, tensor if x1.dtype in SHORT or x2.dtype in SHORT else single)


def _of_the_larger(x1, x2):
    """The type of the operand with axes, if the other is a number."""
    return None if (x1.ndim == 0) == (x2.ndim == 0) else x1.dtype if x1.ndim else x2.dtype


def _binary(
    name: str, function: BinaryOperator, doc: str, convert: _Pair = promoted, result: Callable[..., Any] | None = None
) -> _Binary:
    """The function of array-likes: converted by `convert`, and the result in the type that `result` says of the two Tensors."""

    def call(x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
        x1, x2 = tensor(x1), tensor(x2)
        found = function(*convert(x1, x2))
        return as_type(found, dtype if dtype is not None or result is None else result(x1, x2))

    return titled(call, name, f"{doc} Elementwise with broadcasting; the result in `dtype`, if that is given.")


# After the operator: what makes a Tensor of the operand.
abs: _Unary = _unary("abs", ops.abs, tensor, "The absolute value.")
absolute: _Unary = _unary("absolute", ops.abs, tensor, "The absolute value.")
arccos: _Unary = _unary("arccos", ops.acos, _circular, "The inverse of the cosine.")
arccosh: _Unary = _unary("arccosh", ops.acosh, _circular, "The inverse of the hyperbolic cosine.")
arcsin: _Unary = _unary("arcsin", ops.asin, _circular, "The inverse of the sine.")
arcsinh: _Unary = _unary("arcsinh", ops.asinh, _circular, "The inverse of the hyperbolic sine.")
arctan: _Unary = _unary("arctan", ops.atan, _circular, "The inverse of the tangent.")
arctanh: _Unary = _unary("arctanh", ops.atanh, _circular, "The inverse of the hyperbolic tangent.")
bitwise_not: _Unary = _unary("bitwise_not", ops.invert, tensor, "The bits of integers inverted.")
cbrt: _Unary = _unary("cbrt", _jnp1("cbrt", jnp.cbrt), wide, "The cube root.")
ceil: _Unary = _unary("ceil", ops.ceil, single, "The next integer that is not smaller.")
cos: _Unary = _unary("cos", ops.cos, _circular, "The cosine.")
cosh: _Unary = _unary("cosh", ops.cosh, _circular, "The hyperbolic cosine.")
deg2rad: _Unary = _unary("deg2rad", ops.deg2rad, floating, "Degrees in radians.")
exp: _Unary = _unary("exp", ops.exp, floating, "e to the power of x.")
exp2: _Unary = _unary("exp2", lambda x: ops.pow(2, x), tensor, "2 to the power of x.")
expm1: _Unary = _unary("expm1", ops.expm1, floating, "exp(x) - 1, exact near 0.")
fabs: _Unary = _unary("fabs", ops.abs, tensor, "The absolute value.")
floor: _Unary = _unary("floor", ops.floor, floating, "The next integer that is not larger.")
invert: _Unary = _unary("invert", ops.invert, tensor, "The bits of integers inverted.")
isfinite: _Unary = _unary("isfinite", ops.isfinite, tensor, "True where x is neither infinite nor NaN.")
isinf: _Unary = _unary("isinf", ops.isinf, tensor, "True where x is infinite.")
isnan: _Unary = _unary("isnan", ops.isnan, tensor, "True where x is NaN.")
log: _Unary = _unary("log", ops.log, floating, "The natural logarithm.")
log10: _Unary = _unary("log10", ops.log10, floating, "The logarithm to base 10.")
log1p: _Unary = _unary("log1p", ops.log1p, floating, "log(1 + x), exact near 0.")
log2: _Unary = _unary("log2", ops.log2, floating, "The logarithm to base 2.")
logical_not: _Unary = _unary("logical_not", ops.logical_not, tensor, "True where x is 0 or False.")
negative: _Unary = _unary("negative", ops.neg, tensor, "-x.")
positive: _Unary = _unary("positive", ops.positive, tensor, "x itself.")
rad2deg: _Unary = _unary("rad2deg", ops.rad2deg, floating, "Radians in degrees.")
radians: _Unary = _unary("radians", ops.deg2rad, floating, "Degrees in radians.")
reciprocal: _Unary = _unary("reciprocal", _reciprocal, tensor, "1 / x, of integers without what is behind the point.")
rint: _Unary = _unary("rint", ops.round, floating, "The nearest integer, the even one of two.")


def around(a: ArrayLike, decimals: int = 0) -> Tensor:
    """Numbers rounded to a number of decimals, halves to the even neighbour.

    Args:
        a: numbers.
        decimals: the number of decimals, not negative.

    Raises:
        ValueError: `decimals` is negative.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.around(Tensor([1.26, 2.5, -1.5]), 1))
        [ 1.3  2.5 -1.5]
    """
    check_in_range(decimals, "decimals", "around", low=0)
    return ops.round(tensor(a), decimals=decimals)


round = around
sign: _Unary = _unary("sign", ops.sign, floating, "-1, 0 or 1.")
signbit: _Unary = _unary("signbit", _jnp1("signbit", jnp.signbit), floating, "True where the sign is negative.")
sin: _Unary = _unary("sin", ops.sin, _circular, "The sine.")
sinh: _Unary = _unary("sinh", ops.sinh, _circular, "The hyperbolic sine.")
sqrt: _Unary = _unary("sqrt", ops.sqrt, floating, "The square root.")
square: _Unary = _unary("square", ops.square, tensor, "x * x.")
tan: _Unary = _unary("tan", ops.tan, _circular, "The tangent.")
tanh: _Unary = _unary("tanh", ops.tanh, _circular, "The hyperbolic tangent.")
trunc: _Unary = _unary("trunc", ops.trunc, short, "The integer part.")

add: _Binary = _binary("add", ops.add, "x1 + x2.")
arctan2: _Binary = _binary(
    "arctan2", _jnp2("arctan2", jnp.arctan2), "The angle of the point (x2, x1).", functools.partial(promoted, convert=_circular)
)
bitwise_and: _Binary = _binary("bitwise_and", ops.bitwise_and, "The bits that both have.")
bitwise_or: _Binary = _binary("bitwise_or", ops.bitwise_or, "The bits that either has.")
bitwise_xor: _Binary = _binary("bitwise_xor", ops.bitwise_xor, "The bits in which they differ.")
copysign: _Binary = _binary("copysign", _jnp2("copysign", _copysign), "x1 with the sign of x2.", result=lambda x1, _: x1.dtype)
divide: _Binary = _binary("divide", ops.true_divide, "x1 / x2.", _neither_short)
equal: _Binary = _binary("equal", ops.equal, "x1 == x2.")
float_power: _Binary = _binary(
    "float_power", ops.pow, "x1 to the power of x2, as a Float32.", functools.partial(promoted, convert=single)
)
floor_divide: _Binary = _binary("floor_divide", ops.floor_divide, "x1 / x2, rounded towards minus infinity.")
fmod: _Binary = _binary("fmod", _jnp2("fmod", jnp.fmod), "The remainder of division, with the sign of x1.")
gcd: _Binary = _binary("gcd", _whole("gcd", _gcd), "The greatest common divisor, of fractions, too.")
greater: _Binary = _binary("greater", ops.greater, "x1 > x2.")
greater_equal: _Binary = _binary("greater_equal", ops.greater_equal, "x1 >= x2.")
heaviside: _Binary = _binary("heaviside", _jnp2("heaviside", _heaviside), "0 for negative x1, 1 for positive, x2 for 0.")
hypot: _Binary = _binary("hypot", _jnp2("hypot", jnp.hypot, floats=True), "sqrt(x1**2 + x2**2).")
lcm: _Binary = _binary("lcm", _whole("lcm", _lcm), "The lowest common multiple, of fractions, too.")
less: _Binary = _binary("less", ops.less, "x1 < x2.")
less_equal: _Binary = _binary("less_equal", ops.less_equal, "x1 <= x2.")
logaddexp: _Binary = _binary(
    "logaddexp", _jnp2("logaddexp", jnp.logaddexp, floats=True), "log(exp(x1) + exp(x2)), without overflow."
)
logaddexp2: _Binary = _binary(
    "logaddexp2", _jnp2("logaddexp2", jnp.logaddexp2, floats=True), "log2(2**x1 + 2**x2), without overflow."
)
logical_and: _Binary = _binary("logical_and", _jnp2("logical_and", jnp.logical_and), "True where both are.")
logical_or: _Binary = _binary("logical_or", _jnp2("logical_or", jnp.logical_or), "True where either is.")
logical_xor: _Binary = _binary("logical_xor", _jnp2("logical_xor", jnp.logical_xor), "True where one is and the other isn't.")
maximum: _Binary = _binary("maximum", ops.maximum, "The larger of two values.", result=_of_the_larger)
minimum: _Binary = _binary("minimum", ops.minimum, "The smaller of two values.", result=_of_the_larger)
mod: _Binary = _binary("mod", _jnp2("mod", jnp.remainder), "The remainder of floor division, with the sign of x2.")
multiply: _Binary = _binary("multiply", ops.mul, "x1 * x2.")
not_equal: _Binary = _binary("not_equal", ops.not_equal, "x1 != x2.")
power: _Binary = _binary("power", ops.pow, "x1 to the power of x2.")
remainder: _Binary = _binary(
    "remainder", _jnp2("remainder", jnp.remainder), "The remainder of floor division, with the sign of x2."
)
subtract: _Binary = _binary("subtract", ops.sub, "x1 - x2.")
true_divide: _Binary = _binary("true_divide", ops.true_divide, "x1 / x2.", _neither_short)


@lifted(convert=short)
def fix(x: ArrayLike) -> JaxArray:
    """The integer part."""
    return jnp.trunc(x)


def isneginf(x: ArrayLike) -> Tensor:
    """True where x is minus infinity."""
    return ops.isneginf(floating(x))


def isposinf(x: ArrayLike) -> Tensor:
    """True where x is plus infinity."""
    return ops.isposinf(floating(x))


def divmod(x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> tuple[Tensor, Tensor]:
    """(x1 // x2, x1 % x2), elementwise with broadcasting."""
    return floor_divide(x1, x2, dtype), remainder(x1, x2, dtype)


def clip(x: ArrayLike, xmin: ArrayLike | None, xmax: ArrayLike | None, dtype: DTypeLike | None = None) -> Tensor:
    """Values limited to [xmin, xmax]; either may be None.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.clip(Tensor([-2, 0, 5]), -1, 1))
        [-1  0  1]
    """
    if xmin is None and xmax is None:
        raise ValueError("For 'clip', 'xmin' and 'xmax' can't both be None.")
    x = x if xmin is None else maximum(x, xmin, dtype)
    return x if xmax is None else minimum(x, xmax, dtype)


@lifted(2, numbers=("rtol", "atol"), differentiable=False)
def isclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> JaxArray:
    """True where |a - b| <= atol + rtol * |b|."""
    return jnp.isclose(*promote(a, b), rtol, atol, equal_nan)


@lifted(3, numbers=("left", "right"), convert=floating)
def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Number | None = None, right: Number | None = None) -> JaxArray:
    """Values of the function that joins the points (xp, fp) by straight lines.

    Args:
        x (array-like): where.
        xp, fp (array-like): vectors; `xp` ascending.
        left, right (number, optional): the value before the first and after the last point; by default that point's.
    """
    return jnp.interp(x, xp, fp, left, right)


@lifted(numbers=("discont",), convert=wide)
def unwrap(p: ArrayLike, discont: float = 3.141592653589793, axis: int = -1) -> JaxArray:
    """Angles without jumps of more than `discont`, by multiples of two pi."""
    return jnp.unwrap(p, discont, axis)
