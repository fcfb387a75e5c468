"""Operator classes of linear algebra and Fourier transforms."""

from msjax.common.tensor import Tensor
from msjax.errors import describe
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.array_func import arrange, creation
from msjax.ops.function.linalg_func import decompositions, layers, linear, solvers
from msjax.ops.function.math_func import complexes, fourier, norms
from msjax.ops.primitive import REQUIRED, plain_primitives, primitive_class

__all__ = []

_PLAIN = plain_primitives(
    {
        "Dense": layers.dense,
        "Ger": linear.outer,
        "Trace": decompositions.trace,
        "MatrixDeterminant": decompositions.det,
        "LogMatrixDeterminant": decompositions.slogdet,
        "MatrixExp": decompositions.matrix_exp,
        "MatrixLogarithm": decompositions.matrix_logarithm,
        "ConjugateTranspose": lambda x, perm: complexes.conj(arrange.transpose(x, perm)),
        "Geqrf": decompositions.geqrf,
        "Orgqr": decompositions.orgqr,
        "TridiagonalMatMul": solvers.tridiagonal_matmul,
        "LuSolve": lambda b, LU_data, LU_pivots: solvers.lu_solve(b, LU_data, LU_pivots),
    }
)
_PLAIN["LuSolve"].__doc__ = solvers.lu_solve.__doc__
_PLAIN["ConjugateTranspose"].__doc__ = "The complex conjugate with its axes in another order."
globals().update(_PLAIN)
__all__ += list(_PLAIN)


def _define(name, attributes, call, doc):
    globals()[name] = primitive_class(name, attributes, call, doc)
    __all__.append(name)


def _matrix_axes(name, x, y):
    for v in (x, y):
        if v.ndim != 2:
            raise ValueError(f"For '{name}', the operands should be matrices, but got {describe(x)} and {describe(y)}.")


def _contracted(primitive, x, y):
    """Check that the axes that a product sums over are equal."""
    for v in (x, y):
        if not hasattr(v, "ndim"):
            raise TypeError(f"For '{primitive.name}', the operands should be Tensors, but got {describe(x)} and {describe(y)}.")
    if x.ndim > 1 and y.ndim > 1 and x.shape[-2 if primitive.transpose_a else -1] != y.shape[-1 if primitive.transpose_b else -2]:
        raise ValueError(f"For '{primitive.name}', the shapes {tuple(x.shape)} and {tuple(y.shape)} can't be multiplied.")


def _matmul(self, input, mat2):
    if hasattr(input, "ndim") and hasattr(mat2, "ndim"):
        _matrix_axes("MatMul", input, mat2)
    _contracted(self, input, mat2)
    if not (self.transpose_a or self.transpose_b):
        return linear.matmul(input, mat2)
    return linear.matmul_transposed(input, mat2, self.transpose_a, self.transpose_b)


def _batch_matmul(self, x, y):
    _contracted(self, x, y)
    if not (self.transpose_a or self.transpose_b):
        return linear.matmul(x, y)
    return linear.matmul_transposed(x, y, self.transpose_a, self.transpose_b)


_define(
    "MatMul",
    {"transpose_a": False, "transpose_b": False},
    _matmul,
    """The product of two matrices.

    Args:
        transpose_a, transpose_b (bool): whether a matrix is transposed first. Default: False.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> x = ms.Tensor([[1.0, 2.0]])
        >>> print(ops.MatMul(transpose_b=True)(x, x))
        [[5.]]
    """,
)
_define(
    "BatchMatMul",
    {"transpose_a": False, "transpose_b": False},
    _batch_matmul,
    """The products of two batches of matrices.

    Args:
        transpose_a, transpose_b (bool): whether the last two axes of an operand are exchanged first. Default: False.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> x = ms.Tensor([[[1.0, 2.0]]])
        >>> print(ops.BatchMatMul(transpose_b=True)(x, x))
        [[[5.]]]
    """,
)


def _einsum(self, operands):
    operands = [operands] if isinstance(operands, Tensor) else list(operands)
    return linear.einsum(self.equation, *operands)


