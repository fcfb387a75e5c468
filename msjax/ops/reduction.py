"""Reductions and cumulative operators."""

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.ops.dispatch import operator
from msjax.ops.promote import kind_of, to_float

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "cumsum",
    "logsumexp",
    "mean",
    "norm",
    "prod",
    "std",
    "sum",
    "var",
]


def _axes(axis):
    """None or an empty tuple: all axes."""
    return None if axis is None or axis == () else axis


def _wide(x):
    """Bools and integers as Int64, which sums and products are counted in."""
    return x.astype(mstype.to_jax(mstype.int64)) if kind_of(x.dtype) in "biu" else x


def _cast(x, dtype):
    return x if dtype is None else x.astype(mstype.to_jax(dtype))


@operator(int_grad=True)
def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum over the axes `dim` (all by default); of Bools and integers as Int64."""
    return jnp.sum(_wide(_cast(input, dtype)), _axes(dim), keepdims=keepdim)


@operator()
def mean(x, axis=None, keep_dims=False):
    """The mean over the axes `axis` (all by default); of integers an integer, rounded towards zero."""
    if kind_of(x.dtype) in "biu":
        return jnp.trunc(jnp.mean(x.astype(jnp.float32), _axes(axis), keepdims=keep_dims)).astype(x.dtype)
    return jnp.mean(x, _axes(axis), keepdims=keep_dims)


@operator(int_grad=True)
def prod(input, axis=None, keep_dims=False, dtype=None):
    """The product over the axes `axis` (all by default); of Bools and integers as Int64."""
    return jnp.prod(_wide(_cast(input, dtype)), _axes(axis), keepdims=keep_dims)


@operator(name="max")
def _max(input, axis=None, keepdims=False):
    return jnp.max(input, _axes(axis), keepdims=keepdims)


@operator(name="min")
def _min(input, axis=None, keepdims=False):
    return jnp.min(input, _axes(axis), keepdims=keepdims)


def amax(input, axis=None, keepdims=False, *, initial=None, where=None):
    """The largest values over the axes `axis` (all by default); equal ones share the gradient."""
    del initial, where
    return _max(input, axis, keepdims)


def amin(input, axis=None, keepdims=False, *, initial=None, where=None):
    """The smallest values over the axes `axis` (all by default); equal ones share the gradient."""
    del initial, where
    return _min(input, axis, keepdims)


@operator(differentiable=False)
def argmax(input, dim=None, keepdim=False):
    """The index of the largest value along axis `dim`, of the flattened Tensor by default, as Int64."""
    return jnp.argmax(input, dim, keepdims=keepdim and dim is not None).astype(mstype.to_jax(mstype.int64))


@operator(differentiable=False)
def argmin(input, axis=None, keepdims=False):
    """The index of the smallest value along `axis`, of the flattened Tensor by default, as Int32."""
    return jnp.argmin(input, axis, keepdims=keepdims and axis is not None).astype(jnp.int32)


@operator(differentiable=False)
def all(input, axis=None, keep_dims=False):
    """True where all values over the axes `axis` are true."""
    return jnp.all(input, _axes(axis), keepdims=keep_dims)


@operator(differentiable=False)
def any(input, axis=None, keep_dims=False):
    """True where any value over the axes `axis` is true."""
    return jnp.any(input, _axes(axis), keepdims=keep_dims)


@operator()
def var(input, axis=None, ddof=0, keepdims=False):
    """The variance over the axes `axis` (all by default), with the divisor N - ddof."""
    return jnp.var(to_float(input), _axes(axis), ddof=int(ddof), keepdims=keepdims)


@operator()
def std(input, axis=None, ddof=0, keepdims=False):
    """The standard deviation over the axes `axis` (all by default), with the divisor N - ddof."""
    return jnp.std(to_float(input), _axes(axis), ddof=int(ddof), keepdims=keepdims)


@operator(int_grad=True)
def cumsum(x, axis, dtype=None):
    """The cumulative sum along `axis`."""
    x = _cast(x, dtype)
    if kind_of(x.dtype) in "bu" or (kind_of(x.dtype) == "i" and x.dtype.itemsize < 4):
        x = x.astype(jnp.int32)
    return jnp.cumsum(x, axis)


@operator()
def logsumexp(input, axis, keep_dims=False):
    """log(sum(exp(input))) over the axes `axis`, computed without overflow."""
    import jax

    return jax.nn.logsumexp(to_float(input), _axes(axis), keepdims=keep_dims)


@operator()
def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector or matrix norm; by default the 2-norm of all elements."""
    A = to_float(_cast(A, dtype))
    if ord is None and dim is None:
        return jnp.sqrt(jnp.sum(jnp.square(jnp.abs(A)), keepdims=keepdim))
    if dim is None and A.ndim > 2:
        A = A.ravel()
    return jnp.linalg.norm(A, ord=ord, axis=dim, keepdims=keepdim)
