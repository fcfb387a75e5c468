"""Operator classes of linear algebra and Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msjax.common.tensor import Tensor
from msjax.common.typing import Shape, TensorLike
from msjax.core.base.errors import describe
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.array_func import creation, ordering
from msjax.ops.function.linalg_func import decompositions, linear, solvers
from msjax.ops.function.math_func import complexes, fourier, norms
from msjax.ops.primitive import Form, OfInput, OfInputX, OfX1X2

__all__ = [
    "Dense", "Ger", "Cdist", "Pdist", "Trace", "MatrixDeterminant", "LogMatrixDeterminant", "MatrixExp", "MatrixLogarithm",
    "MatrixPower", "Geqrf", "Orgqr", "Ormqr", "Cholesky", "CholeskyInverse", "CholeskySolve", "MatrixSolve",
    "MatrixTriangularSolve", "Lstsq", "LuSolve", "LuUnpack", "TridiagonalMatMul", "MatMul", "BatchMatMul", "Einsum", "Cross",
    "ConjugateTranspose", "MatrixInverse", "Qr", "Svd", "Eig", "MatrixSolveLs", "STFT", "FFTWithSize",
]  # fmt: skip


# fmt: off
class Dense(Form): __call__ = staticmethod(linear.dense)
class Ger(Form): __call__ = staticmethod(linear.outer)
class Trace(Form): __call__ = staticmethod(decompositions.trace)
class MatrixDeterminant(Form): __call__ = staticmethod(decompositions.det)
class LogMatrixDeterminant(Form): __call__ = staticmethod(decompositions.slogdet)
class MatrixExp(Form): __call__ = staticmethod(decompositions.matrix_exp)
class MatrixLogarithm(Form): __call__ = staticmethod(decompositions.matrix_logarithm)
class Geqrf(Form): __call__ = staticmethod(decompositions.geqrf)
class Orgqr(Form): __call__ = staticmethod(decompositions.orgqr)
class LuSolve(Form): __call__ = staticmethod(solvers.lu_solve)
class TridiagonalMatMul(Form): __call__ = staticmethod(solvers.tridiagonal_matmul)
class Cdist(OfX1X2, of=norms.cdist): p: float = 2.0
class Pdist(OfInput, of=norms.pdist): p: float = 2.0
class MatrixPower(OfInput, of=decompositions.matrix_power): n: int
class Cholesky(OfInputX, of=decompositions.cholesky): upper: bool = False
class CholeskyInverse(OfInputX, of=solvers.cholesky_inverse): upper: bool = False
# fmt: on


class Ormqr(Form, of=decompositions.ormqr):
    left: bool = True
    transpose: bool = False

    def __call__(self, input: Tensor, tau: Tensor, other: TensorLike) -> Tensor:
        return decompositions.ormqr(input, tau, other, self.left, self.transpose)


class CholeskySolve(Form, of=solvers.cholesky_solve):
    upper: bool = False

    def __call__(self, input: TensorLike, input2: TensorLike) -> Tensor:
        return solvers.cholesky_solve(input, input2, self.upper)


class MatrixSolve(Form, of=solvers.matrix_solve):
    adjoint: bool = False

    def __call__(self, matrix: TensorLike, rhs: TensorLike) -> Tensor:
        return solvers.matrix_solve(matrix, rhs, self.adjoint)


class MatrixTriangularSolve(Form, of=solvers.triangular_solve):
    lower: bool = True
    adjoint: bool = False

    def __call__(self, matrix: TensorLike, rhs: TensorLike, transpose: bool = False, unit: bool = False) -> Tensor:
        return solvers.triangular_solve(matrix, rhs, self.lower, self.adjoint, transpose, unit)


class Lstsq(Form):
    fast: bool = True
    l2_regularizer: float = 0.0
    __call__ = staticmethod(solvers.lstsq)


class LuUnpack(Form, of=decompositions.lu_unpack):
    unpack_data: bool = True
    unpack_pivots: bool = True

    def __call__(self, LU_data: Tensor, LU_pivots: Tensor) -> tuple[Tensor, ...]:
        return decompositions.lu_unpack(LU_data, LU_pivots, self.unpack_data, self.unpack_pivots)


def _product(primitive, x, y):
    """A product of matrices, after a check that the axes that it sums over are equal."""
    for v in (x, y):
        if not hasattr(v, "ndim"):
            raise TypeError(f"For '{primitive.name}', the operands should be Tensors, but got {describe(x)} and {describe(y)}.")
    if x.ndim > 1 and y.ndim > 1 and x.shape[-2 if primitive.transpose_a else -1] != y.shape[-1 if primitive.transpose_b else -2]:
        raise ValueError(f"For '{primitive.name}', the shapes {tuple(x.shape)} and {tuple(y.shape)} can't be multiplied.")
    if not (primitive.transpose_a or primitive.transpose_b):
        return linear.matmul(x, y)
    return linear.matmul_transposed(x, y, primitive.transpose_a, primitive.transpose_b)


class MatMul(Form):
    """The product of two matrices.

    Args:
        transpose_a, transpose_b (bool): whether a matrix is transposed first. Default: False.

    Example:
        >>> from msjax import Tensor, ops
        >>> x = Tensor([[1.0, 2.0]])
        >>> print(ops.MatMul(transpose_b=True)(x, x))
        [[5.]]
    """

    transpose_a: bool = False
    transpose_b: bool = False

    def __call__(self, input: TensorLike, mat2: TensorLike) -> Tensor:
        if any(getattr(v, "ndim", 2) != 2 for v in (input, mat2)):
            raise ValueError(f"For 'MatMul', the operands should be matrices, but got {describe(input)} and {describe(mat2)}.")
        return _product(self, input, mat2)


class BatchMatMul(Form):
    """The products of two batches of matrices.

    Args:
        transpose_a, transpose_b (bool): whether the last two axes of an operand are exchanged first. Default: False.

    Example:
        >>> from msjax import Tensor, ops
        >>> x = Tensor([[[1.0, 2.0]]])
        >>> print(ops.BatchMatMul(transpose_b=True)(x, x))
        [[[5.]]]
    """

    transpose_a: bool = False
    transpose_b: bool = False

    def __call__(self, x: TensorLike, y: TensorLike) -> Tensor:
        return _product(self, x, y)


class Einsum(Form):
    """Sums of products in Einstein's notation: ``ops.Einsum("ij,jk->ik")((x, y))``.

    Args:
        equation (str): see `ops.einsum`.
    """

    equation: str

    def __call__(self, operands: TensorLike | Sequence[TensorLike]) -> Tensor:
        return linear.einsum(self.equation, *([operands] if isinstance(operands, Tensor) else operands))


class Cross(Form):
    """The vector product along an axis of size 3.

    Args:
        dim (int): the axis. Default: -65530, for the first axis of size 3.
    """

    dim: int = -65530

    def __call__(self, input: TensorLike, other: TensorLike) -> Tensor:
        return linear.cross(input, other, None if self.dim == -65530 else self.dim)


class ConjugateTranspose(Form):
    """The complex conjugate with its axes in another order: ``ops.ConjugateTranspose()(x, perm)``."""

    def __call__(self, x: TensorLike, perm: Shape) -> Tensor:
        return complexes.conj(ordering.transpose(x, perm))


class MatrixInverse(Form):
    """The inverse of square matrices.

    Args:
        adjoint (bool): whether they are conjugated and transposed first. Default: False.
    """

    adjoint: bool = False

    def __call__(self, x: TensorLike) -> Tensor:
        return solvers.inverse(decompositions.adjoint(x) if self.adjoint else x)


class Qr(Form):
    """The QR decomposition.

    Args:
        full_matrices (bool): whether q is square. Default: False.
    """

    full_matrices: bool = False

    def __call__(self, x: TensorLike) -> tuple[Tensor, Tensor]:
        return decompositions.qr(x, "complete" if self.full_matrices else "reduced")


class Svd(Form):
    """The singular value decomposition; returns (s, u, v).

    Args:
        full_matrices (bool): whether u and v are square. Default: False.
        compute_uv (bool): if False, u and v are zeros of shape (1,). Default: True.
    """

    full_matrices: bool = False
    compute_uv: bool = True

    def __call__(self, input: Tensor) -> Tensor | tuple[Tensor, ...]:
        out = decompositions.svd(input, self.full_matrices, self.compute_uv)
        return out if self.compute_uv else (out, *(creation.zeros((1,), input.dtype) for _ in range(2)))


class Eig(Form):
    """The eigenvalues and eigenvectors of square matrices.

    Args:
        compute_v (bool): if False, the second result is 0. Default: False.
    """

    compute_v: bool = False

    def __call__(self, x: TensorLike) -> tuple[Tensor, Tensor]:
        if self.compute_v:
            return decompositions.eig(x)
        values = decompositions.eigvals(x)
        return values, creation.zeros((), values.dtype)


class MatrixSolveLs(Form):
    """The X for which matrix X comes closest to rhs: ``ops.MatrixSolveLs()(matrix, rhs, l2_regularizer)``.

    Args:
        fast (bool): if False, the penalty on the size of X is left out. Default: True.
    """

    fast: bool = True

    def __call__(self, matrix: TensorLike, rhs: TensorLike, l2_regularizer: float | Tensor) -> Tensor:
        return solvers.matrix_solve_ls(matrix, rhs, float(l2_regularizer) if self.fast else 0.0)


class STFT(Form):
    """Fourier transforms of the frames of a signal: ``ops.STFT(...)(signal, window)``; see `ops.stft`.

    Args:
        n_fft, hop_length, win_length (int): sizes of a frame, a step and the window.
        normalized, onesided, return_complex (bool): as for the function.
    """

    n_fft: int
    hop_length: int
    win_length: int
    normalized: bool
    onesided: bool
    return_complex: bool

    def __call__(self, signal: TensorLike, window: TensorLike | None) -> Tensor:
        settings = {key: getattr(self, key) for key in self._arguments}
        return fourier.stft(signal, window=window, center=False, pad_mode="constant", **settings)


class FFTWithSize(Form):
    """Fourier transforms over the last axes.

    Args:
        signal_ndim (int): how many axes; 1, 2 or 3.
        inverse (bool): whether the transform is the inverse one.
        real (bool): whether the signal is real.
        norm (str): "backward", "forward" or "ortho". Default: "backward".
        onesided (bool): whether the spectrum of a real signal is halved. Default: True.
        signal_sizes (tuple): the sizes of the real signal, for the inverse. Default: (), for even ones.
    """

    signal_ndim: int
    inverse: bool
    real: bool
    norm: str = "backward"
    onesided: bool = True
    signal_sizes: Sequence[Any] = ()

    def __call__(self, x: TensorLike) -> Tensor:
        axes = tuple(range(-self.signal_ndim, 0))
        if self.real and self.onesided:
            if self.inverse:
                return fourier.irfftn(x, freeze(self.signal_sizes) or None, axes, self.norm)
            return fourier.rfftn(x, None, axes, self.norm)
        out = (fourier.ifftn if self.inverse else fourier.fftn)(x, None, axes, self.norm)
        return complexes.real(out) if self.real and self.inverse else out
