"""Tensor methods of arithmetic, comparison and elementwise functions."""

from __future__ import annotations

import builtins
from typing import Final

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
    approximate_equal: Final = method_of(comparison.approximate_equal, other="y")
    detach = stop_gradient
    # In place, as their names say; on CPU, MindSpore 2.10 returns a new Tensor and leaves this one as it was.
    add_: Final = inplace(_add)
    sub_: Final = inplace(_sub)
    mul_: Final = inplace(arithmetic.mul)
    div_: Final = inplace(arithmetic.div)
    remainder_: Final = inplace(arithmetic.remainder)
    floor_divide_: Final = inplace(arithmetic.floor_divide)
    exp_: Final = inplace(elementary.exp)
    log_: Final = inplace(elementary.log)
    floor_: Final = inplace(elementary.floor)
    sign_: Final = inplace(elementary.sign)
    sigmoid_: Final = inplace_math.inplace_sigmoid
    bernoulli_: Final = inplace_math.bernoulli_
    clamp_: Final = inplace_math.clamp_
    erfinv_: Final = inplace_math.erfinv_
    exponential_: Final = inplace_math.exponential_
    normal_: Final = inplace_math.normal_
    random_: Final = inplace_math.random_
    tanh_: Final = inplace_math.tanh_
    uniform_: Final = inplace_math.uniform_
    # arithmetic and comparison
    addcdiv: Final = arithmetic.addcdiv
    addcmul: Final = arithmetic.addcmul
    div: Final = arithmetic.div
    divide: Final = arithmetic.divide
    floor_divide: Final = arithmetic.floor_divide
    fmod: Final = arithmetic.fmod
    mul: Final = arithmetic.mul
    pow: Final = arithmetic.pow
    remainder: Final = arithmetic.remainder
    true_divide: Final = arithmetic.true_divide
    float_power: Final = arithmetic.float_power
    multiply: Final = method_of(arithmetic.mul, value="other")
    eq: Final = comparison.eq
    equal: Final = comparison.equal
    ge: Final = comparison.ge
    greater: Final = comparison.greater
    greater_equal: Final = comparison.greater_equal
    gt: Final = comparison.gt
    isclose: Final = comparison.isclose
    le: Final = comparison.le
    less: Final = comparison.less
    less_equal: Final = comparison.less_equal
    lt: Final = comparison.lt
    ne: Final = comparison.ne
    not_equal: Final = comparison.not_equal
    # functions of one and two operands
    arctan2: Final = elementwise.arctan2
    atan2: Final = elementwise.atan2
    clamp: Final = elementwise.clamp
    clip: Final = elementwise.clip
    fmax: Final = elementwise.fmax
    fmin: Final = elementwise.fmin
    heaviside: Final = elementwise.heaviside
    hypot: Final = elementwise.hypot
    ldexp: Final = elementwise.ldexp
    lerp: Final = elementwise.lerp
    logaddexp: Final = elementwise.logaddexp
    logaddexp2: Final = elementwise.logaddexp2
    maximum: Final = elementwise.maximum
    minimum: Final = elementwise.minimum
    nextafter: Final = elementwise.nextafter
    copysign: Final = elementwise.copysign
    abs: Final = elementary.abs
    absolute: Final = elementary.absolute
    acos: Final = elementary.acos
    acosh: Final = elementary.acosh
    arccos: Final = elementary.arccos
    arccosh: Final = elementary.arccosh
    arcsin: Final = elementary.arcsin
    arcsinh: Final = elementary.arcsinh
    arctan: Final = elementary.arctan
    arctanh: Final = elementary.arctanh
    asin: Final = elementary.asin
    asinh: Final = elementary.asinh
    atan: Final = elementary.atan
    atanh: Final = elementary.atanh
    ceil: Final = elementary.ceil
    cos: Final = elementary.cos
    cosh: Final = elementary.cosh
    deg2rad: Final = elementary.deg2rad
    exp: Final = elementary.exp
    exp2: Final = elementary.exp2
    expm1: Final = elementary.expm1
    floor: Final = elementary.floor
    frac: Final = elementary.frac
    inv: Final = elementary.inv
    log: Final = elementary.log
    log10: Final = elementary.log10
    log1p: Final = elementary.log1p
    log2: Final = elementary.log2
    logit: Final = elementary.logit
    nan_to_num: Final = elementary.nan_to_num
    neg: Final = elementary.neg
    negative: Final = elementary.negative
    positive: Final = elementary.positive
    rad2deg: Final = elementary.rad2deg
    reciprocal: Final = elementary.reciprocal
    rsqrt: Final = elementary.rsqrt
    sgn: Final = elementary.sgn
    sign: Final = elementary.sign
    sin: Final = elementary.sin
    sinc: Final = elementary.sinc
    sinh: Final = elementary.sinh
    sqrt: Final = elementary.sqrt
    square: Final = elementary.square
    tan: Final = elementary.tan
    tanh: Final = elementary.tanh
    trunc: Final = elementary.trunc
    bitwise_and: Final = logic.bitwise_and
    bitwise_left_shift: Final = logic.bitwise_left_shift
    bitwise_not: Final = logic.bitwise_not
    bitwise_or: Final = logic.bitwise_or
    bitwise_right_shift: Final = logic.bitwise_right_shift
    bitwise_xor: Final = logic.bitwise_xor
    gcd: Final = logic.gcd
    invert: Final = logic.invert
    isfinite: Final = logic.isfinite
    isinf: Final = logic.isinf
    isnan: Final = logic.isnan
    isneginf: Final = logic.isneginf
    isposinf: Final = logic.isposinf
    isreal: Final = logic.isreal
    lcm: Final = logic.lcm
    logical_and: Final = logic.logical_and
    logical_not: Final = logic.logical_not
    logical_or: Final = logic.logical_or
    logical_xor: Final = logic.logical_xor
    signbit: Final = logic.signbit
    angle: Final = complexes.angle
    conj: Final = complexes.conj
    imag: Final = complexes.imag
    real: Final = complexes.real
    i0: Final = bessel.i0
    digamma: Final = special.digamma
    erf: Final = special.erf
    erfc: Final = special.erfc
    erfinv: Final = special.erfinv
    igamma: Final = special.igamma
    igammac: Final = special.igammac
    lgamma: Final = special.lgamma
    mvlgamma: Final = special.mvlgamma
    xlogy: Final = special.xlogy
    xdivy: Final = special.xdivy
    hardshrink: Final = activations.hardshrink
    sigmoid: Final = activations.sigmoid
    soft_shrink: Final = activations.soft_shrink
