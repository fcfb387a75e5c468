"""Comparisons, logical and bitwise operators, and tests such as isnan."""

from __future__ import annotations

import functools
from typing import Final

import jax
import jax.numpy as jnp

from msjax.common.typing import BinaryOperator, TensorLike, UnaryOperator, UnaryOperatorOfX
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import is_number, kind_of, need_floats, number_kind, promote, require_same_dtype
from msjax.ops.function.math_func.tables import binary, comparison, named, unary

__all__ = [
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "gcd", "invert",
    "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "lcm", "logical_and", "logical_not", "logical_or",
    "logical_xor", "population_count", "signbit", "eq", "equal", "ge", "greater", "greater_equal", "gt", "isclose",
    "approximate_equal", "le", "less", "less_equal", "lt", "ne", "not_equal", "tensor_ge", "tensor_gt", "tensor_le",
    "tensor_lt",
]  # fmt: skip

# Their values are steps, without a gradient.
_step = functools.partial(unary, differentiable=False)
_BOOLS = "Tensor([True, True, False]), Tensor([True, False, False])"
_ODD = "Tensor([1.0, float('nan'), float('-inf')])"


def _of_truths(name, fn, what, printed) -> BinaryOperator:
    """An operator of the truth values of Tensors; of numbers it takes True and False."""

    def kernel(input, other):
        for value in (input, other):
            if value is None or (is_number(value) and number_kind(value) != "b"):
                raise TypeError(f"'{name}' takes Tensors and bools, but got None or another number.")
        return fn(jnp.asarray(input) != 0, jnp.asarray(other) != 0)

    doc = f"{what}, elementwise, as Bool; numbers count as true unless 0."
    return operator(2, differentiable=False)(named(kernel, name, doc, (_BOOLS, printed)))


logical_and: Final = _of_truths("logical_and", jnp.logical_and, "input and other", "[ True False False]")
logical_or: Final = _of_truths("logical_or", jnp.logical_or, "input or other", "[ True  True False]")
logical_xor: Final = _of_truths("logical_xor", jnp.logical_xor, "input or other, but not both", "[False  True False]")
logical_not: UnaryOperator = _step(
    "logical_not", jnp.logical_not, "not input, elementwise, as Bool.", ("Tensor([True, False])", "[False  True]")
)


def _integers(name, fn, doc, printed, given="Tensor([5, 6]), Tensor([3, 3])"):
    """An operator of two Tensors of integers, or Bools."""

    def checked(x, y):
        if kind_of(x.dtype) not in "biu":
            raise TypeError(f"'{name}' takes integers or Bools, but got {x.dtype} and {y.dtype} after promotion.")
        return fn(x, y)

    return binary(name, checked, doc, (given, printed), differentiable=False)


def _of_sizes(fn):
    """The function of absolute values, unsigned: jax's loop doesn't end at the least integer, which has no positive of its type."""

    def call(x, y):
        if kind_of(x.dtype) != "i":
            return fn(x, y)
        return fn(*(jnp.abs(v).astype(f"u{x.dtype}") for v in (x, y))).astype(x.dtype)

    return call