_define(
    "Einsum",
    {"equation": REQUIRED},
    _einsum,
    """Sums of products in Einstein's notation: ``ops.Einsum("ij,jk->ik")((x, y))``.

    Args:
        equation (str): see `ops.einsum`.
    """,
)
_define(
    "Cross",
    {"dim": -65530},
    lambda self, input, other: linear.cross(input, other, None if self.dim == -65530 else self.dim),
    """The vector product along an axis of size 3.

    Args:
        dim (int): the axis. Default: -65530, for the first axis of size 3.
    """,
)
_define(
    "Cdist",
    {"p": 2.0},
    lambda self, x1, x2: norms.cdist(x1, x2, self.p),
    """The p-norm distance of each row of one operand to each row of the other.

    Args:
        p (float): Default: 2.0.
    """,
)
_define(
    "Pdist",
    {"p": 2.0},
    lambda self, x: norms.pdist(x, self.p),
    """The p-norm distance of each row to each later row.

    Args:
        p (float): Default: 2.0.
    """,
)
_define(
    "MatrixInverse",
    {"adjoint": False},
    lambda self, x: solvers.inverse(decompositions.adjoint(x) if self.adjoint else x),
    """The inverse of square matrices.

    Args:
        adjoint (bool): whether they are conjugated and transposed first. Default: False.
    """,
)
_define(
    "MatrixPower",
    {"n": REQUIRED},
    lambda self, x: decompositions.matrix_power(x, self.n),
    """Square matrices to the power of an int.

    Args:
        n (int): the exponent.
    """,
)
_define(
    "MatrixSolve",
    {"adjoint": False},
    lambda self, matrix, rhs: solvers.matrix_solve(matrix, rhs, self.adjoint),
    """The solution X of matrix X = rhs.

    Args:
        adjoint (bool): whether the matrix is conjugated and transposed first. Default: False.
    """,
)
_define(
    "MatrixTriangularSolve",
    {"lower": True, "adjoint": False},
    lambda self, matrix, rhs: solvers.triangular_solve(matrix, rhs, self.lower, self.adjoint),
    """The solution X of matrix X = rhs for a triangular matrix.

    Args:
        lower (bool): whether the matrix is lower triangular. Default: True.
        adjoint (bool): whether it is conjugated and transposed first. Default: False.
    """,
)
_define(
    "Cholesky",
    {"upper": False},
    lambda self, input_x: decompositions.cholesky(input_x, self.upper),
    """The Cholesky factor of symmetric positive definite matrices.

    Args:
        upper (bool): whether the factor is upper triangular. Default: False.
    """,
)
_define(
    "CholeskyInverse",
    {"upper": False},
    lambda self, input_x: solvers.cholesky_inverse(input_x, self.upper),
    """The inverse of a matrix from its Cholesky factor.

    Args:
        upper (bool): whether the factor is upper triangular. Default: False.
    """,
)
_define(
    "CholeskySolve",
    {"upper": False},
    lambda self, x1, x2: solvers.cholesky_solve(x1, x2, self.upper),
    """The solution X of A X = x1, from the Cholesky factor x2 of A.

    Args:
        upper (bool): whether the factor is upper triangular. Default: False.
    """,
)
_define(
    "Qr",
    {"full_matrices": False},
    lambda self, x: decompositions.qr(x, "complete" if self.full_matrices else "reduced"),
    """The QR decomposition.

    Args:
        full_matrices (bool): whether q is square. Default: False.
    """,
)
_define(
    "Ormqr",
    {"left": True, "transpose": False},
    lambda self, x, tau, other: decompositions.ormqr(x, tau, other, self.left, self.transpose),
    """The product of the orthogonal matrix that `Geqrf` describes and another matrix.

    Args:
        left (bool): whether the orthogonal matrix stands left. Default: True.
        transpose (bool): whether it is transposed first. Default: False.
    """,
)


def _svd(self, input):
    out = decompositions.svd(input, self.full_matrices, self.compute_uv)
    if self.compute_uv:
        return out
    return out, creation.zeros((1,), input.dtype), creation.zeros((1,), input.dtype)


