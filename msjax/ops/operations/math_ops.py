"""Operator classes of arithmetic, comparison, logic, special functions and creation."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.typing import JaxArray, Number
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import alike, to_float
from msjax.ops.function.array_func import creation
from msjax.ops.function.control.gradient import stop_gradient
from msjax.ops.function.math_func import arithmetic, complexes, elementary, elementwise, logic, special
from msjax.ops.primitive import Form, OfInput

__all__ = [
    "Add", "TensorAdd", "Sub", "Mul", "Div", "RealDiv", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod", "Pow",
    "Maximum", "Minimum", "Fmax", "Fmin", "Atan2", "Hypot", "NextAfter", "Heaviside", "Lerp", "LerpScalar", "Addcmul",
    "Addcdiv", "AddN", "AccumulateNV2", "Round", "DivNoNan", "MulNoNan", "SquaredDifference", "Equal", "NotEqual", "Greater",
    "GreaterEqual", "Less", "LessEqual", "ApproximateEqual", "IsClose", "LogicalAnd", "LogicalOr", "LogicalXor", "LogicalNot",
    "BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift", "Invert", "Gcd", "Lcm", "PopulationCount", "IsNan",
    "IsInf", "IsFinite", "Neg", "Abs", "Square", "Exp", "Expm1", "Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Sin",
    "Cos", "Tan", "Asin", "ACos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Sinc", "Sign", "Floor", "Ceil",
    "Trunc", "Rint", "Logit", "NanToNum", "Real", "Imag", "Conj", "Angle", "Polar", "Complex", "ComplexAbs", "Erf", "Erfc",
    "Erfinv", "Lgamma", "Digamma", "Polygamma", "Igamma", "Igammac", "Zeta", "Betainc", "Xlogy", "Xdivy", "Mvlgamma",
    "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1",
    "BesselK1e", "BesselY0", "BesselY1", "StopGradient", "Zeros", "Ones", "ZerosLike", "OnesLike", "Eye", "Fill", "FillV2",
    "Fills", "LinSpace", "Eps", "Range", "BartlettWindow", "BlackmanWindow", "HammingWindow", "LogSpace",
]  # fmt: skip


@operator(2)
def _div_no_nan(x1: TensorLike, x2: TensorLike) -> JaxArray:
    """x1 / x2, elementwise; 0 where x2 is 0."""
    x, y = alike(x1, x2)
    x, y = to_float(x), to_float(y)
    zero = y == 0
    return jnp.where(zero, 0, x / jnp.where(zero, 1, y))


@operator(2)
def _mul_no_nan(x: TensorLike, y: TensorLike) -> JaxArray:
    """x * y, elementwise; 0 where y is 0, also for an infinite or NaN x."""
    x, y = alike(x, y)
    return jnp.where(y == 0, jnp.where(y == 0, 0, x), x * jnp.where(y == 0, 0, y)).astype(x.dtype)


@operator(2)
def _squared_difference(x: TensorLike, y: TensorLike) -> JaxArray:
    """(x - y)**2, elementwise with broadcasting."""
    x, y = alike(x, y)
    return (x - y) * (x - y)


class _Window(Form):
    periodic: bool = True
    dtype: Type | None = None

    def __call__(self, window_length: int | Tensor) -> Tensor:
        return self._function(window_length, self.periodic, dtype=self.dtype)


# fmt: off
# ---- arithmetic
class Add(Form): __call__ = staticmethod(arithmetic.add)
class TensorAdd(Form): __call__ = staticmethod(arithmetic.add)
class Sub(Form): __call__ = staticmethod(arithmetic.sub)
class Mul(Form): __call__ = staticmethod(arithmetic.mul)
class Div(Form): __call__ = staticmethod(arithmetic.true_divide)
class RealDiv(Form): __call__ = staticmethod(arithmetic.tensor_div)
class FloorDiv(Form): __call__ = staticmethod(arithmetic.floor_divide)
class FloorMod(Form): __call__ = staticmethod(arithmetic.floor_mod)
class Mod(Form): __call__ = staticmethod(arithmetic.fmod)
class TruncateDiv(Form): __call__ = staticmethod(arithmetic.truncate_div)
class TruncateMod(Form): __call__ = staticmethod(arithmetic.truncate_mod)
class Pow(Form): __call__ = staticmethod(arithmetic.pow)
class Maximum(Form): __call__ = staticmethod(elementwise.maximum)
class Minimum(Form): __call__ = staticmethod(elementwise.minimum)
class Fmax(Form): __call__ = staticmethod(elementwise.fmax)
class Fmin(Form): __call__ = staticmethod(elementwise.fmin)
class Atan2(Form): __call__ = staticmethod(elementwise.atan2)
class Hypot(Form): __call__ = staticmethod(elementwise.hypot)
class NextAfter(Form): __call__ = staticmethod(elementwise.nextafter)
class Heaviside(Form): __call__ = staticmethod(elementwise.heaviside)
class Lerp(Form): __call__ = staticmethod(elementwise.lerp)
class LerpScalar(Form): __call__ = staticmethod(elementwise.lerp)
class Addcmul(Form): __call__ = staticmethod(arithmetic.addcmul)
class Addcdiv(Form): __call__ = staticmethod(arithmetic.addcdiv)
class AddN(Form): __call__ = staticmethod(arithmetic.addn)
class AccumulateNV2(Form): __call__ = staticmethod(arithmetic.addn)
class DivNoNan(Form): __call__ = staticmethod(_div_no_nan)
class MulNoNan(Form): __call__ = staticmethod(_mul_no_nan)
class SquaredDifference(Form): __call__ = staticmethod(_squared_difference)
# ---- comparison and logic
class Equal(Form): __call__ = staticmethod(logic.equal)
class NotEqual(Form): __call__ = staticmethod(logic.not_equal)
class Greater(Form): __call__ = staticmethod(logic.greater)
class GreaterEqual(Form): __call__ = staticmethod(logic.greater_equal)
class Less(Form): __call__ = staticmethod(logic.less)
class LessEqual(Form): __call__ = staticmethod(logic.less_equal)
class LogicalAnd(Form): __call__ = staticmethod(logic.logical_and)
class LogicalOr(Form): __call__ = staticmethod(logic.logical_or)
class LogicalXor(Form): __call__ = staticmethod(logic.logical_xor)
class LogicalNot(Form): __call__ = staticmethod(logic.logical_not)
class BitwiseAnd(Form): __call__ = staticmethod(logic.bitwise_and)
class BitwiseOr(Form): __call__ = staticmethod(logic.bitwise_or)
class BitwiseXor(Form): __call__ = staticmethod(logic.bitwise_xor)
class LeftShift(Form): __call__ = staticmethod(logic.bitwise_left_shift)
class RightShift(Form): __call__ = staticmethod(logic.bitwise_right_shift)
class Invert(Form): __call__ = staticmethod(logic.invert)
class Gcd(Form): __call__ = staticmethod(logic.gcd)
class Lcm(Form): __call__ = staticmethod(logic.lcm)
class PopulationCount(Form): __call__ = staticmethod(logic.population_count)
class IsNan(Form): __call__ = staticmethod(logic.isnan)
class IsInf(Form): __call__ = staticmethod(logic.isinf)
class IsFinite(Form): __call__ = staticmethod(logic.isfinite)
# ---- one operand
class Neg(Form): __call__ = staticmethod(elementary.neg)
class Abs(Form): __call__ = staticmethod(elementary.abs)
class Square(Form): __call__ = staticmethod(elementary.square)
class Exp(Form): __call__ = staticmethod(elementary.exp)
class Expm1(Form): __call__ = staticmethod(elementary.expm1)
class Log(Form): __call__ = staticmethod(elementary.log)
class Log1p(Form): __call__ = staticmethod(elementary.log1p)
class Sqrt(Form): __call__ = staticmethod(elementary.sqrt)
class Rsqrt(Form): __call__ = staticmethod(elementary.rsqrt)
class Reciprocal(Form): __call__ = staticmethod(elementary.reciprocal)
class Inv(Form): __call__ = staticmethod(elementary.inv)
class Sin(Form): __call__ = staticmethod(elementary.sin)
class Cos(Form): __call__ = staticmethod(elementary.cos)
class Tan(Form): __call__ = staticmethod(elementary.tan)
class Asin(Form): __call__ = staticmethod(elementary.asin)
class ACos(Form): __call__ = staticmethod(elementary.acos)
class Atan(Form): __call__ = staticmethod(elementary.atan)
class Sinh(Form): __call__ = staticmethod(elementary.sinh)
class Cosh(Form): __call__ = staticmethod(elementary.cosh)
class Tanh(Form): __call__ = staticmethod(elementary.tanh)
class Asinh(Form): __call__ = staticmethod(elementary.asinh)
class Acosh(Form): __call__ = staticmethod(elementary.acosh)
class Atanh(Form): __call__ = staticmethod(elementary.atanh)
class Sinc(Form): __call__ = staticmethod(elementary.sinc)
class Sign(Form): __call__ = staticmethod(elementary.sign)
class Floor(Form): __call__ = staticmethod(elementary.floor)
class Ceil(Form): __call__ = staticmethod(elementary.ceil)
class Trunc(Form): __call__ = staticmethod(elementary.trunc)
class Rint(Form): __call__ = staticmethod(elementary.round)
# ---- complex numbers
class Real(Form): __call__ = staticmethod(complexes.real)
class Imag(Form): __call__ = staticmethod(complexes.imag)
class Conj(Form): __call__ = staticmethod(complexes.conj)
class Angle(Form): __call__ = staticmethod(complexes.angle)
class Polar(Form): __call__ = staticmethod(complexes.polar)
class Complex(Form): __call__ = staticmethod(complexes.complex_of)
class ComplexAbs(Form): __call__ = staticmethod(elementary.abs)
# ---- special functions
class Erf(Form): __call__ = staticmethod(special.erf)
class Erfc(Form): __call__ = staticmethod(special.erfc)
class Erfinv(Form): __call__ = staticmethod(special.erfinv)
class Lgamma(Form): __call__ = staticmethod(special.lgamma)
class Digamma(Form): __call__ = staticmethod(special.digamma)
class Polygamma(Form): __call__ = staticmethod(special.polygamma)
class Igamma(Form): __call__ = staticmethod(special.igamma)
class Igammac(Form): __call__ = staticmethod(special.igammac)
class Zeta(Form): __call__ = staticmethod(special.zeta)
class Betainc(Form): __call__ = staticmethod(special.betainc)
class Xlogy(Form): __call__ = staticmethod(special.xlogy)
class Xdivy(Form): __call__ = staticmethod(special.xdivy)
class BesselI0(Form): __call__ = staticmethod(special.bessel_i0)
class BesselI0e(Form): __call__ = staticmethod(special.bessel_i0e)
class BesselI1(Form): __call__ = staticmethod(special.bessel_i1)
class BesselI1e(Form): __call__ = staticmethod(special.bessel_i1e)
class BesselJ0(Form): __call__ = staticmethod(special.bessel_j0)
class BesselJ1(Form): __call__ = staticmethod(special.bessel_j1)
class BesselK0(Form): __call__ = staticmethod(special.bessel_k0)
class BesselK0e(Form): __call__ = staticmethod(special.bessel_k0e)
class BesselK1(Form): __call__ = staticmethod(special.bessel_k1)
class BesselK1e(Form): __call__ = staticmethod(special.bessel_k1e)
class BesselY0(Form): __call__ = staticmethod(special.bessel_y0)
class BesselY1(Form): __call__ = staticmethod(special.bessel_y1)
class StopGradient(Form): __call__ = staticmethod(stop_gradient)
# ---- creation
class Zeros(Form): __call__ = staticmethod(creation.zeros)
class Ones(Form): __call__ = staticmethod(creation.ones)
class ZerosLike(Form): __call__ = staticmethod(creation.zeros_like)
class OnesLike(Form): __call__ = staticmethod(creation.ones_like)
class Eye(Form): __call__ = staticmethod(creation.eye)
class Fill(Form): __call__ = staticmethod(creation.fill)
class FillV2(Form): __call__ = staticmethod(creation.full)
class Fills(Form): __call__ = staticmethod(creation.fills)
class LinSpace(Form): __call__ = staticmethod(creation.linspace)
class Eps(Form): __call__ = staticmethod(creation.eps)
class Logit(OfInput, of=elementary.logit): eps: float | None = -1.0
class Mvlgamma(OfInput, of=special.mvlgamma): p: int
class BartlettWindow(_Window, of=creation.bartlett_window): ...
class BlackmanWindow(_Window, of=creation.blackman_window): ...
# fmt: on


class Round(Form):
    """The input rounded to a number of decimals, halves to the even digit: ``ops.Round()(x)``."""

    def __call__(self, input: TensorLike, decimals: int = 0) -> Tensor:
        return elementary.round(input, decimals=decimals)


class ApproximateEqual(Form, of=logic.approximate_equal):
    tolerance: float = 1e-5

    def __call__(self, x: TensorLike, y: TensorLike) -> Tensor:
        return logic.approximate_equal(x, y, self.tolerance)


class IsClose(Form, of=logic.isclose):
    rtol: float = 1e-05
    atol: float = 1e-08
    equal_nan: bool = False

    def __call__(self, input: TensorLike, other: TensorLike) -> Tensor:
        return logic.isclose(input, other, self.rtol, self.atol, self.equal_nan)


class NanToNum(OfInput, of=elementary.nan_to_num):
    nan: Number | None = None
    posinf: Number | None = None
    neginf: Number | None = None


class Range(Form, of=creation.range):
    maxlen: int = 1000000

    def __call__(self, start: int, end: int, step: int) -> Tensor:
        return creation.range(start, end, step, self.maxlen)


class HammingWindow(Form, of=creation.hamming_window):
    periodic: bool = True
    alpha: float = 0.54
    beta: float = 0.46
    dtype: Type | None = None

    def __call__(self, window_length: int) -> Tensor:
        return creation.hamming_window(window_length, self.periodic, self.alpha, self.beta, dtype=self.dtype)


class LogSpace(Form):
    """Powers with exponents at equal distances: ``ops.LogSpace()(start, end)``.

    Args:
        steps (int): how many. Default: 10.
        base (int): Default: 10.
        dtype (ms.dtype, optional): Default: None, for Float32.
    """

    steps: int = 10
    base: int = 10
    dtype: DTypeLike | None = None

    def __call__(self, start: TensorLike, end: TensorLike) -> Tensor:
        return creation.logspace(start, end, self.steps, self.base, dtype=self.dtype or mstype.float32)
