"""Special functions, Bessel's among them."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np

from msjax.common.tensor import Tensor
from msjax.common.typing import BinaryOperator, TensorLike, UnaryOperator, UnaryOperatorOfX
from msjax.core.base.checks import check_value
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import FLOATS_OF_SPECIAL, alike, is_number, need_floats, quotient, require_same_dtype, to_float
from msjax.ops.function.math_func.tables import binary, of_floats, only_of_floats, with_slopes

__all__ = [
    "digamma", "erf", "erfc", "erfinv", "igamma", "igammac", "lgamma", "mvlgamma", "polygamma", "xdivy", "xlogy", "zeta",
    "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k0e", "bessel_k1",
    "bessel_k1e", "bessel_y0", "bessel_y1", "i0",
]  # fmt: skip

_X = "Tensor([0.5, 2.0])"

erf: UnaryOperator = of_floats("erf", jax.lax.erf, "The error function.", (_X, "[0.5204999  0.9953223]"))
erfc: UnaryOperator = of_floats("erfc", jax.lax.erfc, "1 - erf(input), exact for large input.", (_X, "[0.47950017 0.00467773]"))
erfinv: UnaryOperator = of_floats(
    "erfinv", jax.lax.erf_inv, "The inverse of erf, for input in (-1, 1).", ("Tensor([0.0, 0.5])", "[0.         0.47693628]")
)


# jax has NaN at the pole at 0.
_digamma = with_slopes(
    lambda x: jnp.where(x == 0, -jnp.copysign(jnp.asarray(jnp.inf, x.dtype), x), jax.lax.digamma(x)),
    lambda x, out: jax.lax.polygamma(jnp.ones_like(x), x),
)
_lgamma = with_slopes(jax.lax.lgamma, lambda x, out: _digamma(x))

lgamma: UnaryOperator = of_floats("lgamma", _lgamma, "log|gamma(input)|.", (_X, "[0.5723649 0.       ]"))
digamma: UnaryOperator = only_of_floats("digamma", _digamma, "The derivative of lgamma.", (_X, "[-1.9635102  0.4227843]"))


def _incomplete(name, fn, which, letter, shown):
    doc, example = (
        f"The regularized {which} incomplete gamma function {letter}(input, other).",
        ("Tensor([1.0]), Tensor([1.0])", shown),
    )
    return binary(name, lambda x, y: fn(*jnp.broadcast_arrays(x, y)), doc, example, same=True, dtypes=FLOATS_OF_SPECIAL)


igamma: BinaryOperator = _incomplete("igamma", jax.lax.igamma, "lower", "P", "[0.6321206]")
igammac: BinaryOperator = _incomplete("igammac", jax.lax.igammac, "upper", "Q", "[0.36787945]")


# As MindSpore's, it has no slope by the exponent.
_zeta = with_slopes(jax.lax.zeta, lambda x, q, out: jnp.zeros_like(x), lambda x, q, out: -x * jax.lax.zeta(x + 1, q))


@operator(2)
def zeta(input: TensorLike, other: TensorLike) -> JaxArray:
    """The Hurwitz zeta function: the sum of (k + other)**-input over k = 0, 1, ...; it has gradients by `other`, and zeros by `input`.

    Args:
        input, other (Tensor): of one dtype, Float32 or Float64; `other` may be a number.

    Example:
        >>> print(ops.zeta(Tensor([2.0]), Tensor([1.0])))
        [1.644934]
    """
    if is_number(other) and not is_number(input):
        other = jnp.asarray(other, input.dtype)
    return _zeta(*jnp.broadcast_arrays(*require_same_dtype(input, other, FLOATS_OF_SPECIAL)))


# jax's slope by x is log(y) also where x is 0 and y is not positive: minus infinity or NaN of a value that is always 0.
_xlogy = with_slopes(
    lambda x, y: jnp.where((x == 0) & (y == y), 0, x * jnp.log(y)).astype(x.dtype),
    lambda x, y, out: jnp.where((x == 0) & (y <= 0), 0, jnp.log(y)).astype(out.dtype),
    lambda x, y, out: x / y,
)
xlogy: BinaryOperator = binary(
    "xlogy",
    _xlogy,
    "input * log(other); 0 where input is 0.",
    ("Tensor([0.0, 2.0]), Tensor([0.0, 1.0])", "[0. 0.]"),
    floats=to_float,
)


@operator(2)
def xdivy(x: TensorLike, y: TensorLike) -> JaxArray:
    """x / y, elementwise; 0 where x is 0.

    Example:
        >>> print(ops.xdivy(Tensor([0.0, 1.0]), Tensor([0.0, 2.0])))
        [0.  0.5]
    """
    if is_number(x) and is_number(y):
        raise TypeError("one operand should be a Tensor, but both are numbers.")
    x, y = (need_floats(v) for v in alike(x, y))
    zero = x == 0
    return jnp.where(zero, 0, quotient(x, jnp.where(zero & (y == 0), 1, y)))


@operator(2)
def polygamma(n: Tensor | int, input: Tensor) -> JaxArray:
    """The n-th derivative of digamma.

    Args:
        n (Tensor or int): 0 or more.
        input (Tensor): any shape, of floats.

    Example:
        >>> print(ops.polygamma(Tensor(1), Tensor([1.0])))
        [1.644934]
    """
    x = to_float(input)
    return jax.lax.polygamma(*jnp.broadcast_arrays(jnp.asarray(n).astype(x.dtype), x))


@operator()
def mvlgamma(input: TensorLike, p: int) -> JaxArray:
    """log of the multivariate gamma function of dimension p; input should be above (p - 1) / 2.

    Example:
        >>> print(ops.mvlgamma(Tensor([2.0]), 2))
        [0.45158303]
    """
    check_value(p, p >= 1, "be 1 or more", "p")
    x = to_float(input)
    steps = jnp.arange(p, dtype=x.dtype) / 2
    return p * (p - 1) / 4 * math.log(math.pi) + jnp.sum(jax.lax.lgamma(x[..., None] - steps), -1)


@operator(3)
def betainc(a: TensorLike, b: TensorLike, x: TensorLike) -> JaxArray:
    """The regularized incomplete beta function."""
    return jsp.betainc(to_float(a), to_float(b), to_float(x))


# ---- Bessel functions
# jax has those of imaginary argument (I); the others are computed here by quadrature of integrals that are smooth, by power series near 0 where
# a logarithm stands, and by Hankel's asymptotic series for large x.

_FAR = 25.0  # from here on the asymptotic series is exact to float precision
_EULER = 0.5772156649015329


def _hankel(x, n):
    """(P, Q) of J_n = sqrt(2 / pi x) (P cos c - Q sin c), Y_n = sqrt(2 / pi x) (P sin c + Q cos c)."""
    p, q, term = jnp.ones_like(x), jnp.zeros_like(x), jnp.ones_like(x)
    for k in range(1, 12):
        term = term * ((4 * n * n - (2 * k - 1) ** 2) / (8 * k)) / x
        sign = (1, 1, -1, -1)[k % 4]
        if k % 2:
            q = q + sign * term
        else:
            p = p + sign * term
    return p, q


def _far(x, n, second):
    x = jnp.where(x < _FAR, _FAR, x)
    p, q = _hankel(x, n)
    c = x - (2 * n + 1) * math.pi / 4
    wave = p * jnp.sin(c) + q * jnp.cos(c) if second else p * jnp.cos(c) - q * jnp.sin(c)
    return jnp.sqrt(2 / (math.pi * x)) * wave


def _j_series(x, n):
    """J_n(x) near 0, where the integral would lose the digits of a small result."""
    quarter, total, term = jnp.square(x) / 4, jnp.zeros_like(x), jnp.ones_like(x)
    for k in range(9):
        total = total + term
        term = -term * quarter / ((k + 1) * (k + 1 + n))
    return total * (x / 2 if n else 1)


def _j(x, n):
    """J_n(x) of x >= 0: Bessel's integral by the trapezoidal rule, which is exact for periodic functions."""
    near = jnp.where(x < _FAR, x, _FAR)
    t = jnp.asarray((np.arange(64) + 0.5) * math.pi / 64, x.dtype)
    value = jnp.mean(jnp.cos(n * t - near[..., None] * jnp.sin(t)), -1)
    value = jnp.where(x < 1, _j_series(jnp.minimum(x, 1), n), value)
    return jnp.where(x < _FAR, value, _far(x, n, False))


