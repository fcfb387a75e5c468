"""Medians, quantiles, covariance."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_in_range, check_int, check_value
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import as_operand, kind_of, to_float, widened

__all__ = ["cov", "median", "nanmedian", "nanquantile", "quantile"]


def _at_rank(x, rank, axis, keepdims):
    """The elements of a rank along an axis, and their indices."""
    if not x.shape[axis]:
        raise ValueError(f"axis {axis} of a Tensor of shape {x.shape} has no elements.")
    order = jnp.argsort(jax.lax.stop_gradient(x), axis)
    index = jnp.take_along_axis(order, rank, axis)
    values = jnp.take_along_axis(x, index, axis)
    if not keepdims:
        values, index = jnp.squeeze(values, axis), jnp.squeeze(index, axis)
    return values, index.astype(mstype.to_jax(mstype.int64))


@operator(name="median", int_grad=True)
def _median(input, axis, keepdims, ignore_nan):
    x = as_operand(input)
    if x.ndim == 0:
        return x, jnp.zeros((), mstype.to_jax(mstype.int64))
    n = jnp.full([1 if i == axis % x.ndim else s for i, s in enumerate(x.shape)], x.shape[axis])
    if kind_of(x.dtype) != "f":
        return _at_rank(x, (n - 1) // 2, axis, keepdims)
    count = jnp.sum(~jnp.isnan(x), axis, keepdims=True)
    # NaN are sorted to the end: the first of them is the result unless NaN are ignored.
    rank = jnp.maximum(count - 1, 0) // 2 if ignore_nan else jnp.where(count == n, (n - 1) // 2, count)
    return _at_rank(x, rank, axis, keepdims)


def median(input: Tensor, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The median along an axis, and its index; of an even number the lower one.

    Args:
        input (Tensor): any shape and real dtype.
        axis (int): the axis. Default: -1.
        keepdims (bool): whether the axis stays, with size 1. Default: False.

    Returns:
        (values, indices): two Tensors, the second of Int64.

    Example:
        >>> values, indices = ops.median(Tensor([3.0, 1.0, 2.0]))
        >>> print(values, indices)
        2.0 2
    """
    return _median(input, check_int(axis, "axis", "median"), keepdims, False)


def nanmedian(input: TensorLike, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """The median along an axis of the elements that are not NaN, and its index; see `median`.

    Example:
        >>> print(ops.nanmedian(Tensor([3.0, 1.0, float("nan")]))[0])
        1.0
    """
    return _median(input, check_int(axis, "axis", "nanmedian"), keepdims, True)


@operator(name="median", int_grad=True)
def global_median(input: TensorLike, ignore_nan: bool) -> tuple[JaxArray, JaxArray]:
    """The median of all elements; equal ones share its gradient."""
    x = as_operand(input).reshape(-1)
    return _middle(x, ignore_nan), jnp.zeros((), mstype.to_jax(mstype.int64))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _middle(x, ignore_nan):
    return _median.op.fn(x, 0, False, ignore_nan)[0]


@_middle.defjvp
def _middle_jvp(ignore_nan, primals, tangents):
    (x,), (dx,) = primals, tangents
    out = _middle(x, ignore_nan)
    equal = ((x == out) | ((x != x) & (out != out))).astype(dx.dtype)
    return out, jnp.sum(equal * dx) / jnp.sum(equal)


def _check_q(q):
    check_value(q, not isinstance(q, (int, float)) or 0 <= q <= 1, "be in [0, 1]", "q", "quantile")


@operator(2, name="quantile")
def _quantile(input, q, axis, keepdims, ignore_nan):
    x = to_float(input)
    return (jnp.nanquantile if ignore_nan else jnp.quantile)(x, jnp.asarray(q).astype(x.dtype), axis, keepdims=keepdims)


def quantile(input: Tensor, q: float | Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The q-th quantiles, with linear interpolation between neighbours.

    Args:
        input (Tensor): any shape, of floats.
        q (float or Tensor): in [0, 1]; a 1-D Tensor of several adds a leading axis.
        axis (int, optional): the axis. Default: None, for all elements.
        keepdims (bool): whether the axis stays, with size 1. Default: False.

    Raises:
        ValueError: `q` is out of range.

    Example:
        >>> print(ops.quantile(Tensor([0.0, 1.0, 2.0, 3.0]), 0.5))
        1.5
    """
    _check_q(q)
    return _quantile(input, q, axis, keepdims, False)


def nanquantile(input: TensorLike, q: float, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """The q-th quantiles of the elements that are not NaN; see `quantile`.

    Example:
        >>> print(ops.nanquantile(Tensor([1.0, 3.0, float('nan')]), 0.5))
        2.0
    """
    _check_q(q)
    return _quantile(input, q, axis, keepdims, True)


@operator(3, name="cov")
def _cov(input, fweights, aweights, correction):
    x = widened(to_float(input))
    return jnp.cov(x, ddof=correction, fweights=fweights, aweights=aweights).astype(x.dtype)


def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariance matrix of the rows of a Tensor.

    Args:
        input (Tensor): shape (N,) or (M, N): M variables, N observations.
        correction (int): the divisor is N - correction. Default: 1.
        fweights (Tensor, optional): how often each observation occurs. Default: None.
        aweights (Tensor, optional): the weight of each observation. Default: None.

    Example:
        >>> print(ops.cov(Tensor([[0.0, 2.0], [2.0, 0.0]])))
        [[ 2. -2.]
         [-2.  2.]]
    """
    return _cov(input, fweights, aweights, int(correction))


@operator(name="kthvalue", int_grad=True)
def kthvalue(input: TensorLike, k: int, dim: int = -1, keepdim: bool = False) -> tuple[JaxArray, JaxArray]:
    """The k-th smallest values along an axis, k counted from 1, and their indices."""
    x = as_operand(input)
    if x.ndim == 0:
        return x, jnp.zeros((), mstype.to_jax(mstype.int64))
    check_in_range(k, "k", low=1, high=x.shape[dim])
    rank = jnp.full([1 if i == dim % x.ndim else s for i, s in enumerate(x.shape)], k - 1)
    return _at_rank(x, rank, dim, keepdim)