bitwise_and: BinaryOperator = _integers("bitwise_and", jnp.bitwise_and, "The bits that are set in both.", "[1 2]")
bitwise_or: BinaryOperator = _integers("bitwise_or", jnp.bitwise_or, "The bits that are set in either.", "[7 7]")
bitwise_xor: BinaryOperator = _integers("bitwise_xor", jnp.bitwise_xor, "The bits that are set in exactly one.", "[6 5]")
bitwise_left_shift: BinaryOperator = _integers(
    "bitwise_left_shift", jnp.left_shift, "input's bits moved left by `other` places.", "[40 48]"
)
bitwise_right_shift: BinaryOperator = _integers(
    "bitwise_right_shift", jnp.right_shift, "input's bits moved right by `other` places; the sign stays.", "[0 0]"
)
gcd: BinaryOperator = _integers(
    "gcd", _of_sizes(jnp.gcd), "The greatest common divisor.", "[4 3]", "Tensor([12, 9]), Tensor([8, 6])"
)
lcm: BinaryOperator = _integers(
    "lcm", _of_sizes(jnp.lcm), "The least common multiple.", "[12 15]", "Tensor([4, 3]), Tensor([6, 5])"
)
bitwise_not: UnaryOperator = _step(
    "bitwise_not", jnp.bitwise_not, "The bits of integers, or Bools, inverted.", ("Tensor([0, 5])", "[-1 -6]")
)
invert: UnaryOperatorOfX = _step(
    "invert", jnp.bitwise_not, "The bits of integers, or Bools, inverted.", ("Tensor([0, 5])", "[-1 -6]"), parameter="x"
)
population_count: UnaryOperator = _step(
    "population_count",
    lambda x: jax.lax.population_count(x).astype(jnp.uint8),
    "The number of bits that are set, as UInt8.",
    ("Tensor([0, 7])", "[0 3]"),
    parameter="input_x",
)

isnan: UnaryOperator = _step("isnan", jnp.isnan, "True where input is NaN.", (_ODD, "[False  True False]"))
isinf: UnaryOperator = _step("isinf", jnp.isinf, "True where input is infinite.", (_ODD, "[False False  True]"))
isfinite: UnaryOperator = _step(
    "isfinite", jnp.isfinite, "True where input is neither infinite nor NaN.", (_ODD, "[ True False False]")
)
isposinf: UnaryOperator = _step("isposinf", jnp.isposinf, "True where input is plus infinity.", (_ODD, "[False False False]"))
isneginf: UnaryOperator = _step("isneginf", jnp.isneginf, "True where input is minus infinity.", (_ODD, "[False False  True]"))
isreal: UnaryOperator = _step("isreal", jnp.isreal, "True where input has no imaginary part.", (_ODD, "[ True  True  True]"))
signbit: UnaryOperator = _step(
    "signbit",
    lambda x: jnp.signbit(x) if kind_of(x.dtype) == "f" else x < 0,
    "True where input is negative (-0.0 included).",
    (_ODD, "[False False  True]"),
)

equal: BinaryOperator = comparison("equal", jnp.equal, "==", "[False False]")
not_equal: BinaryOperator = comparison("not_equal", jnp.not_equal, "!=", "[ True  True]")
greater: BinaryOperator = comparison("greater", jnp.greater, ">", "[False  True]")
greater_equal: BinaryOperator = comparison("greater_equal", jnp.greater_equal, ">=", "[False  True]")
less: BinaryOperator = comparison("less", jnp.less, "<", "[ True False]")
less_equal: BinaryOperator = comparison("less_equal", jnp.less_equal, "<=", "[ True False]")


@operator(2, numbers=("rtol", "atol"), differentiable=False)
def isclose(input: TensorLike, other: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> JaxArray:
    """True where |input - other| <= atol + rtol * |other|; for two NaN, the value of `equal_nan`.

    Example:
        >>> print(ops.isclose(Tensor([1.0, 2.0]), Tensor([1.0, 2.1])))
        [ True False]
    """
    return jnp.isclose(*require_same_dtype(input, other), rtol=rtol, atol=atol, equal_nan=equal_nan)


def allclose(input: TensorLike, other: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as a Python bool; see `isclose`."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@operator(2, numbers=("tolerance",), differentiable=False)
def approximate_equal(x: TensorLike, y: TensorLike, tolerance: float = 1e-5) -> JaxArray:
    """True where |x - y| < tolerance, elementwise.

    Example:
        >>> print(ops.approximate_equal(Tensor([1.0, 2.0]), Tensor([1.0, 2.1]), 0.2))
        [ True  True]
    """
    x, y = (need_floats(v) for v in promote(x, y))
    return jnp.abs(x - y) < tolerance


eq = equal
ne = not_equal
gt = greater
tensor_gt = greater
ge = greater_equal
tensor_ge = greater_equal
lt = less
tensor_lt = less
le = less_equal
tensor_le = less_equal
