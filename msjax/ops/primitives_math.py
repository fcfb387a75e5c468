"""Operator classes of arithmetic, activations and linear algebra; reductions and random operators are joined in here."""

from msjax.common.tensor import Tensor
from msjax.errors import describe
from msjax.ops import (
    activations,
    bessel,
    complexes,
    creation,
    decompositions,
    elementary,
    elementwise,
    fourier,
    linear,
    logic,
    norms,
    primitives_random,
    primitives_reduction,
    special,
    windows,
)
from msjax.ops.dispatch import freeze, operator
from msjax.ops.primitive import REQUIRED, plain_primitives, primitive_class
from msjax.ops.primitives_random import *
from msjax.ops.primitives_reduction import *
from msjax.ops.promote import promote, to_float

__all__ = []

_PLAIN = plain_primitives(
    {
        # arithmetic
        "Add": elementwise.add,
        "TensorAdd": elementwise.add,
        "Sub": elementwise.sub,
        "Mul": elementwise.mul,
        "Div": elementwise.true_divide,
        "RealDiv": elementwise.tensor_div,
        "FloorDiv": elementwise.floor_divide,
        "FloorMod": elementwise.floor_mod,
        "Mod": elementwise.fmod,
        "TruncateDiv": elementwise.truncate_div,
        "TruncateMod": elementwise.truncate_mod,
        "Pow": elementwise.pow,
        "Maximum": elementwise.maximum,
        "Minimum": elementwise.minimum,
        "Fmax": elementwise.fmax,
        "Fmin": elementwise.fmin,
        "Atan2": elementwise.atan2,
        "Hypot": elementwise.hypot,
        "NextAfter": elementwise.nextafter,
        "Heaviside": elementwise.heaviside,
        "Lerp": elementwise.lerp,
        "LerpScalar": elementwise.lerp,
        "Addcmul": elementwise.addcmul,
        "Addcdiv": elementwise.addcdiv,
        "AddN": elementwise.addn,
        "AccumulateNV2": elementwise.addn,
        # comparison and logic
        "Equal": elementwise.equal,
        "NotEqual": elementwise.not_equal,
        "Greater": elementwise.greater,
        "GreaterEqual": elementwise.greater_equal,
        "Less": elementwise.less,
        "LessEqual": elementwise.less_equal,
        "LogicalAnd": logic.logical_and,
        "LogicalOr": logic.logical_or,
        "LogicalXor": logic.logical_xor,
        "LogicalNot": logic.logical_not,
        "BitwiseAnd": logic.bitwise_and,
        "BitwiseOr": logic.bitwise_or,
        "BitwiseXor": logic.bitwise_xor,
        "LeftShift": logic.bitwise_left_shift,
        "RightShift": logic.bitwise_right_shift,
        "Invert": logic.invert,
        "Gcd": logic.gcd,
        "Lcm": logic.lcm,
        "PopulationCount": logic.population_count,
        "IsNan": logic.isnan,
        "IsInf": logic.isinf,
        "IsFinite": logic.isfinite,
        # one operand
        "Neg": elementary.neg,
        "Abs": elementary.abs,
        "Square": elementary.square,
        "Exp": elementary.exp,
        "Expm1": elementary.expm1,
        "Log": elementary.log,
        "Log1p": elementary.log1p,
        "Sqrt": elementary.sqrt,
        "Rsqrt": elementary.rsqrt,
        "Reciprocal": elementary.reciprocal,
        "Inv": elementary.inv,
        "Sin": elementary.sin,
        "Cos": elementary.cos,
        "Tan": elementary.tan,
        "Asin": elementary.asin,
        "ACos": elementary.acos,
        "Atan": elementary.atan,
        "Sinh": elementary.sinh,
        "Cosh": elementary.cosh,
        "Tanh": elementary.tanh,
        "Asinh": elementary.asinh,
        "Acosh": elementary.acosh,
        "Atanh": elementary.atanh,
        "Sinc": elementary.sinc,
        "Sign": elementary.sign,
        "Floor": elementary.floor,
        "Ceil": elementary.ceil,
        "Trunc": elementary.trunc,
        "Rint": elementary.round,
        # complex numbers
        "Real": complexes.real,
        "Imag": complexes.imag,
        "Conj": complexes.conj,
        "Angle": complexes.angle,
        "Polar": complexes.polar,
        "Complex": complexes.complex_of,
        "ComplexAbs": elementary.abs,
        # special functions
        "Erf": special.erf,
        "Erfc": special.erfc,
        "Erfinv": special.erfinv,
        "Lgamma": special.lgamma,
        "Digamma": special.digamma,
        "Polygamma": special.polygamma,
        "Igamma": special.igamma,
        "Igammac": special.igammac,
        "Zeta": special.zeta,
        "Betainc": special.betainc,
        "Xlogy": special.xlogy,
        "Xdivy": special.xdivy,
        **{
            "Bessel" + name.removeprefix("bessel_").capitalize(): getattr(bessel, name) for name in bessel.__all__ if name != "i0"
        },
        # activations
        "ReLU": lambda input: activations.relu(input),
        "ReLU6": activations.relu6,
        "Sigmoid": activations.sigmoid,
        "Softsign": activations.softsign,
        "HSigmoid": activations.hardsigmoid,
        "HSwish": activations.hardswish,
        "SeLU": activations.selu,
        "Mish": activations.mish,
        "FastGeLU": activations.fast_gelu,
        "FastGelu": activations.fast_gelu,
        "PReLU": activations.prelu,
        # linear algebra
        "Dense": linear.dense,
        "Ger": linear.outer,
        "Trace": decompositions.trace,
        "MatrixDeterminant": decompositions.det,
        "LogMatrixDeterminant": decompositions.slogdet,
        "MatrixExp": decompositions.matrix_exp,
        "MatrixLogarithm": decompositions.matrix_logarithm,
        "ConjugateTranspose": lambda x, perm: complexes.conj(_transpose(x, perm)),
        "Geqrf": decompositions.geqrf,
        "Orgqr": decompositions.orgqr,
        "LuSolve": lambda b, LU_data, LU_pivots: decompositions.lu_solve(b, LU_data, LU_pivots),
        # creation
        "Zeros": creation.zeros,
        "Ones": creation.ones,
        "ZerosLike": creation.zeros_like,
        "OnesLike": creation.ones_like,
        "Eye": creation.eye,
        "Fill": creation.fill,
        "FillV2": lambda shape, value: creation.full(shape, value),
        "Fills": creation.fills,
        "LinSpace": creation.linspace,
        "Eps": creation.eps,
    }
)
_PLAIN["ReLU"].__doc__ = f"{activations.relu.__doc__.splitlines()[0]}\n\n    The class form of an operator: ``ops.ReLU()(x)``."
_PLAIN[
    "FillV2"
].__doc__ = f"{creation.full.__doc__.splitlines()[0]}\n\n    The class form of an operator: ``ops.FillV2()(shape, value)``."
_PLAIN["LuSolve"].__doc__ = decompositions.lu_solve.__doc__
_PLAIN["ConjugateTranspose"].__doc__ = "The complex conjugate with its axes in another order."
globals().update(_PLAIN)
__all__ += list(_PLAIN)
__all__ += primitives_reduction.__all__ + primitives_random.__all__


