"""Operator classes of arithmetic, comparison, logic, special functions, activations and creation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax.numpy as jnp

from msjax.base.typing import DTypeLike, JaxArray, TensorLike
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import promote, to_float
from msjax.ops.function.array_func import casting, creation, windows
from msjax.ops.function.control.gradient import stop_gradient
from msjax.ops.function.math_func import (
    arithmetic,
    bessel,
    comparison,
    complexes,
    elementary,
    elementwise,
    logic,
    special,
)
from msjax.ops.function.nn_func import activations, gated, softmaxes
from msjax.ops.primitive import REQUIRED, class_form, name_classes, operator_class

if TYPE_CHECKING:
    from msjax.ops.primitive import PrimitiveSelf


# ---- arithmetic

Add = class_form(arithmetic.add)
TensorAdd = class_form(arithmetic.add)
Sub = class_form(arithmetic.sub)
Mul = class_form(arithmetic.mul)
Div = class_form(arithmetic.true_divide)
RealDiv = class_form(arithmetic.tensor_div)
FloorDiv = class_form(arithmetic.floor_divide)
FloorMod = class_form(arithmetic.floor_mod)
Mod = class_form(arithmetic.fmod)
TruncateDiv = class_form(arithmetic.truncate_div)
TruncateMod = class_form(arithmetic.truncate_mod)
Pow = class_form(arithmetic.pow)
Maximum = class_form(elementwise.maximum)
Minimum = class_form(elementwise.minimum)
Fmax = class_form(elementwise.fmax)
Fmin = class_form(elementwise.fmin)
Atan2 = class_form(elementwise.atan2)
Hypot = class_form(elementwise.hypot)
NextAfter = class_form(elementwise.nextafter)
Heaviside = class_form(elementwise.heaviside)
Lerp = class_form(elementwise.lerp)
LerpScalar = class_form(elementwise.lerp)
Addcmul = class_form(arithmetic.addcmul)
Addcdiv = class_form(arithmetic.addcdiv)
AddN = class_form(arithmetic.addn)
AccumulateNV2 = class_form(arithmetic.addn)


@operator_class()
def Round(self: PrimitiveSelf, input: TensorLike, decimals: int = 0) -> Tensor:
    """The input rounded to a number of decimals, halves to the even digit: ``ops.Round()(x)``."""
    return elementary.round(input, decimals=decimals)


@operator(2)
def _div_no_nan(x1: TensorLike, x2: TensorLike) -> JaxArray:
    """x1 / x2, elementwise; 0 where x2 is 0."""
    x, y = promote(x1, x2)
    x, y = to_float(x), to_float(y)
    zero = y == 0
    return jnp.where(zero, 0, x / jnp.where(zero, 1, y))


@operator(2)
def _mul_no_nan(x: TensorLike, y: TensorLike) -> JaxArray:
    """x * y, elementwise; 0 where y is 0, also for an infinite or NaN x."""
    x, y = promote(x, y)
    return jnp.where(y == 0, jnp.where(y == 0, 0, x), x * jnp.where(y == 0, 0, y)).astype(x.dtype)


@operator(2)
def _squared_difference(x: TensorLike, y: TensorLike) -> JaxArray:
    """(x - y)**2, elementwise with broadcasting."""
    x, y = promote(x, y)
    return (x - y) * (x - y)


DivNoNan = class_form(_div_no_nan)
MulNoNan = class_form(_mul_no_nan)
SquaredDifference = class_form(_squared_difference)

# ---- comparison and logic

Equal = class_form(comparison.equal)
NotEqual = class_form(comparison.not_equal)
Greater = class_form(comparison.greater)
GreaterEqual = class_form(comparison.greater_equal)
Less = class_form(comparison.less)
LessEqual = class_form(comparison.less_equal)
ApproximateEqual = class_form(comparison.approximate_equal, tolerance=1e-5)
IsClose = class_form(comparison.isclose, rtol=1e-05, atol=1e-08, equal_nan=False)
LogicalAnd = class_form(logic.logical_and)
LogicalOr = class_form(logic.logical_or)
LogicalXor = class_form(logic.logical_xor)
LogicalNot = class_form(logic.logical_not)
BitwiseAnd = class_form(logic.bitwise_and)
BitwiseOr = class_form(logic.bitwise_or)
BitwiseXor = class_form(logic.bitwise_xor)
LeftShift = class_form(logic.bitwise_left_shift)
RightShift = class_form(logic.bitwise_right_shift)
Invert = class_form(logic.invert)
Gcd = class_form(logic.gcd)
Lcm = class_form(logic.lcm)
PopulationCount = class_form(logic.population_count)
IsNan = class_form(logic.isnan)
IsInf = class_form(logic.isinf)
IsFinite = class_form(logic.isfinite)

# ---- one operand

Neg = class_form(elementary.neg)
Abs = class_form(elementary.abs)
Square = class_form(elementary.square)
Exp = class_form(elementary.exp)
Expm1 = class_form(elementary.expm1)
Log = class_form(elementary.log)
Log1p = class_form(elementary.log1p)
Sqrt = class_form(elementary.sqrt)
Rsqrt = class_form(elementary.rsqrt)
Reciprocal = class_form(elementary.reciprocal)
Inv = class_form(elementary.inv)
Sin = class_form(elementary.sin)
Cos = class_form(elementary.cos)
Tan = class_form(elementary.tan)
Asin = class_form(elementary.asin)
ACos = class_form(elementary.acos)
Atan = class_form(elementary.atan)
Sinh = class_form(elementary.sinh)
Cosh = class_form(elementary.cosh)
Tanh = class_form(elementary.tanh)
Asinh = class_form(elementary.asinh)
Acosh = class_form(elementary.acosh)
Atanh = class_form(elementary.atanh)
Sinc = class_form(elementary.sinc)
Sign = class_form(elementary.sign)
Floor = class_form(elementary.floor)
Ceil = class_form(elementary.ceil)
Trunc = class_form(elementary.trunc)
Rint = class_form(elementary.round)
Logit = class_form(elementary.logit, eps=-1.0)
NanToNum = class_form(elementary.nan_to_num, nan=None, posinf=None, neginf=None)

# ---- complex numbers

Real = class_form(complexes.real)
Imag = class_form(complexes.imag)
Conj = class_form(complexes.conj)
Angle = class_form(complexes.angle)
Polar = class_form(complexes.polar)
Complex = class_form(complexes.complex_of)
ComplexAbs = class_form(elementary.abs)

# ---- special functions

Erf = class_form(special.erf)
Erfc = class_form(special.erfc)
Erfinv = class_form(special.erfinv)
Lgamma = class_form(special.lgamma)
Digamma = class_form(special.digamma)
Polygamma = class_form(special.polygamma)
Igamma = class_form(special.igamma)
Igammac = class_form(special.igammac)
Zeta = class_form(special.zeta)
Betainc = class_form(special.betainc)
Xlogy = class_form(special.xlogy)
Xdivy = class_form(special.xdivy)
Mvlgamma = class_form(special.mvlgamma, p=REQUIRED)
BesselI0 = class_form(bessel.bessel_i0)
BesselI0e = class_form(bessel.bessel_i0e)
BesselI1 = class_form(bessel.bessel_i1)
BesselI1e = class_form(bessel.bessel_i1e)
BesselJ0 = class_form(bessel.bessel_j0)
BesselJ1 = class_form(bessel.bessel_j1)
BesselK0 = class_form(bessel.bessel_k0)
BesselK0e = class_form(bessel.bessel_k0e)
BesselK1 = class_form(bessel.bessel_k1)
BesselK1e = class_form(bessel.bessel_k1e)
BesselY0 = class_form(bessel.bessel_y0)
BesselY1 = class_form(bessel.bessel_y1)

# ---- activations

ReLU = class_form(activations.relu)
ReLU6 = class_form(activations.relu6)
Sigmoid = class_form(activations.sigmoid)
Softsign = class_form(activations.softsign)
HSigmoid = class_form(activations.hardsigmoid)
HSwish = class_form(activations.hardswish)
SeLU = class_form(activations.selu)
Mish = class_form(activations.mish)
FastGeLU = class_form(activations.fast_gelu)
FastGelu = class_form(activations.fast_gelu)
PReLU = class_form(activations.prelu)
Elu = class_form(activations.elu, alpha=1.0)
CeLU = class_form(activations.celu, alpha=1.0)
HShrink = class_form(activations.hardshrink, lambd=0.5)
SoftShrink = class_form(activations.softshrink, lambd=0.5)
GLU = class_form(gated.glu, axis=-1)
Softmax = class_form(softmaxes.softmax, axis=-1)
LogSoftmax = class_form(softmaxes.log_softmax, axis=-1)


def _gelu_by_tanh(input: TensorLike) -> Tensor:
    """input * Phi(input), Phi the normal distribution function, by its approximation with tanh."""
    return activations.gelu(input, "tanh")


GeLU = class_form(_gelu_by_tanh)
Gelu = class_form(_gelu_by_tanh)


@operator_class()
def Softplus(self: PrimitiveSelf, x: TensorLike) -> Tensor:
    """log(1 + exp(x)): ``ops.Softplus()(x)``."""
    return activations.softplus(x, 1, 1e30)


@operator_class()
def LogSoftmaxExt(self: PrimitiveSelf, input: TensorLike, dim: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """log(softmax(input)) along an axis, the last by default: ``ops.LogSoftmaxExt()(input, dim)``."""
    return softmaxes.log_softmax(input if dtype is None else casting.cast(input, dtype), -1 if dim is None else dim)


# ---- others

StopGradient = class_form(stop_gradient)

# ---- creation

Zeros = class_form(creation.zeros)
Ones = class_form(creation.ones)
ZerosLike = class_form(creation.zeros_like)
OnesLike = class_form(creation.ones_like)
Eye = class_form(creation.eye)
Fill = class_form(creation.fill)
FillV2 = class_form(creation.full)
Fills = class_form(creation.fills)
LinSpace = class_form(creation.linspace)
Eps = class_form(creation.eps)
Range = class_form(creation.range, maxlen=1000000)
BartlettWindow = class_form(windows.bartlett_window, periodic=True, dtype=None)
BlackmanWindow = class_form(windows.blackman_window, periodic=True, dtype=None)
HammingWindow = class_form(windows.hamming_window, periodic=True, alpha=0.54, beta=0.46, dtype=None)


@operator_class(steps=10, base=10, dtype=None)
def LogSpace(self: PrimitiveSelf, start: TensorLike, end: TensorLike) -> Tensor:
    """Powers with exponents at equal distances: ``ops.LogSpace()(start, end)``.

    Args:
        steps (int): how many. Default: 10.
        base (int): Default: 10.
        dtype (ms.dtype, optional): Default: None, for Float32.
    """
    return creation.logspace(start, end, self.steps, self.base, dtype=self.dtype or mstype.float32)


name_classes(globals())
