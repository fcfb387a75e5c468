"""Products, diagonals, signals and polynomials under numpy's names."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike, BinaryOperator, DTypeLike
from msjax.core.base.checks import check_one_of
from msjax.core.base.typing import JaxArray
from msjax.numpy.lifting import as_type, floating, lifted, lifted_pair, of_numbers, tensor, tensors, wide
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import promote

__all__ = [
    "convolve", "correlate", "cross", "diag", "diagflat", "diagonal", "dot", "inner", "kron", "matmul", "matrix_power", "multi_dot",
    "outer", "polyadd", "polyder", "polyint", "polymul", "polysub", "polyval", "tensordot", "trace", "tril", "triu",
]  # fmt: skip


dot: BinaryOperator = lifted_pair(
    "dot", "The product over the last axis of `a` and the last but one of `b`; of vectors, their dot product."
)
inner: BinaryOperator = lifted_pair("inner", "The product over the last axes of both.")
outer: BinaryOperator = lifted_pair("outer", "All products of an element of each, both flattened.")
kron: BinaryOperator = lifted_pair("kron", "The Kronecker product.")


def matmul(x1: ArrayLike, x2: ArrayLike, dtype: DTypeLike | None = None) -> Tensor:
    """The matrix product, batched over leading axes.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.matmul(Tensor([[1, 2]]), Tensor([[3], [4]])))
        [[11]]
    """
    return as_type(ops.matmul(tensor(x1), tensor(x2)), dtype)


@lifted(2, int_grad=True)
def tensordot(a: ArrayLike, b: ArrayLike, axes: int | Sequence[Any] = 2) -> JaxArray:
    """The product over axes: that many last ones of `a` and first ones of `b`, or those given as a pair of tuples."""
    return jnp.tensordot(*promote(a, b), axes)


def multi_dot(arrays: Sequence[ArrayLike]) -> Tensor:
    """The product of two or more matrices (the first and last may be vectors).

    Raises:
        ValueError: there are fewer than two.
    """
    arrays = tensors(arrays)
    if len(arrays) < 2:
        raise ValueError(f"For 'multi_dot', there should be at least two arrays, but there are {len(arrays)}.")
    return functools.reduce(ops.matmul, arrays)


def matrix_power(a: ArrayLike, n: int) -> Tensor:
    """The n-th power of square matrices; of the inverse, where `n` is negative."""
    matrix = tensor(a)
    return as_type(ops.matrix_power(matrix, n), None if n < 0 else matrix.dtype)


@lifted(2, int_grad=True)
def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | Sequence[int] | None = None
) -> JaxArray:
    """The cross product of vectors of two or three elements along an axis of each."""
    return of_numbers(jnp.cross)(a, b, axisa, axisb, axisc, axis)


# ---- diagonals


@lifted(int_grad=True)
def diag(v: ArrayLike, k: int = 0) -> JaxArray:
    """A matrix with a vector on its diagonal number `k`, or that diagonal of a matrix."""
    return jnp.diag(v, k)


def diagflat(v: ArrayLike, k: int = 0) -> Tensor:
    """A matrix with the flattened array on its diagonal number `k`."""
    return ops.diagflat(tensor(v), k)


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonal number `offset` of the matrices in two axes, as the last axis."""
    return ops.diagonal(tensor(a), offset, axis1, axis2)


@operator(int_grad=True)
def _trace(a, offset, axis1, axis2):
    return jnp.trace(a, offset, axis1, axis2, a.dtype)


def trace(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None) -> Tensor:
    """The sum along the diagonal number `offset` of the matrices in two axes."""
    a = tensor(a)
    dtype = mstype.int64 if dtype is None and a.dtype.kind in "iu" else dtype
    return _trace(as_type(a, dtype), offset, axis1, axis2)


def _matrix(m):
    """The matrices; a vector as each row of one."""
    m = tensor(m)
    return ops.broadcast_to(m, m.shape * 2) if m.ndim == 1 else m


def tril(m: ArrayLike, k: int = 0) -> Tensor:
    """The lower triangle of matrices, zeros elsewhere."""
    return ops.tril(_matrix(m), k)


def triu(m: ArrayLike, k: int = 0) -> Tensor:
    """The upper triangle of matrices, zeros elsewhere."""
    return ops.triu(_matrix(m), k)


# ---- signals


def _vectors(a, b):
    """Two arrays in their common type; a number is a vector of one."""
    a, b = promote(a, b)
    return jnp.atleast_1d(a), jnp.atleast_1d(b)


def _convolved(a, b, mode="full"):
    """The convolution of two vectors in their common type."""
    a, b = _vectors(a, b)
    return jnp.convolve(a, b, mode).astype(a.dtype)


_MODES = ("full", "same", "valid")


@lifted(2, int_grad=True)
def convolve(a: ArrayLike, v: ArrayLike, mode: str = "full") -> JaxArray:
    """The convolution of two vectors."""
    return _convolved(a, v, check_one_of(mode, _MODES, "mode", "convolve"))


@lifted(2, convert=floating)
def correlate(a: ArrayLike, v: ArrayLike, mode: str = "valid") -> JaxArray:
    """The correlation of two vectors."""
    return jnp.correlate(*promote(a, v), check_one_of(mode, _MODES, "mode", "correlate"))


# ---- polynomials, given by their coefficients from the highest power down


@lifted(2, int_grad=True)
def polyadd(a1: ArrayLike, a2: ArrayLike) -> JaxArray:
    """The sum of two polynomials."""
    return jnp.polyadd(*_vectors(a1, a2))


@lifted(2, int_grad=True)
def polysub(a1: ArrayLike, a2: ArrayLike) -> JaxArray:
    """The difference of two polynomials."""
    return jnp.polysub(*_vectors(a1, a2))


@lifted(2, int_grad=True)
def polymul(a1: ArrayLike, a2: ArrayLike) -> JaxArray:
    """The product of two polynomials."""
    return _convolved(a1, a2)


@lifted(2, convert=wide)
def polyval(p: ArrayLike, x: ArrayLike) -> JaxArray:
    """The values of a polynomial.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.polyval(Tensor([3.0, 0.0, 1.0]), Tensor([2.0])))
        [13.]
    """
    p, x = promote(p, x)
    return jnp.polyval(jnp.atleast_1d(p), x)


@lifted(int_grad=True)
def polyder(p: ArrayLike, m: int = 1) -> JaxArray:
    """The `m`-th derivative of a polynomial."""
    return jnp.polyder(jnp.atleast_1d(p), m).astype(p.dtype)


@lifted(convert=floating)
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> JaxArray:
    """The `m`-th integral of a polynomial, with the constants `k`, 0 by default."""
    return jnp.polyint(jnp.atleast_1d(p), m, jnp.asarray(0 if k is None else k, p.dtype))
