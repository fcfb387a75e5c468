"""Operators that make Tensors."""

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor, wrap
from msjax.ops.dispatch import freeze

__all__ = ["arange", "eye", "full", "ones", "ones_like", "zeros", "zeros_like"]


def _size(size):
    size = freeze(size)
    return size if isinstance(size, tuple) else (size,)


def _dtype(dtype, default=mstype.float32):
    return mstype.to_jax(default if dtype is None else dtype)


def zeros(size, dtype=None):
    """Zeros of a shape; Float32 by default."""
    return wrap(jnp.zeros(_size(size), _dtype(dtype)))


def ones(shape, dtype=None):
    """Ones of a shape; Float32 by default."""
    return wrap(jnp.ones(_size(shape), _dtype(dtype)))


def full(size, fill_value, *, dtype=None):
    """One value in a shape; of the value's type by default."""
    value = fill_value if isinstance(fill_value, Tensor) else Tensor(fill_value)
    return wrap(jnp.full(_size(size), value._value, value._value.dtype if dtype is None else mstype.to_jax(dtype)))


def zeros_like(input, *, dtype=None):
    """Zeros of another Tensor's shape and, by default, dtype."""
    return zeros(input.shape, input.dtype if dtype is None else dtype)


def ones_like(input, *, dtype=None):
    """Ones of another Tensor's shape and, by default, dtype."""
    return ones(input.shape, input.dtype if dtype is None else dtype)


def eye(n, m=None, dtype=None):
    """Ones on the diagonal, zeros elsewhere."""
    return wrap(jnp.eye(n, m, dtype=_dtype(dtype)))


def arange(start=0, end=None, step=1, *, dtype=None):
    """Numbers from `start` up to, without, `end`."""
    if end is None:
        start, end = 0, start
    values = [v.item() if isinstance(v, Tensor) else v for v in (start, end, step)]
    default = mstype.float32 if any(isinstance(v, float) for v in values) else mstype.int64
    return wrap(jnp.arange(*values, dtype=_dtype(dtype, default)))
