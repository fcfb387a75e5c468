"""Operator classes of linear algebra and Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msjax.base.errors import describe
from msjax.base.typing import Shape, TensorLike
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.array_func import creation, ordering
from msjax.ops.function.linalg_func import decompositions, layers, linear, solvers
from msjax.ops.function.math_func import complexes, fourier, norms
from msjax.ops.primitive import REQUIRED, class_form, name_classes, operator_class, unused

if TYPE_CHECKING:
    from msjax.ops.primitive import PrimitiveSelf


Dense = class_form(layers.dense)
Ger = class_form(linear.outer)
Cdist = class_form(norms.cdist, p=2.0)
Pdist = class_form(norms.pdist, p=2.0)
Trace = class_form(decompositions.trace)
MatrixDeterminant = class_form(decompositions.det)
LogMatrixDeterminant = class_form(decompositions.slogdet)
MatrixExp = class_form(decompositions.matrix_exp)
MatrixLogarithm = class_form(decompositions.matrix_logarithm)
MatrixPower = class_form(decompositions.matrix_power, n=REQUIRED)
Geqrf = class_form(decompositions.geqrf)
Orgqr = class_form(decompositions.orgqr)
Ormqr = class_form(decompositions.ormqr, left=True, transpose=False)
Cholesky = class_form(decompositions.cholesky, upper=False)
CholeskyInverse = class_form(solvers.cholesky_inverse, upper=False)
CholeskySolve = class_form(solvers.cholesky_solve, upper=False)
MatrixSolve = class_form(solvers.matrix_solve, adjoint=False)
MatrixTriangularSolve = class_form(solvers.triangular_solve, lower=True, adjoint=False)
Lstsq = class_form(solvers.lstsq, fast=unused(True), l2_regularizer=unused(0.0))
LuSolve = class_form(solvers.lu_solve)
LuUnpack = class_form(decompositions.lu_unpack, unpack_data=True, unpack_pivots=True)
TridiagonalMatMul = class_form(solvers.tridiagonal_matmul)


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


@operator_class(transpose_a=False, transpose_b=False)
def MatMul(self: PrimitiveSelf, input: TensorLike, mat2: TensorLike) -> Tensor:
    """The product of two matrices.

    Args:
        transpose_a, transpose_b (bool): whether a matrix is transposed first. Default: False.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> x = ms.Tensor([[1.0, 2.0]])
        >>> print(ops.MatMul(transpose_b=True)(x, x))
        [[5.]]
    """
    if any(getattr(v, "ndim", 2) != 2 for v in (input, mat2)):
        raise ValueError(f"For 'MatMul', the operands should be matrices, but got {describe(input)} and {describe(mat2)}.")
    return _product(self, input, mat2)


@operator_class(transpose_a=False, transpose_b=False)
def BatchMatMul(self: PrimitiveSelf, x: TensorLike, y: TensorLike) -> Tensor:
    """The products of two batches of matrices.

    Args:
        transpose_a, transpose_b (bool): whether the last two axes of an operand are exchanged first. Default: False.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> x = ms.Tensor([[[1.0, 2.0]]])
        >>> print(ops.BatchMatMul(transpose_b=True)(x, x))
        [[[5.]]]
    """
    return _product(self, x, y)


@operator_class(equation=REQUIRED)
def Einsum(self: PrimitiveSelf, operands: TensorLike | Sequence[TensorLike]) -> Tensor:
    """Sums of products in Einstein's notation: ``ops.Einsum("ij,jk->ik")((x, y))``.

    Args:
        equation (str): see `ops.einsum`.
    """
    return linear.einsum(self.equation, *([operands] if isinstance(operands, Tensor) else operands))


@operator_class(dim=-65530)
def Cross(self: PrimitiveSelf, input: TensorLike, other: TensorLike) -> Tensor:
    """The vector product along an axis of size 3.

    Args:
        dim (int): the axis. Default: -65530, for the first axis of size 3.
    """
    return linear.cross(input, other, None if self.dim == -65530 else self.dim)


@operator_class()
def ConjugateTranspose(self: PrimitiveSelf, x: TensorLike, perm: Shape) -> Tensor:
    """The complex conjugate with its axes in another order: ``ops.ConjugateTranspose()(x, perm)``."""
    return complexes.conj(ordering.transpose(x, perm))


@operator_class(adjoint=False)
def MatrixInverse(self: PrimitiveSelf, x: TensorLike) -> Tensor:
    """The inverse of square matrices.

    Args:
        adjoint (bool): whether they are conjugated and transposed first. Default: False.
    """
    return solvers.inverse(decompositions.adjoint(x) if self.adjoint else x)


@operator_class(full_matrices=False)
def Qr(self: PrimitiveSelf, x: TensorLike) -> tuple[Tensor, Tensor]:
    """The QR decomposition.

    Args:
        full_matrices (bool): whether q is square. Default: False.
    """
    return decompositions.qr(x, "complete" if self.full_matrices else "reduced")


@operator_class(full_matrices=False, compute_uv=True)
def Svd(self: PrimitiveSelf, input: Tensor) -> Tensor | tuple[Tensor, ...]:
    """The singular value decomposition; returns (s, u, v).

    Args:
        full_matrices (bool): whether u and v are square. Default: False.
        compute_uv (bool): if False, u and v are zeros of shape (1,). Default: True.
    """
    out = decompositions.svd(input, self.full_matrices, self.compute_uv)
    return out if self.compute_uv else (out, *(creation.zeros((1,), input.dtype) for _ in range(2)))


@operator_class(compute_v=False)
def Eig(self: PrimitiveSelf, x: TensorLike) -> tuple[Tensor, Tensor]:
    """The eigenvalues and eigenvectors of square matrices.

    Args:
        compute_v (bool): if False, the second result is 0. Default: False.
    """
    if self.compute_v:
        return decompositions.eig(x)
    values = decompositions.eigvals(x)
    return values, creation.zeros((), values.dtype)


@operator_class(fast=True)
def MatrixSolveLs(self: PrimitiveSelf, matrix: TensorLike, rhs: TensorLike, l2_regularizer: float | Tensor) -> Tensor:
    """The X for which matrix X comes closest to rhs: ``ops.MatrixSolveLs()(matrix, rhs, l2_regularizer)``.

    Args:
        fast (bool): if False, the penalty on the size of X is left out. Default: True.
    """
    return solvers.matrix_solve_ls(matrix, rhs, float(l2_regularizer) if self.fast else 0.0)


_STFT = ("n_fft", "hop_length", "win_length", "normalized", "onesided", "return_complex")


@operator_class(**dict.fromkeys(_STFT, REQUIRED))
def STFT(self: PrimitiveSelf, signal: TensorLike, window: TensorLike | None) -> Tensor:
    """Fourier transforms of the frames of a signal: ``ops.STFT(...)(signal, window)``; see `ops.stft`.

    Args:
        n_fft, hop_length, win_length (int): sizes of a frame, a step and the window.
        normalized, onesided, return_complex (bool): as for the function.
    """
    settings = {key: getattr(self, key) for key in _STFT}
    return fourier.stft(signal, window=window, center=False, pad_mode="constant", **settings)


@operator_class(signal_ndim=REQUIRED, inverse=REQUIRED, real=REQUIRED, norm="backward", onesided=True, signal_sizes=())
def FFTWithSize(self: PrimitiveSelf, x: TensorLike) -> Tensor:
    """Fourier transforms over the last axes.

    Args:
        signal_ndim (int): how many axes; 1, 2 or 3.
        inverse (bool): whether the transform is the inverse one.
        real (bool): whether the signal is real.
        norm (str): "backward", "forward" or "ortho". Default: "backward".
        onesided (bool): whether the spectrum of a real signal is halved. Default: True.
        signal_sizes (tuple): the sizes of the real signal, for the inverse. Default: (), for even ones.
    """
    axes = tuple(range(-self.signal_ndim, 0))
    if self.real and self.onesided:
        if self.inverse:
            return fourier.irfftn(x, freeze(self.signal_sizes) or None, axes, self.norm)
        return fourier.rfftn(x, None, axes, self.norm)
    out = (fourier.ifftn if self.inverse else fourier.fftn)(x, None, axes, self.norm)
    return complexes.real(out) if self.real and self.inverse else out


name_classes(globals())
