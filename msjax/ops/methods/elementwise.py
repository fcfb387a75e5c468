"""Tensor methods of arithmetic, comparison and elementwise functions."""

from __future__ import annotations

from typing import Final

from msjax.common.bases import attached_to
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.ops.function.control.gradient import stop_gradient
from msjax.ops.function.math_func import arithmetic, elementary, logic
from msjax.ops.function.nn_func import activations
from msjax.ops.methods.inplace import inplace
from msjax.ops.primitive import method_of


@attached_to(Tensor)
class ElementwiseMethods:
    """Methods of arithmetic, comparison and elementwise functions."""

    # of other names or arguments than the functions
    def add(self: Tensor, other: TensorLike, *, alpha: int = 1) -> Tensor:
        """self + alpha * other, elementwise with broadcasting."""
        return arithmetic.add(self, other if alpha == 1 else arithmetic.mul(other, alpha))

    def sub(self: Tensor, other: TensorLike, *, alpha: int = 1) -> Tensor:
        """self - alpha * other, elementwise with broadcasting."""
        return arithmetic.sub_method(self, other) if alpha == 1 else arithmetic.subtract(self, other, alpha=alpha)

    subtract = sub

    def round(self: Tensor, decimals: int = 0) -> Tensor:
        """Rounded to a number of decimals, halves to the even digit."""
        return elementary.round(self, decimals=decimals or 0)

    __round__ = round

    def softmax(self: Tensor, axis: int, dtype: Type | None = None) -> Tensor:
        """exp(self) / sum(exp(self)) along `axis`."""
        return activations.softmax(self, axis, dtype=dtype)

    approximate_equal: Final = method_of(logic.approximate_equal, other="y")
    detach = stop_gradient
    # In place, as their names say; on CPU, MindSpore 2.10 returns a new Tensor and leaves this one as it was.
    add_: Final = inplace(add)
    sub_: Final = inplace(sub)
    mul_: Final = inplace(arithmetic.mul)
    div_: Final = inplace(arithmetic.div)
    remainder_: Final = inplace(arithmetic.remainder)
    floor_divide_: Final = inplace(arithmetic.floor_divide)
    exp_: Final = inplace(elementary.exp)
    log_: Final = inplace(elementary.log)
    floor_: Final = inplace(elementary.floor)
    sign_: Final = inplace(elementary.sign)
    # arithmetic and comparison
    from msjax.ops.function.math_func.arithmetic import (
        addcdiv,
        addcmul,
        div,
        divide,
        float_power,
        floor_divide,
        fmod,
        mul,
        pow,
        remainder,
        true_divide,
    )
    from msjax.ops.function.math_func.inplace_math import (
        bernoulli_,
        clamp_,
        erfinv_,
        exponential_,
        inplace_sigmoid as sigmoid_,
        normal_,
        random_,
        tanh_,
        uniform_,
    )
    from msjax.ops.function.math_func.special import i0

    multiply: Final = method_of(arithmetic.mul, value="other")
    from msjax.ops.function.math_func.complexes import angle, conj, imag, real
    from msjax.ops.function.math_func.elementary import (
        abs,
        absolute,
        acos,
        acosh,
        arccos,
        arccosh,
        arcsin,
        arcsinh,
        arctan,
        arctanh,
        asin,
        asinh,
        atan,
        atanh,
        ceil,
        cos,
        cosh,
        deg2rad,
        exp,
        exp2,
        expm1,
        floor,
        frac,
        inv,
        log,
        log1p,
        log2,
        log10,
        logit,
        nan_to_num,
        neg,
        negative,
        positive,
        rad2deg,
        reciprocal,
        rsqrt,
        sgn,
        sign,
        sin,
        sinc,
        sinh,
        sqrt,
        square,
        tan,
        tanh,
        trunc,
    )

    # functions of one and two operands
    from msjax.ops.function.math_func.elementwise import (
        arctan2,
        atan2,
        clamp,
        clip,
        copysign,
        fmax,
        fmin,
        heaviside,
        hypot,
        ldexp,
        lerp,
        logaddexp,
        logaddexp2,
        maximum,
        minimum,
        nextafter,
    )
    from msjax.ops.function.math_func.logic import (
        allclose,
        bitwise_and,
        bitwise_left_shift,
        bitwise_not,
        bitwise_or,
        bitwise_right_shift,
        bitwise_xor,
        eq,
        equal,
        gcd,
        ge,
        greater,
        greater_equal,
        gt,
        invert,
        isclose,
        isfinite,
        isinf,
        isnan,
        isneginf,
        isposinf,
        isreal,
        lcm,
        le,
        less,
        less_equal,
        logical_and,
        logical_not,
        logical_or,
        logical_xor,
        lt,
        ne,
        not_equal,
        signbit,
    )
    from msjax.ops.function.math_func.special import digamma, erf, erfc, erfinv, igamma, igammac, lgamma, mvlgamma, xdivy, xlogy
    from msjax.ops.function.nn_func.activations import hardshrink, sigmoid, soft_shrink
