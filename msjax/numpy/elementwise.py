"""Elementwise functions under numpy's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import jax.numpy as jnp

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike, BinaryOperator, DTypeLike
from msjax.core.base.checks import check_in_range
from msjax.core.base.typing import JaxArray, Number
from msjax.numpy.dtypes import promote_types
from msjax.numpy.lifting import as_type, floating, lifted, tensor
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
    def kernel(x1, x2):
        x, y = promote(x1, x2)
        return fn(to_float(x), to_float(y)) if floats else fn(x, y)

    return operator(2, name=name, int_grad=True)(kernel)


def _copysign(x1, x2):
    return jnp.copysign(*promote(x1, x2)).astype(x1.dtype)


def _reciprocal(x):
    if x.dtype.kind == "f":
        return ops.reciprocal(x)
    return _whole_reciprocal(as_type(x, mstype.int64) if x.dtype == mstype.bool_ else x)


@operator(1, name="reciprocal")
def _whole_reciprocal(x):
    return jnp.where(x == 0, jnp.iinfo(x.dtype).max, jnp.where(jnp.abs(x) == 1, x, 0)).astype(x.dtype)


def _heaviside(x, y):
    return jnp.heaviside(to_float(x), to_float(y)).astype(x.dtype)


_CIRCULAR = "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh".split()
_BYTES = (mstype.bool_, mstype.int8, mstype.uint8)
# Operands that MindSpore does not name x.
_PARAMETERS = {"arccos": "input", "logical_not": "a", "negative": "a", "positive": "a"}


class _Unary(Protocol):
    def __call__(self, x: ArrayLike, dtype: DTypeLike | None = None) -> Tensor: ...


class _Binary(Protocol):
    def __call__(self, x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> Tensor: ...


def _unary(name: str, function: Callable[[Tensor], Tensor], floats: bool, doc: str) -> _Unary:
    def call(x: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
        x = tensor(x)
        if floats:
            # As in numpy, one-byte integers become Float16.
            x = as_type(x, mstype.float16) if name in _CIRCULAR and x.dtype in _BYTES else floating(x)
        return as_type(function(x), dtype)

    if name in _PARAMETERS:
        call = renamed(call, name, **{_PARAMETERS[name]: "x"})
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{doc} Elementwise; the result in `dtype`, if that is given."
    return call


def _operand(x):
    return x if isinstance(x, (Tensor, bool, int, float, complex)) else tensor(x)


# What takes a number in the dtype of the Tensor beside it.
_IN_PLACE = ("copysign", "maximum", "minimum")


def _beside(x, number):
    """A Tensor in the dtype that it has beside a number, which is an Int32 or a Float32, so that bytes don't wrap around."""
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return x
    return as_type(x, promote_types(x.dtype, mstype.float32 if isinstance(number, float) else mstype.int32))