_define(
    "Svd",
    {"full_matrices": False, "compute_uv": True},
    _svd,
    """The singular value decomposition; returns (s, u, v).

    Args:
        full_matrices (bool): whether u and v are square. Default: False.
        compute_uv (bool): if False, u and v are zeros of shape (1,). Default: True.
    """,
)


def _eig(self, x):
    if self.compute_v:
        return decompositions.eig(x)
    values = decompositions.eigvals(x)
    return values, creation.zeros((), values.dtype)


_define(
    "Eig",
    {"compute_v": False},
    _eig,
    """The eigenvalues and eigenvectors of square matrices.

    Args:
        compute_v (bool): if False, the second result is 0. Default: False.
    """,
)
_define(
    "Lstsq",
    {"fast": True, "l2_regularizer": 0.0},
    lambda self, x, a: solvers.lstsq(x, a),
    """The X for which x X comes closest to a, in the sum of squares.

    Args:
        fast (bool): without effect. Default: True.
        l2_regularizer (float): without effect, as in MindSpore. Default: 0.0.
    """,
)
_define(
    "MatrixSolveLs",
    {"fast": True},
    lambda self, matrix, rhs, l2_regularizer: solvers.matrix_solve_ls(matrix, rhs, float(l2_regularizer) if self.fast else 0.0),
    """The X for which matrix X comes closest to rhs: ``ops.MatrixSolveLs()(matrix, rhs, l2_regularizer)``.

    Args:
        fast (bool): if False, the penalty on the size of X is left out. Default: True.
    """,
)
_define(
    "STFT",
    {
        "n_fft": REQUIRED,
        "hop_length": REQUIRED,
        "win_length": REQUIRED,
        "normalized": REQUIRED,
        "onesided": REQUIRED,
        "return_complex": REQUIRED,
    },
    lambda self, signal, window: fourier.stft(
        signal,
        self.n_fft,
        self.hop_length,
        self.win_length,
        window,
        False,
        "constant",
        self.normalized,
        self.onesided,
        self.return_complex,
    ),
    """Fourier transforms of the frames of a signal: ``ops.STFT(...)(signal, window)``; see `ops.stft`.

    Args:
        n_fft, hop_length, win_length (int): sizes of a frame, a step and the window.
        normalized, onesided, return_complex (bool): as for the function.
    """,
)
_define(
    "LuUnpack",
    {"unpack_data": True, "unpack_pivots": True},
    lambda self, LU_data, LU_pivots: decompositions.lu_unpack(LU_data, LU_pivots, self.unpack_data, self.unpack_pivots),
    """The permutation matrix and the factors of an LU decomposition.

    Args:
        unpack_data, unpack_pivots (bool): what is wanted. Default: True.
    """,
)


def _fft_with_size(self, x):
    n = self.signal_ndim
    axes = tuple(range(-n, 0))
    if not self.real:
        function = fourier.ifftn if self.inverse else fourier.fftn
        return function(x, None, axes, self.norm)
    if not self.inverse:
        if self.onesided:
            return fourier.rfftn(x, None, axes, self.norm)
        return fourier.fftn(x, None, axes, self.norm)
    if not self.onesided:
        return complexes.real(fourier.ifftn(x, None, axes, self.norm))
    return fourier.irfftn(x, freeze(self.signal_sizes) or None, axes, self.norm)


_define(
    "FFTWithSize",
    {"signal_ndim": REQUIRED, "inverse": REQUIRED, "real": REQUIRED, "norm": "backward", "onesided": True, "signal_sizes": ()},
    _fft_with_size,
    """Fourier transforms over the last axes.

    Args:
        signal_ndim (int): how many axes; 1, 2 or 3.
        inverse (bool): whether the transform is the inverse one.
        real (bool): whether the signal is real.
        norm (str): "backward", "forward" or "ortho". Default: "backward".
        onesided (bool): whether the spectrum of a real signal is halved. Default: True.
        signal_sizes (tuple): the sizes of the real signal, for the inverse. Default: (), for even ones.
    """,
)