def _transpose(x, perm):
    from msjax.ops import arrange

    return arrange.transpose(x, perm)


def _define(name, attributes, call, doc):
    globals()[name] = primitive_class(name, attributes, call, doc)
    __all__.append(name)


# ---- elementwise, with attributes


@operator(2)
def _div_no_nan(x1, x2):
    x, y = promote(x1, x2)
    x, y = to_float(x), to_float(y)
    zero = y == 0
    return _where(zero, 0, x / _where(zero, 1, y))


@operator(2)
def _mul_no_nan(x, y):
    x, y = promote(x, y)
    return _where(y == 0, _where(y == 0, 0, x), x * _where(y == 0, 0, y)).astype(x.dtype)


@operator(2)
def _squared_difference(x, y):
    x, y = promote(x, y)
    return (x - y) * (x - y)


def _where(condition, x, y):
    import jax.numpy as jnp

    return jnp.where(condition, x, y)


for _name, _function, _doc in (
    ("DivNoNan", _div_no_nan, "x1 / x2, elementwise; 0 where x2 is 0."),
    ("MulNoNan", _mul_no_nan, "x * y, elementwise; 0 where y is 0, also for an infinite or NaN x."),
    ("SquaredDifference", _squared_difference, "(x - y)**2, elementwise with broadcasting."),
):
    globals().update(plain_primitives({_name: _function}))
    globals()[_name].__doc__ = _doc
    __all__.append(_name)

