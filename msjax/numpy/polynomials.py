"""Polynomials, given by their coefficients from the highest power down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp

from msjax.numpy.lifting import floating, tensor
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import promote
from msjax.typing import ArrayLike

if TYPE_CHECKING:
    from msjax.common.tensor import Tensor


__all__ = ["polyadd", "polyder", "polyint", "polymul", "polysub", "polyval"]


def _two(name, doc):
    function = getattr(jnp, name)
    kernel = operator(2, name=name, int_grad=True)(lambda a1, a2: function(*promote(a1, a2)))

    def call(a1, a2):
        return kernel(tensor(a1), tensor(a2))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    return call


polyadd = _two("polyadd", "The sum of two polynomials.")
polysub = _two("polysub", "The difference of two polynomials.")


@operator(2, int_grad=True)
def _polymul(a1, a2):
    return jnp.convolve(*promote(a1, a2))


def polymul(a1: ArrayLike, a2: ArrayLike) -> Tensor:
    """The product of two polynomials."""
    return _polymul(tensor(a1), tensor(a2))


@operator(2, int_grad=True)
def _polyval(p, x):
    p, x = promote(p, x)
    return jnp.polyval(p, x)


def polyval(p: ArrayLike, x: ArrayLike) -> Tensor:
    """The values of a polynomial.

    Example:
        >>> import msjax as ms
        >>> import msjax.numpy as mnp
        >>> print(mnp.polyval(ms.Tensor([3.0, 0.0, 1.0]), ms.Tensor([2.0])))
        [13.]
    """
    return _polyval(tensor(p), tensor(x))


@operator(int_grad=True)
def _polyder(p, m):
    return jnp.polyder(p, m)


def polyder(p: Any, m: int = 1) -> Tensor:
    """The `m`-th derivative of a polynomial."""
    return _polyder(tensor(p), m)


@operator()
def _polyint(p, m, k):
    return jnp.polyint(p, m, jnp.asarray(k, p.dtype))


def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    """The `m`-th integral of a polynomial, with the constants `k`, 0 by default."""
    return _polyint(floating(p), m, 0 if k is None else k)
