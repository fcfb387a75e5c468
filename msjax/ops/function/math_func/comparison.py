"""Comparisons."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.common.typing import BinaryOperator, TensorLike
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import need_floats, promote, require_same_dtype
from msjax.ops.function.math_func.tables import comparison

__all__ = [
    "eq", "equal", "ge", "greater", "greater_equal", "gt", "isclose", "approximate_equal", "le", "less", "less_equal", "lt", "ne",
    "not_equal", "tensor_ge", "tensor_gt", "tensor_le", "tensor_lt",
]  # fmt: skip


_TWO = "Tensor([1.0, 2.0]), Tensor([3.0, 0.5])"
equal: BinaryOperator = comparison("equal", jnp.equal, "input == other, elementwise, as Bool.", (_TWO, "[False False]"))
not_equal: BinaryOperator = comparison(
    "not_equal", jnp.not_equal, "input != other, elementwise, as Bool.", (_TWO, "[ True  True]")
)
greater: BinaryOperator = comparison("greater", jnp.greater, "input > other, elementwise, as Bool.", (_TWO, "[False  True]"))
greater_equal: BinaryOperator = comparison(
    "greater_equal", jnp.greater_equal, "input >= other, elementwise, as Bool.", (_TWO, "[False  True]")
)
less: BinaryOperator = comparison("less", jnp.less, "input < other, elementwise, as Bool.", (_TWO, "[ True False]"))
less_equal: BinaryOperator = comparison(
    "less_equal", jnp.less_equal, "input <= other, elementwise, as Bool.", (_TWO, "[ True False]")
)


@operator(2, numbers=("rtol", "atol"), differentiable=False)
def isclose(input: TensorLike, other: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> JaxArray:
    """True where |input - other| <= atol + rtol * |other|; for two NaN, the value of `equal_nan`.

    Example:
        >>> print(ops.isclose(Tensor([1.0, 2.0]), Tensor([1.0, 2.1])))
        [ True False]
    """
    return jnp.isclose(*require_same_dtype(input, other), rtol=rtol, atol=atol, equal_nan=equal_nan)


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
