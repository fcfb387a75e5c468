"""Polynomials, given by their coefficients from the highest power down."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.common.typing import ArrayLike
from msjax.core.base.typing import JaxArray
from msjax.numpy.lifting import convolved, floating, lifted, vectors, wide
from msjax.ops.dispatch.promotion import promote

__all__ = ["polyadd", "polyder", "polyint", "polymul", "polysub", "polyval"]


@lifted(2, int_grad=True)
def polyadd(a1: ArrayLike, a2: ArrayLike) -> JaxArray:
    """The sum of two polynomials."""
    return jnp.polyadd(*vectors(a1, a2))


@lifted(2, int_grad=True)
def polysub(a1: ArrayLike, a2: ArrayLike) -> JaxArray:
    """The difference of two polynomials."""
    return jnp.polysub(*vectors(a1, a2))


@lifted(2, int_grad=True)
def polymul(a1: ArrayLike, a2: ArrayLike) -> JaxArray:
    """The product of two polynomials."""
    return convolved(a1, a2)


@lifted(2, convert=wide)
def polyval(p: ArrayLike, x: ArrayLike) -> JaxArray:
    """The values of a polynomial.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.polyval(Tensor([3.0, 0.0, 1.0]), Tensor([2.0])))
        [13.]
    """
    p, x = promote(p, x)
    return jnp.polyval(jnp.atleast_1d(p), x)


@lifted(int_grad=True)
def polyder(p: ArrayLike, m: int = 1) -> JaxArray:
    """The `m`-th derivative of a polynomial."""
    return jnp.polyder(jnp.atleast_1d(p), m).astype(p.dtype)


@lifted(convert=floating)
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> JaxArray:
    """The `m`-th integral of a polynomial, with the constants `k`, 0 by default."""
    return jnp.polyint(jnp.atleast_1d(p), m, jnp.asarray(0 if k is None else k, p.dtype))