def _binary(name: str, function: BinaryOperator, doc: str) -> _Binary:
    def call(x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
        x1, x2 = _operand(x1), _operand(x2)
        x1 = tensor(x1) if not isinstance(x2, Tensor) else x1
        if name not in _IN_PLACE:
            x1, x2 = _beside(x1, x2) if isinstance(x1, Tensor) else x1, _beside(x2, x1) if isinstance(x2, Tensor) else x2
        return as_type(function(x1, x2), dtype)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{doc} Elementwise with broadcasting; the result in `dtype`, if that is given."
    return call


def _of_whole_parts(op: BinaryOperator) -> Callable[[Any, Any], Any]:
    def call(x1, x2):
        kinds = [x.dtype for x in (x1, x2) if isinstance(x, Tensor) and x.dtype.kind == "f"]
        whole = [x.astype(mstype.int32) if isinstance(x, Tensor) and x.dtype.kind == "f" else x for x in (x1, x2)]
        found = op(*whole)
        return found.astype(kinds[0]) if kinds else found

    return call


# After the operator: whether integers are first converted to Float32.
abs: _Unary = _unary("abs", ops.abs, False, "The absolute value.")
absolute: _Unary = _unary("absolute", ops.abs, False, "The absolute value.")
arccos: _Unary = _unary("arccos", ops.acos, True, "The inverse of the cosine.")
arccosh: _Unary = _unary("arccosh", ops.acosh, True, "The inverse of the hyperbolic cosine.")
arcsin: _Unary = _unary("arcsin", ops.asin, True, "The inverse of the sine.")
arcsinh: _Unary = _unary("arcsinh", ops.asinh, True, "The inverse of the hyperbolic sine.")
arctan: _Unary = _unary("arctan", ops.atan, True, "The inverse of the tangent.")
arctanh: _Unary = _unary("arctanh", ops.atanh, True, "The inverse of the hyperbolic tangent.")
bitwise_not: _Unary = _unary("bitwise_not", ops.invert, False, "The bits of integers inverted.")
cbrt: _Unary = _unary("cbrt", _jnp1("cbrt", jnp.cbrt), True, "The cube root.")
ceil: _Unary = _unary("ceil", ops.ceil, True, "The next integer that is not smaller.")
cos: _Unary = _unary("cos", ops.cos, True, "The cosine.")
cosh: _Unary = _unary("cosh", ops.cosh, True, "The hyperbolic cosine.")
deg2rad: _Unary = _unary("deg2rad", ops.deg2rad, True, "Degrees in radians.")
exp: _Unary = _unary("exp", ops.exp, True, "e to the power of x.")
exp2: _Unary = _unary("exp2", _jnp1("exp2", jnp.exp2), True, "2 to the power of x.")
expm1: _Unary = _unary("expm1", ops.expm1, True, "exp(x) - 1, exact near 0.")
fabs: _Unary = _unary("fabs", ops.abs, False, "The absolute value.")
floor: _Unary = _unary("floor", ops.floor, True, "The next integer that is not larger.")
invert: _Unary = _unary("invert", ops.invert, False, "The bits of integers inverted.")
isfinite: _Unary = _unary("isfinite", ops.isfinite, False, "True where x is neither infinite nor NaN.")
isinf: _Unary = _unary("isinf", ops.isinf, False, "True where x is infinite.")
isnan: _Unary = _unary("isnan", ops.isnan, False, "True where x is NaN.")
log: _Unary = _unary("log", ops.log, True, "The natural logarithm.")
log10: _Unary = _unary("log10", ops.log10, True, "The logarithm to base 10.")
log1p: _Unary = _unary("log1p", ops.log1p, True, "log(1 + x), exact near 0.")
log2: _Unary = _unary("log2", ops.log2, True, "The logarithm to base 2.")
logical_not: _Unary = _unary("logical_not", ops.logical_not, False, "True where x is 0 or False.")
negative: _Unary = _unary("negative", ops.neg, False, "-x.")
positive: _Unary = _unary("positive", ops.positive, False, "x itself.")
rad2deg: _Unary = _unary("rad2deg", ops.rad2deg, True, "Radians in degrees.")
radians: _Unary = _unary("radians", ops.deg2rad, True, "Degrees in radians.")
reciprocal: _Unary = _unary("reciprocal", _reciprocal, False, "1 / x, of integers without what is behind the point.")
rint: _Unary = _unary("rint", ops.round, True, "The nearest integer, the even one of two.")


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
sign: _Unary = _unary("sign", ops.sign, True, "-1, 0 or 1.")
signbit: _Unary = _unary("signbit", _jnp1("signbit", jnp.signbit), True, "True where the sign is negative.")
sin: _Unary = _unary("sin", ops.sin, True, "The sine.")
sinh: _Unary = _unary("sinh", ops.sinh, True, "The hyperbolic sine.")
sqrt: _Unary = _unary("sqrt", ops.sqrt, True, "The square root.")
square: _Unary = _unary("square", ops.square, False, "x * x.")
tan: _Unary = _unary("tan", ops.tan, True, "The tangent.")
tanh: _Unary = _unary("tanh", ops.tanh, True, "The hyperbolic tangent.")
trunc: _Unary = _unary("trunc", ops.trunc, True, "The integer part.")

add: _Binary = _binary("add", ops.add, "x1 + x2.")
arctan2: _Binary = _binary("arctan2", _jnp2("arctan2", jnp.arctan2, floats=True), "The angle of the point (x2, x1).")
bitwise_and: _Binary = _binary("bitwise_and", ops.bitwise_and, "The bits that both have.")
bitwise_or: _Binary = _binary("bitwise_or", ops.bitwise_or, "The bits that either has.")
bitwise_xor: _Binary = _binary("bitwise_xor", ops.bitwise_xor, "The bits in which they differ.")
copysign: _Binary = _binary("copysign", operator(2, name="copysign", int_grad=True)(_copysign), "x1 with the sign of x2.")
divide: _Binary = _binary("divide", ops.true_divide, "x1 / x2.")
equal: _Binary = _binary("equal", ops.equal, "x1 == x2.")
float_power: _Binary = _binary(
    "float_power", _jnp2("float_power", jnp.power, floats=True), "x1 to the power of x2, as a floating number."
)
floor_divide: _Binary = _binary("floor_divide", ops.floor_divide, "x1 / x2, rounded towards minus infinity.")
fmod: _Binary = _binary("fmod", _jnp2("fmod", jnp.fmod), "The remainder of division, with the sign of x1.")
gcd: _Binary = _binary("gcd", _of_whole_parts(ops.gcd), "The greatest common divisor; of floats, that of their whole parts.")
greater: _Binary = _binary("greater", ops.greater, "x1 > x2.")
greater_equal: _Binary = _binary("greater_equal", ops.greater_equal, "x1 >= x2.")
heaviside: _Binary = _binary("heaviside", _jnp2("heaviside", _heaviside), "0 for negative x1, 1 for positive, x2 for 0.")
hypot: _Binary = _binary("hypot", _jnp2("hypot", jnp.hypot, floats=True), "sqrt(x1**2 + x2**2).")
lcm: _Binary = _binary("lcm", _of_whole_parts(ops.lcm), "The lowest common multiple; of floats, that of their whole parts.")
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
maximum: _Binary = _binary("maximum", ops.maximum, "The larger of two values.")
minimum: _Binary = _binary("minimum", ops.minimum, "The smaller of two values.")
mod: _Binary = _binary("mod", ops.floor_mod, "The remainder of floor division, with the sign of x2.")
multiply: _Binary = _binary("multiply", ops.mul, "x1 * x2.")
not_equal: _Binary = _binary("not_equal", ops.not_equal, "x1 != x2.")
power: _Binary = _binary("power", ops.pow, "x1 to the power of x2.")
remainder: _Binary = _binary("remainder", ops.floor_mod, "The remainder of floor division, with the sign of x2.")
subtract: _Binary = _binary("subtract", ops.sub, "x1 - x2.")
true_divide: _Binary = _binary("true_divide", ops.true_divide, "x1 / x2.")


@lifted(floats=True)
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
    x1, x2 = tensor(x1), _operand(x2)
    return as_type((ops.floor_divide(x1, x2), ops.floor_mod(x1, x2)), dtype)


def clip(x: ArrayLike, xmin: ArrayLike | None, xmax: ArrayLike | None, dtype: DTypeLike | None = None) -> Tensor:
    """Values limited to [xmin, xmax]; either may be None.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.clip(Tensor([-2, 0, 5]), -1, 1))
        [-1  0  1]
    """
    if xmin is None and xmax is None:
        raise ValueError("For 'clip', 'xmin' and 'xmax' can't both be None.")
    return as_type(ops.clamp(tensor(x), xmin, xmax), dtype)


@lifted(2, numbers=("rtol", "atol"), differentiable=False)
def isclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> JaxArray:
    """True where |a - b| <= atol + rtol * |b|."""
    return jnp.isclose(*promote(a, b), rtol, atol, equal_nan)


@lifted(3, numbers=("left", "right"), floats=True)
def interp(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: Number | None = None, right: Number | None = None) -> JaxArray:
    """Values of the function that joins the points (xp, fp) by straight lines.

    Args:
        x (array-like): where.
        xp, fp (array-like): vectors; `xp` ascending.
        left, right (number, optional): the value before the first and after the last point; by default that point's.
    """
    return jnp.interp(x, xp, fp, left, right)


@lifted(numbers=("discont",), floats=True)
def unwrap(p: ArrayLike, discont: float = 3.141592653589793, axis: int = -1) -> JaxArray:
    """Angles without jumps of more than `discont`, by multiples of two pi."""
    return jnp.unwrap(p, discont, axis)
