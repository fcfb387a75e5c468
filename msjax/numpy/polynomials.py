"""Polynomials, given by their coefficients from the highest power down."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.common.typing import ArrayLike, BinaryOperator
from msjax.core.base.typing import JaxArray
from msjax.numpy.lifting import lifted, lifted_pair
from msjax.ops.dispatch.promotion import promote

__all__ = ["polyadd", "polyder", "polyint", "polymul", "polysub", "polyval"]


polyadd: BinaryOperator = lifted_pair("polyadd", "a1 a2", "The sum of two polynomials.")
polysub: BinaryOperator = lifted_pair("polysub", "a1 a2", "The difference of two polynomials.")


@lifted(2, int_grad=True)
def polymul(a1: ArrayLike, a2: ArrayLike) -> JaxArray:
    """The product of two polynomials."""
    return jnp.convolve(*promote(a1, a2))


@lifted(2, int_grad=True)
def polyval(p: ArrayLike, x: ArrayLike) -> JaxArray:
    """The values of a polynomial.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.polyval(Tensor([3.0, 0.0, 1.0]), Tensor([2.0])))
        [13.]
    """
    p, x = promote(p, x)
    return jnp.polyval(p, x)


@lifted(int_grad=True)
def polyder(p: ArrayLike, m: int = 1) -> JaxArray:
    """The `m`-th derivative of a polynomial."""
    return jnp.polyder(p, m)


@lifted(floats=True)
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> JaxArray:
    """The `m`-th integral of a polynomial, with the constants `k`, 0 by default."""
    return jnp.polyint(p, m, jnp.asarray(0 if k is None else k, p.dtype))
