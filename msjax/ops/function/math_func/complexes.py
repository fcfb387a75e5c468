"""Complex numbers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from numpy.lib.stride_tricks import as_strided

from msjax.common.typing import TensorLike, UnaryOperator
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.views import Rule
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import kind_of, promote, to_float
from msjax.ops.function.math_func.tables import unary

__all__ = ["angle", "conj", "imag", "polar", "real", "view_as_real"]

_Z = "Tensor([1 + 2j, 3 - 1j], complex64)"


def _complex(x, *_):
    return x.dtype.kind == "c"


@operator(
    view=Rule(
        write=lambda x, value: jax.lax.complex(value.astype(x.real.dtype), jnp.imag(x)) if _complex(x) else value,
        layout=np.real,
        parts=True,
    )
)
def real(input: TensorLike) -> JaxArray:
    """The real part.

    Example:
        >>> print(ops.real(Tensor([1 + 2j, 3 - 1j], complex64)))
        [1. 3.]
    """
    return jnp.real(input)


@operator(
    view=Rule(
        write=lambda x, value: jax.lax.complex(jnp.real(x), value.astype(x.real.dtype)),
        layout=np.imag,
        parts=True,
        holds=_complex,
    )
)
def imag(input: TensorLike) -> JaxArray:
    """The imaginary part; of real numbers 0.

    Example:
        >>> print(ops.imag(Tensor([1 + 2j, 3 - 1j], complex64)))
        [ 2. -1.]
    """
    return jnp.imag(input)


conj: UnaryOperator = unary(
    "conj", jnp.conj, "The complex conjugate; of real numbers themselves.", (_Z, "[1.-2.j 3.+1.j]"), int_grad=True
)


def _angle_of_real(x):
    """A step function, without a gradient; jax's angle of -0.0 is pi, and its gradient at infinities NaN."""
    return jnp.where(x < 0, jnp.pi, jnp.where(x == x, 0, x)).astype(x.dtype)


angle: UnaryOperator = unary(
    "angle",
    lambda x: jnp.angle(x) if kind_of(x.dtype) == "c" else _angle_of_real(jax.lax.stop_gradient(to_float(x))),
    "The angle of a complex number in the plane, in (-pi, pi].",
    ("Tensor([1j, -1 + 0j], complex64)", "[1.5707964 3.1415927]"),
)


@operator(2)
def polar(abs: TensorLike, angle: TensorLike) -> JaxArray:
    """Complex numbers from absolute values and angles.

    Args:
        abs, angle (Tensor): Float32 or Float64, of one shape.

    Example:
        >>> print(ops.polar(Tensor([2.0]), Tensor([0.0])))
        [2.+0.j]
    """
    size, angle = promote(abs, angle)
    return jax.lax.complex(size * jnp.cos(angle), size * jnp.sin(angle))


def _pairs(x):
    return as_strided(x.real, (*x.shape, 2), (*x.strides, x.real.itemsize), writeable=False)


@operator(view=Rule(write=lambda x, value: jax.lax.complex(value[..., 0], value[..., 1]), layout=_pairs, parts=True))
def view_as_real(input: TensorLike) -> JaxArray:
    """Complex numbers as pairs (real, imaginary) along a new last axis.

    Example:
        >>> print(ops.view_as_real(Tensor([1 + 2j], complex64)))
        [[1. 2.]]
    """
    if kind_of(input.dtype) != "c":
        raise TypeError(f"'view_as_real' takes a complex Tensor, but got {input.dtype}.")
    return jnp.stack([jnp.real(input), jnp.imag(input)], axis=-1)


@operator(2)
def complex_of(real: TensorLike, imag: TensorLike) -> JaxArray:
    """Complex numbers from real and imaginary parts."""
    return jax.lax.complex(*promote(real, imag))