_define(
    "Round",
    {},
    lambda self, input, decimals=0: elementary.round(input, decimals=decimals),
    "The input rounded to a number of decimals, halves to the even digit: ``ops.Round()(x)``.",
)
_define(
    "Logit",
    {"eps": -1.0},
    lambda self, input: elementary.logit(input, self.eps),
    """log(x / (1 - x)).

    Args:
        eps (float): if not negative, x is limited to [eps, 1 - eps] first. Default: -1.0.
    """,
)
_define(
    "NanToNum",
    {"nan": None, "posinf": None, "neginf": None},
    lambda self, input: elementary.nan_to_num(input, self.nan, self.posinf, self.neginf),
    """The input with NaN and infinities replaced.

    Args:
        nan, posinf, neginf (number, optional): see `ops.nan_to_num`. Default: None.
    """,
)
_define(
    "ApproximateEqual",
    {"tolerance": 1e-5},
    lambda self, x, y: elementwise.approximate_equal(x, y, self.tolerance),
    """True where |x - y| < tolerance.

    Args:
        tolerance (float): Default: 1e-5.
    """,
)
_define(
    "IsClose",
    {"rtol": 1e-05, "atol": 1e-08, "equal_nan": False},
    lambda self, input, other: elementwise.isclose(input, other, self.rtol, self.atol, self.equal_nan),
    """True where |input - other| <= atol + rtol * |other|.

    Args:
        rtol, atol (float): Default: 1e-5 and 1e-8.
        equal_nan (bool): whether two NaN are close. Default: False.
    """,
)
_define(
    "Mvlgamma",
    {"p": REQUIRED},
    lambda self, x: special.mvlgamma(x, self.p),
    """log of the multivariate gamma function.

    Args:
        p (int): its dimension.
    """,
)

# ---- activations, with attributes