@functools.cache
def _legendre(n):
    return np.polynomial.legendre.leggauss(n)


def _quadrature(fn, upper, n):
    """The integral of fn from 0 to upper (an array), fn adding an axis."""
    nodes, weights = (jnp.asarray(v, upper.dtype) for v in _legendre(n))
    half = upper[..., None] / 2
    return jnp.sum(fn(half * (nodes + 1)) * weights * half, -1)


def _y_series(x, n):
    """Y_n(x) near 0."""
    x = jnp.clip(x, jnp.finfo(x.dtype).tiny, 3)
    quarter, total, term = jnp.square(x) / 4, jnp.zeros_like(x), jnp.ones_like(x)
    harmonic = 0.0
    for k in range(18):
        if n == 0:
            total = total - harmonic * term
        else:
            total = total + (2 * harmonic + 1 / (k + 1) - 2 * _EULER) * term
        term = -term * quarter / ((k + 1) * (k + 1 + n))
        harmonic += 1 / (k + 1)
    if n == 0:
        return 2 / math.pi * ((jnp.log(x / 2) + _EULER) * _j(x, 0) + total)
    return 2 / math.pi * (jnp.log(x / 2) * _j(x, 1) - 1 / x) - x / (2 * math.pi) * total


def _y(x, n):
    """Y_n(x) of x > 0."""
    near = jnp.clip(x, 3, _FAR)
    shape = near[..., None]
    wave = _quadrature(lambda t: jnp.sin(shape * jnp.sin(t) - n * t), jnp.full_like(near, math.pi), 64)
    tail = _quadrature(lambda t: (1 if n == 0 else jnp.sinh(t)) * jnp.exp(-shape * jnp.sinh(t)), jnp.arcsinh(42 / near), 40)
    value = (wave - 2 * tail) / math.pi
    value = jnp.where(x < 3, _y_series(x, n), jnp.where(x < _FAR, value, _far(x, n, True)))
    return jnp.where(x > 0, value, jnp.where(x == 0, -jnp.inf, jnp.nan)).astype(x.dtype)


