"""Special functions."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp

from msjax.common.tensor import Tensor
from msjax.common.typing import BinaryOperator, TensorLike, UnaryOperator
from msjax.core.base.checks import check_value
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import FLOATS_OF_SPECIAL, is_number, need_floats, promote, require_same_dtype, spread, to_float
from msjax.ops.dispatch.slopes import with_slopes
from msjax.ops.function.math_func.tables import binary, of_floats, only_of_floats

__all__ = [
    "digamma", "erf", "erfc", "erfinv", "igamma", "igammac", "lgamma", "mvlgamma", "polygamma", "xdivy", "xlogy", "zeta",
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
    "xlogy", _xlogy, "input * log(other); 0 where input is 0.", ("Tensor([0.0, 2.0]), Tensor([0.0, 1.0])", "[0. 0.]"), floats=True
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
    x, y = spread(*(need_floats(v) for v in promote(x, y)))
    zero = x == 0
    return jnp.where(zero, 0, x / jnp.where(zero & (y == 0), 1, y))


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
