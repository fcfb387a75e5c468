"""Operator classes of arithmetic and activations; linear algebra, reductions and random operators are joined in here."""

from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import promote, to_float
from msjax.ops.function.array_func import casting, creation, windows
from msjax.ops.function.control.gradient import stop_gradient
from msjax.ops.function.math_func import arithmetic, bessel, comparison, complexes, elementary, elementwise, logic, special
from msjax.ops.function.nn_func import activations, softmaxes
from msjax.ops.operations import linalg_ops, random_ops, reduction_ops
from msjax.ops.operations.linalg_ops import *
from msjax.ops.operations.random_ops import *
from msjax.ops.operations.reduction_ops import *
from msjax.ops.primitive import REQUIRED, plain_primitives, primitive_class

__all__ = []

_PLAIN = plain_primitives(
    {
        # arithmetic
        "Add": arithmetic.add,
        "TensorAdd": arithmetic.add,
        "Sub": arithmetic.sub,
        "Mul": arithmetic.mul,
        "Div": arithmetic.true_divide,
        "RealDiv": arithmetic.tensor_div,
        "FloorDiv": arithmetic.floor_divide,
        "FloorMod": arithmetic.floor_mod,
        "Mod": arithmetic.fmod,
        "TruncateDiv": arithmetic.truncate_div,
        "TruncateMod": arithmetic.truncate_mod,
        "Pow": arithmetic.pow,
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
        "Addcmul": arithmetic.addcmul,
        "Addcdiv": arithmetic.addcdiv,
        "AddN": arithmetic.addn,
        "AccumulateNV2": arithmetic.addn,
        # comparison and logic
        "Equal": comparison.equal,
        "NotEqual": comparison.not_equal,
        "Greater": comparison.greater,
        "GreaterEqual": comparison.greater_equal,
        "Less": comparison.less,
        "LessEqual": comparison.less_equal,
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
        # others
        "StopGradient": stop_gradient,
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
globals().update(_PLAIN)
__all__ += list(_PLAIN)
__all__ += linalg_ops.__all__ + reduction_ops.__all__ + random_ops.__all__


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
    lambda self, x, y: comparison.approximate_equal(x, y, self.tolerance),
    """True where |x - y| < tolerance.

    Args:
        tolerance (float): Default: 1e-5.
    """,
)
_define(
    "IsClose",
    {"rtol": 1e-05, "atol": 1e-08, "equal_nan": False},
    lambda self, input, other: comparison.isclose(input, other, self.rtol, self.atol, self.equal_nan),
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
    lambda self, input: softmaxes.softmax(input, self.axis),
    """exp(x) / sum(exp(x)) along an axis.

    Args:
        axis (int or tuple): Default: -1.
    """,
)
_define(
    "LogSoftmax",
    {"axis": -1},
    lambda self, logits: softmaxes.log_softmax(logits, self.axis),
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

_define(
    "LogSoftmaxExt",
    {},
    lambda self, input, dim=None, dtype=None: softmaxes.log_softmax(
        input if dtype is None else casting.cast(input, dtype), -1 if dim is None else dim
    ),
    "log(softmax(x)) along an axis, the last by default: ``ops.LogSoftmaxExt()(x, dim)``.",
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
