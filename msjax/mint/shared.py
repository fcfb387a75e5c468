"""mint's functions that are those of ops with other parameters."""

from __future__ import annotations

from collections.abc import Callable

import jax

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike, UnaryOperator
from msjax.core.base.checks import check_type
from msjax.core.base.typing import Number
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.math_func.arithmetic import sub_method
from msjax.ops.function.math_func.logic import allclose
from msjax.ops.function.math_func.tables import renamed

__all__ = [
    "add", "addcdiv", "addcmul", "addr", "allclose", "baddbmm", "bitwise_not", "bmm", "cdist", "clip", "constexpr", "equal",
    "fix", "frac", "isnan", "item", "mv", "sqrt", "sub", "triangular_solve", "vdot",
]  # fmt: skip

bitwise_not: UnaryOperator = ops.bitwise_not
bmm: Callable[..., Tensor] = renamed(ops.bmm, "bmm", input="input_x")
frac: UnaryOperator = renamed(ops.frac, "frac", input="x")
sqrt: UnaryOperator = renamed(ops.sqrt, "sqrt", input="x")
mv: Callable[..., Tensor] = renamed(ops.mv, "mv", input="mat")
constexpr = ops.constexpr
clip = ops.clamp
baddbmm = ops.baddbmm_ext
fix: UnaryOperator = ops.trunc


def isnan(tensor: TensorLike) -> Tensor:
    """True where an element is NaN."""
    return ops.not_equal(tensor, tensor)


def add(input: TensorLike, other: TensorLike, *, alpha: Number = 1) -> Tensor:
    """input + alpha * other, elementwise with broadcasting.

    Example:
        >>> from msjax import Tensor, mint
        >>> print(mint.add(Tensor([1, 2]), Tensor([3, 4]), alpha=10))
        [31 42]
    """
    return ops.add(input, other if alpha == 1 else ops.mul(other, alpha))


def sub(input: TensorLike, other: TensorLike, *, alpha: Number = 1) -> Tensor:
    """input - alpha * other, elementwise with broadcasting."""
    return sub_method(input, other if alpha == 1 else ops.mul(other, alpha))


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: TensorLike = 1) -> Tensor:
    """input + value * tensor1 * tensor2, elementwise with broadcasting."""
    return input + tensor1 * tensor2 * value


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: TensorLike = 1) -> Tensor:
    """input + value * tensor1 / tensor2, elementwise with broadcasting."""
    return input + tensor1 / tensor2 * value


def addr(input: Tensor, vec1: TensorLike, vec2: TensorLike, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * input + alpha * the products of all elements of two vectors."""
    return input * beta + ops.outer(vec1, vec2) * alpha


def vdot(input: Tensor, other: TensorLike) -> Tensor:
    """The dot product of two vectors, the first one conjugated."""
    return ops.dot(ops.conj(input) if input.is_complex() else input, other)


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two Tensors have one shape and equal elements.

    Example:
        >>> from msjax import Tensor, mint
        >>> mint.equal(Tensor([1, 2]), Tensor([1, 2]))
        True
    """
    return input.shape == other.shape and bool((input == other).all())


def item(input: Tensor) -> bool | int | float | complex:
    """The only element as a Python number.

    Raises:
        TypeError: `input` is not a Tensor.
    """
    return check_type(input, Tensor, "input", "item").item()


def cdist(x1: TensorLike, x2: TensorLike, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm distance of each row of one Tensor to each of the other; `compute_mode` is without effect."""
    return ops.cdist(x1, x2, p)


@operator(2, name="triangular_solve")
def _triangular(b, A, upper, transpose, unit):
    return jax.scipy.linalg.solve_triangular(A, b, trans=int(transpose), lower=not upper, unit_diagonal=unit)


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """The solution x of ``A @ x = b`` for a triangular matrix, and the matrix.

    Args:
        b (Tensor): of shape (*, n, k).
        A (Tensor): of shape (*, n, n).
        upper (bool): whether the upper triangle counts. Default: True.
        transpose (bool): whether A is transposed first. Default: False.
        unitriangular (bool): whether ones stand on the diagonal, whatever A has there. Default: False.
    """
    return _triangular(b, A, upper, transpose, unitriangular), A
