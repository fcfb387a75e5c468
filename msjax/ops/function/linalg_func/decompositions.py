"""Determinants, powers and decompositions of matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_kind, check_value
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.views import Rule
from msjax.engine.programs.compiler_options import equations
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.platforms import not_on
from msjax.ops.dispatch.promotion import as_operand, to_float

__all__ = [
    "adjoint", "cholesky", "det", "eig", "eigvals", "geqrf", "log_matrix_determinant", "logdet", "lu_unpack",
    "matrix_determinant", "matrix_exp", "matrix_power", "orgqr", "ormqr", "qr", "slogdet", "svd", "trace",
]  # fmt: skip


def square_matrices(x: TensorLike) -> TensorLike:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"the last two axes should form square matrices, but the shape is {x.shape}.")
    return x


def as_matrices(x: TensorLike) -> JaxArray:
    x = to_float(x)
    return check_value(x, x.ndim >= 2, "have at least two axes", "the Tensor")


def factored(kernel: Callable[..., Any], name: str, *values: JaxArray) -> Any:
    """`kernel` of matrices; an error for those of half precision of which it makes LU factors where XLA does not."""
    if all(v.dtype.itemsize > 2 for v in values):
        return kernel(*values)
    reason = f"ops.{name} has no program for matrices of {mstype.from_np(values[0].dtype)}: cast them to float32"
    try:
        traced = jax.make_jaxpr(kernel)(*values)
    except TypeError as error:
        if not str(error).startswith("lu does not accept"):
            raise
        # jax 0.12 takes them on no platform.
        raise NotImplementedError(f"{reason}.") from None
    if all(eqn.primitive.name != "lu" for eqn in equations(traced.jaxpr)):
        return kernel(*values)
    return not_on(("cpu", "tpu"), reason, kernel, *values)


def eigenvalues(kernel: Callable[..., Any], name: str, matrix: JaxArray) -> Any:
    """`kernel` of a matrix of which it takes eigenvalues; an error where there is no program for these."""
    if matrix.dtype.itemsize > 2:
        return not_on(("tpu",), f"ops.{name} has no program", kernel, matrix)
    raise TypeError(f"the matrices should be of Float32, Float64 or complex numbers, but are of {mstype.from_np(matrix.dtype)}.")


def transposed(x: TensorLike) -> JaxArray:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


@operator(int_grad=True, view=Rule(write=lambda x, value: transposed(value), layout=lambda x: np.swapaxes(x, -1, -2)))
def adjoint(x: TensorLike) -> JaxArray:
    """The conjugate of `x` with the last two axes exchanged.

    Example:
        >>> print(ops.adjoint(Tensor([[1 + 2j, 3j]], complex64)))
        [[1.-2.j]
         [0.-3.j]]
    """
    return transposed(as_operand(x))


@operator(name="det")
def det(input: TensorLike) -> JaxArray:
    """The determinant of square matrices, of shape (..., N, N).

    Example:
        >>> print(ops.det(Tensor([[2.0, 1.0], [0.0, 3.0]])))
        6.0
    """
    return factored(jnp.linalg.det, "det", square_matrices(to_float(input)))


matrix_determinant = det


@operator(name="slogdet")
def slogdet(input: TensorLike) -> tuple[JaxArray, JaxArray]:
    """The sign of the determinant of square matrices, and the logarithm of its absolute value.

    Example:
        >>> sign, log = ops.slogdet(Tensor([[-1.0, 0.0], [0.0, 1.0]]))
        >>> print(sign, log)
        -1.0 0.0
    """
    return tuple(factored(jnp.linalg.slogdet, "slogdet", square_matrices(to_float(input))))


log_matrix_determinant = slogdet


@operator(name="logdet")
def logdet(input: TensorLike) -> JaxArray:
    """The logarithm of the determinant of positive definite matrices, of shape (..., N, N); NaN if it is negative.

    Example:
        >>> print(ops.logdet(Tensor([[1.0, 0.0], [0.0, 1.0]])))
        0.0
    """
    sign, value = factored(jnp.linalg.slogdet, "logdet", square_matrices(to_float(input)))
    return jnp.where(sign < 0, jnp.nan, value)


@operator(name="trace", int_grad=True)
def _trace(input, offset, axis1, axis2, dtype):
    x = as_operand(input)
    if dtype is not None:
        x = x.astype(mstype.to_jax(dtype))
    return jnp.trace(x, offset, axis1, axis2, dtype=x.dtype)


def trace(input: TensorLike) -> Tensor:
    """The sum of the diagonal of a matrix.

    Raises:
        ValueError: not two axes.

    Example:
        >>> print(ops.trace(Tensor([[1.0, 2.0], [3.0, 4.0]])))
        5.0
    """
    if input.ndim != 2:
        raise ValueError(f"For 'trace', the Tensor should have two axes, but its shape is {input.shape}.")
    return _trace(input, 0, 0, 1, None)


def trace_method(self: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None) -> Tensor:
    """The sum of a diagonal over two axes; of integers as Int64."""
    if dtype is None and self.dtype.kind in "biu":
        dtype = mstype.int64
    return _trace(self, offset, axis1, axis2, dtype)


@operator(name="cholesky")
def cholesky(input_x: TensorLike, upper: bool = False) -> JaxArray:
    """The Cholesky factor of symmetric positive definite matrices.

    Args:
        input_x (Tensor): shape (..., N, N), of floats.
        upper (bool): whether the factor is upper triangular. Default: False.

    Example:
        >>> print(ops.cholesky(Tensor([[4.0, 2.0], [2.0, 2.0]])))
        [[2. 0.]
         [1. 1.]]
    """
    x = square_matrices(to_float(input_x))
    # One triangle is read, as in LAPACK, so that the gradient is that of the formula in all elements.
    return jnp.linalg.cholesky(x, upper=upper, symmetrize_input=True)


@operator(name="matrix_power")
def matrix_power(input: TensorLike, n: int) -> JaxArray:
    """Square matrices to the power of an int; a negative one powers the inverse.

    Example:
        >>> print(ops.matrix_power(Tensor([[1.0, 1.0], [0.0, 1.0]]), 3))
        [[1. 3.]
         [0. 1.]]
    """
    return jnp.linalg.matrix_power(square_matrices(to_float(input)), n)


@operator(name="matrix_exp")
def matrix_exp(input: TensorLike) -> JaxArray:
    """The exponential of square matrices, of shape (..., N, N).

    Example:
        >>> print(ops.matrix_exp(Tensor([[0.0, 0.0], [0.0, 0.0]])))
        [[1. 0.]
         [0. 1.]]
    """
    return jsl.expm(square_matrices(to_float(input)))


@operator(name="svd")
def svd(input: TensorLike, full_matrices: bool = False, compute_uv: bool = True) -> JaxArray:
    """The singular value decomposition input = u diag(s) v^H.

    Args:
        input (Tensor): shape (..., M, N), of floats or complex numbers.
        full_matrices (bool): whether u and v are square. Default: False.
        compute_uv (bool): whether u and v are returned. Default: True.

    Returns:
        (s, u, v), or s alone; s is in falling order.

    Example:
        >>> print(ops.svd(Tensor([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False))
        [4. 3.]
    """
    x = as_matrices(input)
    if not compute_uv:
        return jnp.linalg.svd(x, full_matrices=full_matrices, compute_uv=False)
    u, s, vh = jnp.linalg.svd(x, full_matrices=full_matrices)
    return s, u, transposed(vh)


@operator(name="qr")
def qr(input: TensorLike, mode: str = "reduced") -> tuple[JaxArray, JaxArray]:
    """The decomposition input = q r, with orthonormal columns in q and r upper triangular.

    Args:
        input (Tensor): shape (..., M, N), of floats or complex numbers.
        mode (str): "reduced" for q of shape (M, min(M, N)), "complete" for (M, M). Default: "reduced".

    Raises:
        TypeError: an unknown `mode`.

    Example:
        >>> print([t.shape for t in ops.qr(ops.ones((3, 2)))])
        [(3, 2), (2, 2)]
    """
    check_kind(mode, mode in ("reduced", "complete"), "be 'reduced' or 'complete'", "mode")
    return tuple(jnp.linalg.qr(as_matrices(input), mode))


@operator(name="eig")
def eig(A: TensorLike) -> tuple[JaxArray, JaxArray]:
    """The eigenvalues and eigenvectors (as columns) of square matrices, as complex numbers. Not on TPUs.

    Example:
        >>> print([t.shape for t in ops.eig(ops.eye(3))])
        [(3,), (3, 3)]
    """
    return tuple(eigenvalues(jnp.linalg.eig, "eig", square_matrices(to_float(A))))


@operator(name="eigvals")
def eigvals(A: TensorLike) -> JaxArray:
    """The eigenvalues of square matrices, as complex numbers. Not on TPUs.

    Example:
        >>> print(ops.eigvals(Tensor([[2.0, 0.0], [0.0, 3.0]])))
        [2.+0.j 3.+0.j]
    """
    return eigenvalues(jnp.linalg.eigvals, "eigvals", square_matrices(to_float(A)))


@operator(name="geqrf")
def geqrf(input: TensorLike) -> tuple[JaxArray, JaxArray]:
    """The QR decomposition in LAPACK's form.

    Returns:
        (y, tau): r in and above the diagonal of y, Householder reflectors below; their factors.

    Example:
        >>> print([t.shape for t in ops.geqrf(ops.ones((3, 2)))])
        [(3, 2), (2,)]
    """
    y, tau = jnp.linalg.qr(as_matrices(input), "raw")
    return jnp.swapaxes(y, -1, -2), tau


@operator(2, name="orgqr")
def orgqr(input: TensorLike, input2: TensorLike) -> JaxArray:
    """The first columns of the product of the Householder reflectors that `geqrf` gave as (input, input2).

    Example:
        >>> print(ops.orgqr(*ops.geqrf(ops.ones((3, 2)))).shape)
        (3, 2)
    """
    return jax.lax.linalg.householder_product(as_matrices(input), input2)


@operator(3, name="ormqr")
def ormqr(input: Tensor, tau: Tensor, other: TensorLike, left: bool = True, transpose: bool = False) -> JaxArray:
    """q @ other (or other @ q, unless `left`), for the orthogonal q whose reflectors are (input, tau); `transpose`: q^H.

    Example:
        >>> print(ops.ormqr(*ops.geqrf(ops.ones((3, 2))), ops.ones((3, 1))).shape)
        (3, 1)
    """
    n = input.shape[-2]
    missing = [(0, 0)] * (input.ndim - 1)
    wide = jnp.pad(input, [*missing, (0, n - input.shape[-1])]) if input.shape[-1] < n else input[..., :n]
    q = jax.lax.linalg.householder_product(wide, jnp.pad(tau, [*missing[1:], (0, n - tau.shape[-1])]))
    q = transposed(q) if transpose else q
    return jnp.matmul(q, other) if left else jnp.matmul(other, q)


def permutation_of(pivots: JaxArray, n: int) -> JaxArray:
    """Row numbers after the exchanges that LAPACK's pivots, which count from 1, describe."""
    return jax.lax.linalg.lu_pivots_to_permutation(pivots.astype(jnp.int32) - 1, n)


@operator(2, name="lu_unpack")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> tuple[JaxArray, ...]:
    """The permutation matrix and the factors of an LU decomposition.

    Args:
        LU_data (Tensor): shape (..., M, N), both factors in one matrix.
        LU_pivots (Tensor): shape (..., min(M, N)), the rows exchanged, counted from 1.
        unpack_data (bool): whether the factors are returned. Default: True.
        unpack_pivots (bool): whether the permutation matrix is returned. Default: True.

    Returns:
        (permutation, L, U); what is not wanted is left out.

    Example:
        >>> print(ops.lu_unpack(Tensor([[2.0, 1.0], [0.5, 3.0]]), Tensor([1, 2], int32))[1])
        [[1.  0. ]
         [0.5 1. ]]
    """
    m, n = LU_data.shape[-2:]
    k = min(m, n)
    parts = []
    if unpack_pivots:
        rows = permutation_of(LU_pivots, m)
        parts.append(jnp.swapaxes(jax.nn.one_hot(rows, m, dtype=LU_data.dtype), -1, -2))
    if unpack_data:
        parts.append(jnp.tril(LU_data[..., :k], -1) + jnp.eye(m, k, dtype=LU_data.dtype))
        parts.append(jnp.triu(LU_data[..., :k, :]))
    return tuple(parts)


@operator(name="MatrixLogarithm")
def matrix_logarithm(x: TensorLike) -> JaxArray:
    """The logarithm of square complex matrices that have a full set of eigenvectors."""
    values, vectors = eigenvalues(jnp.linalg.eig, "MatrixLogarithm", square_matrices(x))
    return jnp.matmul(vectors * jnp.log(values)[..., None, :], jnp.linalg.inv(vectors))
