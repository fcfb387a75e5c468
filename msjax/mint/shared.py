"""mint's functions that are those of ops, or differ by an argument."""

from __future__ import annotations

from typing import Any

import jax

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.math_func.arithmetic import sub_method
from msjax.ops.function.math_func.tables import renamed
from msjax.typing import TensorLike, UnaryOperator

__all__ = [
    "add", "addcdiv", "addcmul", "addr", "allclose", "baddbmm", "cdist", "clip", "constexpr", "equal", "fix", "item", "sub",
    "triangular_solve", "vdot",
]  # fmt: skip

_SAME = """
abs acos acosh addbmm addmm addmv arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax asin asinh atan atan2
atanh bincount bitwise_and bitwise_or bitwise_xor bmm broadcast_to ceil clamp cos cosh cross div divide dot dstack einsum eq
erf erfc erfinv exp exp2 expm1 eye flip float_power floor floor_divide fmod frac full full_like gcd ge greater greater_equal
gt histc hstack imag inverse isclose isfinite isinf isnan isneginf le lerp less less_equal log log10 log1p log2 logaddexp
logaddexp2 logical_and logical_not logical_or logical_xor lt masked_select matmul maximum minimum mm mul mv nan_to_num ne
neg negative nonzero not_equal ones_like outer polar pow ravel real reciprocal remainder reshape roll round rsqrt
searchsorted sigmoid sign sin sinc sinh sqrt square sum swapaxes t take tan tanh tile trace tril triu trunc unbind
unique_consecutive unsqueeze where xlogy zeros_like
""".split()
for _name in _SAME:
    globals()[_name] = getattr(ops, _name)
__all__ += _SAME

bitwise_not: UnaryOperator = ops.bitwise_not
bmm = renamed(ops.bmm, "bmm", input="input_x")
frac = renamed(ops.frac, "frac", input="x")
sqrt = renamed(ops.sqrt, "sqrt", input="x")
mv = renamed(ops.mv, "mv", input="mat")
constexpr = ops.constexpr
clip = ops.clamp
baddbmm = ops.baddbmm_ext
fix: UnaryOperator = ops.trunc
__all__.append("bitwise_not")


def isnan(tensor: TensorLike) -> bool:
    """True where an element is NaN."""
    return ops.not_equal(tensor, tensor)


def add(input: TensorLike, other: TensorLike, *, alpha: int = 1) -> Tensor:
    """input + alpha * other, elementwise with broadcasting.

    Example:
        >>> import msjax as ms
        >>> from msjax import mint
        >>> print(mint.add(ms.Tensor([1, 2]), ms.Tensor([3, 4]), alpha=10))
        [31 42]
    """
    return ops.add(input, other if alpha == 1 else ops.mul(other, alpha))


def sub(input: TensorLike, other: TensorLike, *, alpha: int = 1) -> Any:
    """input - alpha * other, elementwise with broadcasting."""
    return sub_method(input, other if alpha == 1 else ops.mul(other, alpha))


def addcmul(input: TensorLike, tensor1: TensorLike, tensor2: TensorLike, *, value: TensorLike = 1) -> Any:
    """input + value * tensor1 * tensor2, elementwise with broadcasting."""
    return input + tensor1 * tensor2 * value


def addcdiv(input: TensorLike, tensor1: TensorLike, tensor2: TensorLike, *, value: TensorLike = 1) -> Any:
    """input + value * tensor1 / tensor2, elementwise with broadcasting."""
    return input + tensor1 / tensor2 * value


def addr(input: TensorLike, vec1: TensorLike, vec2: TensorLike, *, beta: int = 1, alpha: int = 1) -> Any:
    """beta * input + alpha * the products of all elements of two vectors."""
    return input * beta + ops.outer(vec1, vec2) * alpha


def vdot(input: TensorLike, other: TensorLike) -> Tensor:
    """The dot product of two vectors, the first one conjugated."""
    return ops.dot(ops.conj(input) if input.is_complex() else input, other)


def allclose(input: TensorLike, other: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close; see `isclose`."""
    return bool(ops.isclose(input, other, rtol, atol, equal_nan).all())


def equal(input: TensorLike, other: TensorLike) -> bool:
    """Whether two Tensors have one shape and equal elements.

    Example:
        >>> import msjax as ms
        >>> from msjax import mint
        >>> mint.equal(ms.Tensor([1, 2]), ms.Tensor([1, 2]))
        True
    """
    return input.shape == other.shape and bool((input == other).all())


def item(input: TensorLike) -> Any:
    """The only element as a Python number.

    Raises:
        TypeError: `input` is not a Tensor.
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"For 'item', 'input' should be a Tensor, but got {type(input).__name__}.")
    return input.item()


def cdist(x1: TensorLike, x2: TensorLike, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
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
