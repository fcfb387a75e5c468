"""Tensor methods of arithmetic, comparison and elementwise functions."""

from __future__ import annotations

import builtins

from msjax.common.bases import attached_to
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.ops.function.control.gradient import stop_gradient
from msjax.ops.function.math_func import (
    arithmetic,
    bessel,
    comparison,
    complexes,
    elementary,
    elementwise,
    inplace_math,
    logic,
    reduction,
    special,
)
from msjax.ops.function.nn_func import activations, softmaxes
from msjax.ops.methods.inplace import inplace
from msjax.ops.primitive import method_of


def _add(self: Tensor, other: TensorLike, *, alpha: int = 1) -> Tensor:
    """self + alpha * other, elementwise with broadcasting."""
    return arithmetic.add(self, other if alpha == 1 else arithmetic.mul(other, alpha))


def _sub(self: Tensor, other: TensorLike, *, alpha: int = 1) -> Tensor:
    """self - alpha * other, elementwise with broadcasting."""
    return arithmetic.sub_method(self, other) if alpha == 1 else arithmetic.subtract(self, other, alpha=alpha)


def _round(self: Tensor, decimals: int = 0) -> Tensor:
    """Rounded to a number of decimals, halves to the even digit."""
    return elementary.round(self, decimals=decimals or 0)


def _allclose(self: Tensor, other: TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """True if all elements are close; see `isclose`. A Python bool."""
    return builtins.bool(reduction.all(comparison.isclose(self, other, rtol, atol, equal_nan)))


def _softmax(self: Tensor, axis: int, dtype: Type | None = None) -> Tensor:
    """exp(self) / sum(exp(self)) along `axis`."""
    return softmaxes.softmax(self, axis, dtype=dtype)


@attached_to(Tensor)
class ElementwiseMethods:
    """Methods of arithmetic, comparison and elementwise functions."""

    # of other names or arguments than the functions
    add = _add
    sub = _sub
    subtract = _sub
    round = _round
    __round__ = _round
    allclose = _allclose
    softmax = _softmax
    approximate_equal = method_of(comparison.approximate_equal, other="y")
    detach = stop_gradient
    # In place, as their names say; on CPU, MindSpore 2.10 returns a new Tensor and leaves this one as it was.
    add_ = inplace(_add)
    sub_ = inplace(_sub)
    mul_ = inplace(arithmetic.mul)
    div_ = inplace(arithmetic.div)
    remainder_ = inplace(arithmetic.remainder)
    floor_divide_ = inplace(arithmetic.floor_divide)
    exp_ = inplace(elementary.exp)
    log_ = inplace(elementary.log)
    floor_ = inplace(elementary.floor)
    sign_ = inplace(elementary.sign)
    sigmoid_ = inplace_math.inplace_sigmoid
    bernoulli_ = inplace_math.bernoulli_
    clamp_ = inplace_math.clamp_
    erfinv_ = inplace_math.erfinv_
    exponential_ = inplace_math.exponential_
    normal_ = inplace_math.normal_
    random_ = inplace_math.random_
    tanh_ = inplace_math.tanh_
    uniform_ = inplace_math.uniform_
    # arithmetic and comparison
    addcdiv = arithmetic.addcdiv
    addcmul = arithmetic.addcmul
    div = arithmetic.div
    divide = arithmetic.divide
    floor_divide = arithmetic.floor_divide
    fmod = arithmetic.fmod
    mul = arithmetic.mul
    pow = arithmetic.pow
    remainder = arithmetic.remainder
    true_divide = arithmetic.true_divide
    float_power = arithmetic.float_power
    multiply = method_of(arithmetic.mul, value="other")
    eq = comparison.eq
    equal = comparison.equal
    ge = comparison.ge
    greater = comparison.greater
    greater_equal = comparison.greater_equal
    gt = comparison.gt
    isclose = comparison.isclose
    le = comparison.le
    less = comparison.less
    less_equal = comparison.less_equal
    lt = comparison.lt
    ne = comparison.ne
    not_equal = comparison.not_equal
    # functions of one and two operands
    arctan2 = elementwise.arctan2
    atan2 = elementwise.atan2
    clamp = elementwise.clamp
    clip = elementwise.clip
    fmax = elementwise.fmax
    fmin = elementwise.fmin
    heaviside = elementwise.heaviside
    hypot = elementwise.hypot
    ldexp = elementwise.ldexp
    lerp = elementwise.lerp
    logaddexp = elementwise.logaddexp
    logaddexp2 = elementwise.logaddexp2
    maximum = elementwise.maximum
    minimum = elementwise.minimum
    nextafter = elementwise.nextafter
    copysign = elementwise.copysign
    abs = elementary.abs
    absolute = elementary.absolute
    acos = elementary.acos
    acosh = elementary.acosh
    arccos = elementary.arccos
    arccosh = elementary.arccosh
    arcsin = elementary.arcsin
    arcsinh = elementary.arcsinh
    arctan = elementary.arctan
    arctanh = elementary.arctanh
    asin = elementary.asin
    asinh = elementary.asinh
    atan = elementary.atan
    atanh = elementary.atanh
    ceil = elementary.ceil
    cos = elementary.cos
    cosh = elementary.cosh
    deg2rad = elementary.deg2rad
    exp = elementary.exp
    exp2 = elementary.exp2
    expm1 = elementary.expm1
    floor = elementary.floor
    frac = elementary.frac
    inv = elementary.inv
    log = elementary.log
    log10 = elementary.log10
    log1p = elementary.log1p
    log2 = elementary.log2
    logit = elementary.logit
    nan_to_num = elementary.nan_to_num
    neg = elementary.neg
    negative = elementary.negative
    positive = elementary.positive
    rad2deg = elementary.rad2deg
    reciprocal = elementary.reciprocal
    rsqrt = elementary.rsqrt
    sgn = elementary.sgn
    sign = elementary.sign
    sin = elementary.sin
    sinc = elementary.sinc
    sinh = elementary.sinh
    sqrt = elementary.sqrt
    square = elementary.square
    tan = elementary.tan
    tanh = elementary.tanh
    trunc = elementary.trunc
    bitwise_and = logic.bitwise_and
    bitwise_left_shift = logic.bitwise_left_shift
    bitwise_not = logic.bitwise_not
    bitwise_or = logic.bitwise_or
    bitwise_right_shift = logic.bitwise_right_shift
    bitwise_xor = logic.bitwise_xor
    gcd = logic.gcd
    invert = logic.invert
    isfinite = logic.isfinite
    isinf = logic.isinf
    isnan = logic.isnan
    isneginf = logic.isneginf
    isposinf = logic.isposinf
    isreal = logic.isreal
    lcm = logic.lcm
    logical_and = logic.logical_and
    logical_not = logic.logical_not
    logical_or = logic.logical_or
    logical_xor = logic.logical_xor
    signbit = logic.signbit
    angle = complexes.angle
    conj = complexes.conj
    imag = complexes.imag
    real = complexes.real
    i0 = bessel.i0
    digamma = special.digamma
    erf = special.erf
    erfc = special.erfc
    erfinv = special.erfinv
    igamma = special.igamma
    igammac = special.igammac
    lgamma = special.lgamma
    mvlgamma = special.mvlgamma
    xlogy = special.xlogy
    xdivy = special.xdivy
    hardshrink = activations.hardshrink
    sigmoid = activations.sigmoid
    soft_shrink = activations.soft_shrink
