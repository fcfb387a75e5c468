"""Medians, quantiles, histograms, covariance."""

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.tensor import concrete
from msjax.ops.dispatch import operator
from msjax.ops.promote import array, kind_of, to_float

__all__ = ["bincount", "cov", "histc", "median", "nanmedian", "nanquantile", "quantile"]


def _at_rank(x, rank, axis, keepdims):
    """The elements of a rank along an axis, and their indices."""
    order = jnp.argsort(jax.lax.stop_gradient(x), axis)
    index = jnp.take_along_axis(order, rank, axis)
    values = jnp.take_along_axis(x, index, axis)
    if not keepdims:
        values, index = jnp.squeeze(values, axis), jnp.squeeze(index, axis)
    return values, index.astype(mstype.to_jax(mstype.int64))


@operator(name="median", int_grad=True)
def _median(input, axis, keepdims, ignore_nan):
    x = array(input)
    if x.ndim == 0:
        return x, jnp.zeros((), mstype.to_jax(mstype.int64))
    n = jnp.full([1 if i == axis % x.ndim else s for i, s in enumerate(x.shape)], x.shape[axis])
    if kind_of(x.dtype) != "f":
        return _at_rank(x, (n - 1) // 2, axis, keepdims)
    count = jnp.sum(~jnp.isnan(x), axis, keepdims=True)
    # NaN are sorted to the end: the first of them stands for "not a median" unless they are left out.
    rank = jnp.maximum(count - 1, 0) // 2 if ignore_nan else jnp.where(count == n, (n - 1) // 2, count)
    return _at_rank(x, rank, axis, keepdims)


def median(input, axis=-1, keepdims=False):
    """The median along an axis, and its index; of an even number the lower one.

    Args:
        input (Tensor): any shape and real dtype.
        axis (int): the axis. Default: -1.
        keepdims (bool): whether the axis stays, with size 1. Default: False.

    Returns:
        (values, indices): two Tensors, the second of Int64.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> values, indices = ops.median(ms.Tensor([3.0, 1.0, 2.0]))
        >>> print(values, indices)
        2.0 2
    """
    return _median(input, axis, keepdims, False)


def nanmedian(input, axis=-1, keepdims=False):
    """The median along an axis of the elements that are not NaN, and its index; see `median`.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.nanmedian(ms.Tensor([3.0, 1.0, float("nan")]))[0])
        1.0
    """
    return _median(input, axis, keepdims, True)


@operator(name="median", int_grad=True)
def global_median(input, ignore_nan):
    """The median of all elements."""
    x = array(input).reshape(-1)
    out = _median.op.fn(x, 0, False, ignore_nan)[0]
    return out, jnp.zeros((), mstype.to_jax(mstype.int64))


def _check_q(q):
    if isinstance(q, (int, float)) and not 0 <= q <= 1:
        raise ValueError(f"For 'quantile', 'q' should be in [0, 1], but got {q}.")


@operator(2, name="quantile")
def _quantile(input, q, axis, keepdims, ignore_nan):
    x = to_float(input)
    return (jnp.nanquantile if ignore_nan else jnp.quantile)(x, jnp.asarray(q).astype(x.dtype), axis, keepdims=keepdims)


def quantile(input, q, axis=None, keepdims=False):
    """The q-th quantiles, with linear interpolation between neighbours.

    Args:
        input (Tensor): any shape, of floats.
        q (float or Tensor): in [0, 1]; a 1-D Tensor of several adds a leading axis.
        axis (int, optional): the axis. Default: None, for all elements.
        keepdims (bool): whether the axis stays, with size 1. Default: False.

    Raises:
        ValueError: `q` is out of range.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.quantile(ms.Tensor([0.0, 1.0, 2.0, 3.0]), 0.5))
        1.5
    """
    _check_q(q)
    return _quantile(input, q, axis, keepdims, False)


def nanquantile(input, q, axis=None, keepdims=False):
    """The q-th quantiles of the elements that are not NaN; see `quantile`."""
    _check_q(q)
    return _quantile(input, q, axis, keepdims, True)


@operator(name="histc", differentiable=False)
def _histc(input, bins, low, high):
    x = array(input).reshape(-1)
    whole = kind_of(x.dtype) != "f"
    values = to_float(x)
    if low == high == 0:
        low, high = jnp.min(values), jnp.max(values)
    else:
        low, high = jnp.asarray(low, values.dtype), jnp.asarray(high, values.dtype)
    low, high = jnp.where(low == high, low - 1, low), jnp.where(low == high, high + 1, high)
    place = jnp.floor((values - low) / (high - low) * bins).astype(jnp.int32)
    inside = (values >= low) & (values <= high)
    place = jnp.where(inside, jnp.clip(place, 0, bins - 1), bins)
    counts = jnp.zeros(bins + 1, jnp.int32).at[place].add(1)[:bins]
    return counts if whole else counts.astype(x.dtype)


def histc(input, bins=100, min=0.0, max=0.0):
    """How many elements lie in each of `bins` equal parts of [min, max].

    Args:
        input (Tensor): any shape and real dtype.
        bins (int): Default: 100.
        min, max (number): the limits; elements outside don't count. Both 0, the default, for those of the data.

    Returns:
        Tensor of shape (bins,), of the dtype of `input`, Int32 for integers.

    Raises:
        ValueError: bins < 1 or min > max.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.histc(ms.Tensor([1.0, 2.0, 1.0]), bins=4, min=0.0, max=3.0))
        [0. 2. 1. 0.]
    """
    if bins < 1:
        raise ValueError(f"For 'histc', 'bins' should be positive, but got {bins}.")
    if min > max:
        raise ValueError(f"For 'histc', 'min' should not be above 'max', but got {min} and {max}.")
    return _histc(input, bins, float(min), float(max))


@operator(2, name="bincount", differentiable=False)
def _bincount(input, weights, length):
    dtype = jnp.float32 if weights is None or kind_of(weights.dtype) != "f" else weights.dtype
    add = jnp.ones(input.shape, dtype) if weights is None else weights.astype(dtype)
    return jnp.zeros(length, dtype).at[input].add(add)


def bincount(input, weights=None, minlength=0):
    """How often each number from 0 to the largest occurs, or the sum of its weights, as floats.

    Args:
        input (Tensor): shape (N,), of integers, none negative.
        weights (Tensor, optional): shape (N,). Default: None, for ones.
        minlength (int): the least length of the result. Default: 0.

    Raises:
        ValueError: a negative number.
        TypeError: called while the program is compiled: the length depends on values.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.bincount(ms.Tensor([0, 1, 1, 3])))
        [1. 2. 0. 1.]
    """
    known = np.asarray(concrete(input, "ops.bincount"))
    if known.ndim != 1:
        raise ValueError(f"For 'bincount', the Tensor should have one axis, but its shape is {known.shape}.")
    if known.size and known.min() < 0:
        raise ValueError(f"For 'bincount', numbers should not be negative, but got {known.min()}.")
    length = int(known.max()) + 1 if known.size else 0
    return _bincount(input, weights, length if length > minlength else minlength)


@operator(3, name="cov")
def _cov(input, fweights, aweights, correction):
    return jnp.cov(to_float(input), ddof=correction, fweights=fweights, aweights=aweights)


def cov(input, *, correction=1, fweights=None, aweights=None):
    """The covariance matrix of the rows of a Tensor.

    Args:
        input (Tensor): shape (N,) or (M, N): M variables, N observations.
        correction (int): the divisor is N - correction. Default: 1.
        fweights (Tensor, optional): how often each observation occurs. Default: None.
        aweights (Tensor, optional): the weight of each observation. Default: None.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ops.cov(ms.Tensor([[0.0, 2.0], [2.0, 0.0]])))
        [[ 2. -2.]
         [-2.  2.]]
    """
    return _cov(input, fweights, aweights, int(correction))