def _k(x, n, scaled):
    """K_n(x) of x > 0, times exp(x) if scaled: the integral of exp(-x cosh t) cosh(n t)."""
    safe = jnp.clip(x, jnp.finfo(x.dtype).tiny * 64, None)
    upper = jnp.arccosh(1 + 42 / safe)
    shape = safe[..., None]

    def integrand(t):
        # cosh(t) - 1 without cancellation.
        rise = 2 * jnp.square(jnp.sinh(t / 2))
        return jnp.exp(-shape * rise) * (1 if n == 0 else rise + 1)

    value = _quadrature(integrand, upper, 160)
    value = value if scaled else value * jnp.exp(-safe)
    value = jnp.where(x == jnp.inf, 0, value)
    return jnp.where(x > 0, value, jnp.where(x == 0, jnp.inf, jnp.nan)).astype(x.dtype)


def _over(y, x):
    return y / jnp.where(x == 0, 1, x)


def _i1_slope(scaled):
    """The slope of I_1, or of exp(-|x|) I_1."""

    def slope(x, y):
        # So near to 0 it is 1 / 2 to the last bit, and a derivative of I_1 / x would be the difference of two huge numbers.
        near = jnp.abs(x) < jnp.finfo(x.dtype).eps ** 0.5
        share = 1 / jnp.where(near, 1, x)
        return jnp.where(near, 0.5, _i0e(x) - _i1e(x) * (jnp.sign(x) + share) if scaled else _i0(x) - _i1(x) * share)

    return slope