_define(
    "Softmax",
    {"axis": -1},
    lambda self, input: activations.softmax(input, self.axis),
    """exp(x) / sum(exp(x)) along an axis.

    Args:
        axis (int or tuple): Default: -1.
    """,
)
_define(
    "LogSoftmax",
    {"axis": -1},
    lambda self, logits: activations.log_softmax(logits, self.axis),
    """log(softmax(x)) along an axis, computed without overflow.

    Args:
        axis (int): Default: -1.
    """,
)
_define(
    "Elu",
    {"alpha": 1.0},
    lambda self, input_x: activations.elu(input_x, self.alpha),
    """x where positive, alpha * (exp(x) - 1) elsewhere.

    Args:
        alpha (float): Default: 1.0.
    """,
)
_define(
    "CeLU",
    {"alpha": 1.0},
    lambda self, x: activations.celu(x, self.alpha),
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).

    Args:
        alpha (float): not 0. Default: 1.0.
    """,
)
_define(
    "HShrink",
    {"lambd": 0.5},
    lambda self, input: activations.hardshrink(input, self.lambd),
    """x where |x| > lambd, 0 elsewhere.

    Args:
        lambd (float): Default: 0.5.
    """,
)
_define(
    "SoftShrink",
    {"lambd": 0.5},
    lambda self, input: activations.softshrink(input, self.lambd),
    """x moved towards 0 by lambd, and 0 where |x| <= lambd.

    Args:
        lambd (float): Default: 0.5.
    """,
)
_define(
    "GLU",
    {"axis": -1},
    lambda self, x: activations.glu(x, self.axis),
    """The first half along an axis times the sigmoid of the second half.

    Args:
        axis (int): Default: -1.
    """,
)
for _name in ("GeLU", "Gelu"):
    _define(
        _name,
        {},
        lambda self, input: activations.gelu(input, "tanh"),
        "x * Phi(x), with the formula with tanh: ``ops.GeLU()(x)``.",
    )
_define("Softplus", {}, lambda self, x: activations.softplus(x, 1, 1e30), "log(1 + exp(x)): ``ops.Softplus()(x)``.")

# ---- linear algebra, with attributes


def _matrix_axes(name, x, y):
    for v in (x, y):
        if v.ndim != 2:
            raise ValueError(f"For '{name}', the operands should be matrices, but got {describe(x)} and {describe(y)}.")


def _matmul(self, input, mat2):
    _matrix_axes("MatMul", input, mat2)
    if not (self.transpose_a or self.transpose_b):
        return linear.matmul(input, mat2)
    return linear.matmul_transposed(input, mat2, self.transpose_a, self.transpose_b)


def _batch_matmul(self, x, y):
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
    lambda self, x: decompositions.inverse(decompositions.adjoint(x) if self.adjoint else x),
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
    lambda self, matrix, rhs: decompositions.matrix_solve(matrix, rhs, self.adjoint),
    """The solution X of matrix X = rhs.

    Args:
        adjoint (bool): whether the matrix is conjugated and transposed first. Default: False.
    """,
)
_define(
    "MatrixTriangularSolve",
    {"lower": True, "adjoint": False},
    lambda self, matrix, rhs: decompositions.triangular_solve(matrix, rhs, self.lower, self.adjoint),
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
    lambda self, input_x: decompositions.cholesky_inverse(input_x, self.upper),
    """The inverse of a matrix from its Cholesky factor.

    Args:
        upper (bool): whether the factor is upper triangular. Default: False.
    """,
)
_define(
    "CholeskySolve",
    {"upper": False},
    lambda self, x1, x2: decompositions.cholesky_solve(x1, x2, self.upper),
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
    return values, creation.zeros((1,), values.dtype)


_define(
    "Eig",
    {"compute_v": False},
    _eig,
    """The eigenvalues and eigenvectors of square matrices.

    Args:
        compute_v (bool): if False, the second result is a zero. Default: False.
    """,
)
_define(
    "Lstsq",
    {"fast": True, "l2_regularizer": 0.0},
    lambda self, x, a: decompositions.lstsq(x, a),
    """The X for which x X comes closest to a, in the sum of squares.

    Args:
        fast (bool): without effect. Default: True.
        l2_regularizer (float): without effect, as in MindSpore. Default: 0.0.
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

# ---- creation, with attributes

_define(
    "Range",
    {"maxlen": 1000000},
    lambda self, start, end, step: creation.range(start, end, step, self.maxlen),
    """Numbers from start up to, without, end.

    Args:
        maxlen (int): the most numbers that the result may have. Default: 1000000.
    """,
)
_define(
    "LogSpace",
    {"steps": 10, "base": 10, "dtype": None},
    lambda self, start, end: creation.logspace(
        start, end, self.steps, self.base, **({} if self.dtype is None else {"dtype": self.dtype})
    ),
    """Powers with exponents at equal distances.

    Args:
        steps (int): how many. Default: 10.
        base (int): Default: 10.
        dtype (ms.dtype, optional): Default: None, for Float32.
    """,
)
_WINDOW = """{}

    Args:
        periodic (bool): whether the window continues evenly when repeated; else it is symmetric. Default: True.
        dtype (ms.dtype, optional): Default: None, for Float32.
    """
_define(
    "BartlettWindow",
    {"periodic": True, "dtype": None},
    lambda self, window_length: windows.bartlett_window(window_length, self.periodic, dtype=self.dtype),
    _WINDOW.format("The triangular window."),
)
_define(
    "BlackmanWindow",
    {"periodic": True, "dtype": None},
    lambda self, window_length: windows.blackman_window(window_length, self.periodic, dtype=self.dtype),
    _WINDOW.format("Blackman's window."),
)
_define(
    "HammingWindow",
    {"periodic": True, "alpha": 0.54, "beta": 0.46, "dtype": None},
    lambda self, window_length: windows.hamming_window(window_length, self.periodic, self.alpha, self.beta, dtype=self.dtype),
    """Hamming's window, alpha - beta * cos.

    Args:
        periodic (bool): whether the window continues evenly when repeated; else it is symmetric. Default: True.
        alpha, beta (float): Default: 0.54 and 0.46.
        dtype (ms.dtype, optional): Default: None, for Float32.
    """,
)
