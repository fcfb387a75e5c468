"""Inverses and solutions of linear systems."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import promote, to_float
from msjax.ops.function.linalg_func.decompositions import as_matrices, factored, permutation_of, square_matrices, transposed

__all__ = ["cholesky_inverse", "cholesky_solve", "inverse", "lstsq", "lu_solve", "matrix_solve", "pinv"]


@operator(name="MatrixInverse")
def inverse(input: TensorLike) -> JaxArray:
    """The inverse of square matrices, of shape (..., N, N).

    Example:
        >>> print(ops.inverse(Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[0.5  0.  ]
         [0.   0.25]]
    """
    return factored(jnp.linalg.inv, "inverse", square_matrices(to_float(input)))


@operator(name="cholesky_inverse")
def cholesky_inverse(input_x: TensorLike, upper: bool = False) -> JaxArray:
    """The inverse of a symmetric positive definite matrix, from its Cholesky factor.

    Example:
        >>> print(ops.cholesky_inverse(Tensor([[2.0, 0.0], [0.0, 1.0]])))
        [[0.25 0.  ]
         [0.   1.  ]]
    """
    factor = square_matrices(to_float(input_x))
    eye = jnp.broadcast_to(jnp.eye(factor.shape[-1], dtype=factor.dtype), factor.shape)
    return jsl.cho_solve((factor, not upper), eye)


@operator(2, name="cholesky_solve")
def cholesky_solve(input: TensorLike, input2: TensorLike, upper: bool = False) -> JaxArray:
    """The solution X of A X = input, from the Cholesky factor `input2` of A.

    Args:
        input (Tensor): shape (..., N, M), of floats.
        input2 (Tensor): shape (..., N, N), the factor.
        upper (bool): whether the factor is upper triangular. Default: False.

    Example:
        >>> print(ops.cholesky_solve(Tensor([[4.0], [3.0]]), Tensor([[2.0, 0.0], [0.0, 1.0]])))
        [[1.]
         [3.]]
    """
    b, factor = promote(input, input2)
    square_matrices(factor)
    first = jax.lax.linalg.triangular_solve(factor, b, left_side=True, lower=not upper, transpose_a=upper, conjugate_a=upper)
    return jax.lax.linalg.triangular_solve(
        factor, first, left_side=True, lower=not upper, transpose_a=not upper, conjugate_a=not upper
    )


@operator(2, name="matrix_solve")
def matrix_solve(matrix: TensorLike, rhs: TensorLike, adjoint: bool = False) -> JaxArray:
    """The solution X of matrix X = rhs, or of its adjoint X = rhs.

    Args:
        matrix (Tensor): shape (..., M, M).
        rhs (Tensor): shape (..., M, K).
        adjoint (bool): whether the matrix is conjugated and transposed first. Default: False.

    Example:
        >>> print(ops.matrix_solve(Tensor([[2.0, 0.0], [0.0, 4.0]]), Tensor([[2.0], [2.0]])))
        [[1. ]
         [0.5]]
    """
    a, b = promote(matrix, rhs)
    a = square_matrices(a)
    return factored(jnp.linalg.solve, "matrix_solve", transposed(a) if adjoint else a, b)


@operator(2, name="MatrixTriangularSolve")
def triangular_solve(
    matrix: TensorLike, rhs: TensorLike, lower: bool = True, adjoint: bool = False, transpose: bool = False, unit: bool = False
) -> JaxArray:
    """The solution X of matrix X = rhs for a triangular matrix, which may be conjugated and / or transposed first."""
    a, b = promote(matrix, rhs)
    return jax.lax.linalg.triangular_solve(
        square_matrices(a),
        b,
        left_side=True,
        lower=lower,
        transpose_a=adjoint or transpose,
        conjugate_a=adjoint,
        unit_diagonal=unit,
    )


@operator(2, name="lstsq")
def lstsq(input: TensorLike, A: TensorLike) -> JaxArray:
    """The X for which input X comes closest to `A`, in the sum of squares.

    Args:
        input (Tensor): shape (M, N), of floats.
        A (Tensor): shape (M,) or (M, K).

    Returns:
        Tensor of shape (N, 1) or (N, K).

    Example:
        >>> print(ops.lstsq(Tensor([[1.0], [1.0]]), Tensor([3.0, 4.0])))
        [[3.5]]
    """
    x, b = promote(input, A)
    b = b[:, None] if b.ndim == 1 else b
    return jnp.matmul(jnp.linalg.pinv(x), b) if x.shape[0] < x.shape[1] else jnp.linalg.lstsq(x, b)[0]


@operator(numbers=("atol", "rtol"), name="pinv")
def pinv(x: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> JaxArray:
    """The Moore-Penrose pseudoinverse of matrices.

    Args:
        x (Tensor): shape (..., M, N), of floats.
        atol, rtol (float, optional): singular values not above max(atol, rtol * the largest) count as 0.
            Default: None, for a small multiple of the precision.
        hermitian (bool): whether the matrices are known to be Hermitian. Default: False.

    Example:
        >>> print(ops.pinv(Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[0.5  0.  ]
         [0.   0.25]]
    """
    matrices = as_matrices(x)
    largest = jnp.max(jnp.linalg.svd(jax.lax.stop_gradient(matrices), compute_uv=False), -1)
    if atol is None and rtol is None:
        return jnp.linalg.pinv(matrices, hermitian=hermitian)
    least = jnp.maximum(0.0 if atol is None else atol, (0.0 if rtol is None else rtol) * largest)
    return jnp.linalg.pinv(matrices, rtol=least / largest, hermitian=hermitian)


@operator(3, name="lu_solve")
def lu_solve(b: TensorLike, LU_data: TensorLike, LU_pivots: TensorLike) -> JaxArray:
    """The solution X of A X = b, from the LU decomposition of A.

    Args:
        b (Tensor): shape (..., N, K).
        LU_data (Tensor): shape (..., N, N), both factors in one matrix.
        LU_pivots (Tensor): shape (..., N), the rows exchanged, counted from 1.

    Example:
        >>> print(ops.lu_solve(Tensor([[2.0], [3.0]]), Tensor([[2.0, 0.0], [0.0, 3.0]]), Tensor([1, 2], int32)))
        [[1.]
         [1.]]
    """
    b, lu = promote(b, LU_data)
    rows = permutation_of(LU_pivots, lu.shape[-1])
    b = jnp.take_along_axis(b, rows[..., None], -2)
    lower = jax.lax.linalg.triangular_solve(lu, b, left_side=True, lower=True, unit_diagonal=True)
    return jax.lax.linalg.triangular_solve(lu, lower, left_side=True, lower=False)


@operator(2, numbers=("l2",), name="MatrixSolveLs")
def matrix_solve_ls(matrix: TensorLike, rhs: TensorLike, l2: float) -> JaxArray:
    """The X for which matrix X comes closest to rhs, with the penalty l2 * |X|**2, by the normal equations."""
    a, b = promote(matrix, rhs)
    square = jnp.matmul(transposed(a), a)
    return jnp.linalg.solve(square + l2 * jnp.eye(square.shape[-1], dtype=square.dtype), jnp.matmul(transposed(a), b))


@operator(4, name="TridiagonalMatMul", int_grad=True)
def tridiagonal_matmul(superdiag: TensorLike, maindiag: TensorLike, subdiag: TensorLike, rhs: TensorLike) -> JaxArray:
    """The product of tridiagonal matrices, given as diagonals of shape (..., 1, M), and matrices of shape (..., M, N)."""
    above, main, below = (jnp.swapaxes(d, -1, -2) for d in (superdiag, maindiag, subdiag))
    last = [(0, 0)] * (rhs.ndim - 2)
    later = jnp.pad(rhs[..., 1:, :], [*last, (0, 1), (0, 0)])
    earlier = jnp.pad(rhs[..., :-1, :], [*last, (1, 0), (0, 0)])
    return above * later + main * rhs + below * earlier