# jax's own slope of I_0 at 0 is 1, and NaN where the function itself is infinite.
_i0 = with_slopes(jsp.i0, lambda x, y: _i1(x))
_i1 = with_slopes(jsp.i1, _i1_slope(False))
_i0e = with_slopes(jsp.i0e, lambda x, y: _i1e(x) - jnp.sign(x) * y)
_i1e = with_slopes(jsp.i1e, _i1_slope(True))
_j0 = with_slopes(lambda x: _j(jnp.abs(x), 0), lambda x, y: -_j1(x))
_j1 = with_slopes(lambda x: jnp.sign(x) * _j(jnp.abs(x), 1), lambda x, y: jnp.where(x == 0, 0.5, _j0(x) - _over(y, x)))
_y0 = with_slopes(lambda x: _y(x, 0), lambda x, y: -_y1(x))
_y1 = with_slopes(lambda x: _y(x, 1), lambda x, y: _y0(x) - _over(y, x))
_k0 = with_slopes(lambda x: _k(x, 0, False), lambda x, y: -_k1(x))
_k1 = with_slopes(lambda x: _k(x, 1, False), lambda x, y: -_k0(x) - _over(y, x))
_k0e = with_slopes(lambda x: _k(x, 0, True), lambda x, y: y - _k1e(x))
_k1e = with_slopes(lambda x: _k(x, 1, True), lambda x, y: y - _k0e(x) - _over(y, x))


def _bessel(name, fn, doc, shown, parameter="x"):
    return only_of_floats(name, fn, doc, (_X, shown), wide=True, parameter=parameter)


bessel_i0: UnaryOperatorOfX = _bessel("bessel_i0", _i0, "The modified Bessel function I of order 0.", "[1.0634834 2.2795851]")
bessel_i0e: UnaryOperatorOfX = _bessel("bessel_i0e", _i0e, "exp(-|x|) * bessel_i0(x).", "[0.6450353 0.3085083]")
bessel_i1: UnaryOperatorOfX = _bessel("bessel_i1", _i1, "The modified Bessel function I of order 1.", "[0.25789434 1.5906369 ]")
bessel_i1e: UnaryOperatorOfX = _bessel("bessel_i1e", _i1e, "exp(-|x|) * bessel_i1(x).", "[0.1564208  0.21526928]")
bessel_j0: UnaryOperatorOfX = _bessel("bessel_j0", _j0, "The Bessel function J of order 0.", "[0.9384698  0.22389078]")
bessel_j1: UnaryOperatorOfX = _bessel("bessel_j1", _j1, "The Bessel function J of order 1.", "[0.24226846 0.5767248 ]")
bessel_k0: UnaryOperatorOfX = _bessel(
    "bessel_k0", _k0, "The modified Bessel function K of order 0, for x > 0.", "[0.9244191  0.11389387]"
)
bessel_k0e: UnaryOperatorOfX = _bessel("bessel_k0e", _k0e, "exp(x) * bessel_k0(x).", "[1.5241094  0.84156823]")
bessel_k1: UnaryOperatorOfX = _bessel(
    "bessel_k1", _k1, "The modified Bessel function K of order 1, for x > 0.", "[1.6564411  0.13986588]"
)
bessel_k1e: UnaryOperatorOfX = _bessel("bessel_k1e", _k1e, "exp(x) * bessel_k1(x).", "[2.7310097 1.0334768]")
bessel_y0: UnaryOperatorOfX = _bessel(
    "bessel_y0", _y0, "The Bessel function Y of order 0, for x > 0.", "[-0.44451874  0.5103757 ]"
)
bessel_y1: UnaryOperatorOfX = _bessel("bessel_y1", _y1, "The Bessel function Y of order 1, for x > 0.", "[-1.4714724 -0.1070324]")
i0: UnaryOperator = _bessel("i0", _i0, "The modified Bessel function I of order 0.", "[1.0634834 2.2795851]", "input")
