"""Reductions: sums, means, products, variances, all and any."""

from __future__ import annotations

from typing import Final

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_axis
from msjax.core.base.typing import Axes, JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import as_operand, kind_of, rounded_once, to_float, typed
from msjax.ops.function.math_func.norms import root

__all__ = [
    "all", "any", "count_nonzero", "logsumexp", "mean", "nanmean", "nansum", "prod", "reduce_mean", "reduce_sum", "std",
    "std_mean", "sum", "var", "var_mean",
]  # fmt: skip


def reduced_axes(axis: Axes | None, x: TensorLike, scalars: bool = True) -> int | tuple[int, ...] | None:
    """The axes as jax takes them; None or an empty tuple: all."""
    if axis is None or axis == ():
        return None
    count = x.ndim or int(scalars)
    for a in axis if isinstance(axis, tuple) else (axis,):
        check_axis(a, count, bools=True)
    return axis if x.ndim else None


def _wide(x):
    """Bools and integers as Int64, which sums and products are counted in; UInt64, which has larger numbers, as it is."""
    return x.astype(mstype.to_jax(mstype.int64)) if kind_of(x.dtype) in "biu" and x.dtype != jnp.uint64 else x


@operator(int_grad=True, tensors=True)
def sum(input: TensorLike, dim: Axes | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None) -> JaxArray:
    """The sum over axes; of Bools and integers as Int64.

    Args:
        input (Tensor): any shape.
        dim (int, tuple or list, optional): the axes. Default: None, for all.
        keepdim (bool): whether reduced axes stay, with size 1. Default: False.
        dtype (ms.dtype, optional): the dtype to convert to first, and the sum's. Default: None.

    Example:
        >>> print(ops.sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [3. 7.]
    """
    return typed(jnp.sum(x := _wide(typed(input, dtype)), reduced_axes(dim, x), keepdims=keepdim), dtype)


@operator(tensors=True)
def mean(x: TensorLike, axis: Axes | None = None, keep_dims: bool = False) -> JaxArray:
    """The mean over axes; of integers an integer, rounded towards zero.

    Args:
        x (Tensor): any shape, not of Bools.
        axis (int, tuple or list, optional): the axes. Default: None, for all.
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.

    Raises:
        TypeError: `x` holds Bools.

    Example:
        >>> print(ops.mean(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [2. 3.]
    """
    x = as_operand(x)
    axes = reduced_axes(axis, x)
    kind = kind_of(x.dtype)
    if kind == "b":
        raise TypeError("the mean of Bools is not defined; convert to Float32 first.")
    if kind in "iu":
        total = jnp.sum(_wide(x), axes, keepdims=keep_dims)
        return jax.lax.div(total, jnp.full_like(total, x.size // total.size if total.size else 1)).astype(x.dtype)
    return jnp.mean(x, axes, keepdims=keep_dims)


@operator(int_grad=True, tensors=True)
def prod(input: TensorLike, axis: Axes | None = None, keep_dims: bool = False, dtype: DTypeLike | None = None) -> JaxArray:
    """The product over axes; of Bools and integers as Int64, but over axes in a tuple or list in the dtype of `input`.

    Args:
        input (Tensor): any shape.
        axis (int, tuple or list, optional): the axes. Default: None, for all.
        keep_dims (bool): whether reduced axes stay, with size 1. Default: False.
        dtype (ms.dtype, optional): the dtype to convert to first, and the product's. Default: None.

    Example:
        >>> print(ops.prod(Tensor([2.0, 3.0, 4.0])))
        24.0
    """
    own = typed(input, dtype)
    out = jnp.prod(x := _wide(own), reduced_axes(axis, x), keepdims=keep_dims)
    return out if dtype is None and not isinstance(axis, (tuple, list)) else out.astype(own.dtype)


# The class forms keep the dtype of integers, where the functions count in Int64.


def _kept(name, fn):
    def kernel(x, axis, keep_dims):
        x = as_operand(x)
        bools = kind_of(x.dtype) == "b"
        out = fn(x.astype(jnp.int32) if bools else x, reduced_axes(axis, x), keepdims=keep_dims)
        return out != 0 if bools else out.astype(x.dtype)

    return operator(name=name, int_grad=True)(kernel)


sum_kept: Final = _kept("ReduceSum", jnp.sum)
prod_kept: Final = _kept("ReduceProd", jnp.prod)


def reduce_sum(x: TensorLike, axis: Axes = ()) -> Tensor:
    """The sum over axes (all by default), in the dtype of `x`.

    Example:
        >>> print(ops.reduce_sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [3. 7.]
    """
    return sum_kept(x, axis, False)


def reduce_mean(x: TensorLike, axis: Axes = ()) -> Tensor:
    """The mean over axes (all by default); see `mean`.

    Example:
        >>> print(ops.reduce_mean(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [2. 3.]
    """
    return mean(x, axis)


# ---- tests


@operator(differentiable=False, tensors=True)
def all(input: TensorLike, axis: Axes | None = None, keep_dims: bool = False) -> JaxArray:
    """True where all values over the axes `axis` (all by default) are true.

    Example:
        >>> print(ops.all(Tensor([True, False])))
        False
    """
    return jnp.all(x := as_operand(input), reduced_axes(axis, x), keepdims=keep_dims)


@operator(differentiable=False, tensors=True)
def any(input: TensorLike, axis: Axes | None = None, keep_dims: bool = False) -> JaxArray:
    """True where any value over the axes `axis` (all by default) is true.

    Example:
        >>> print(ops.any(Tensor([True, False])))
        True
    """
    return jnp.any(x := as_operand(input), reduced_axes(axis, x), keepdims=keep_dims)


@operator(differentiable=False)
def count_nonzero(x: TensorLike, axis: Axes = (), keep_dims: bool = False, dtype: DTypeLike = mstype.int32) -> JaxArray:
    """How many values over the axes `axis` (all by default) are not 0, as Int32 by default.

    Example:
        >>> print(ops.count_nonzero(Tensor([0, 3, 4])))
        2
    """
    return jnp.count_nonzero(x, reduced_axes(axis, x), keepdims=keep_dims).astype(mstype.to_jax(dtype))


# ---- moments


@operator(tensors=True)
def var(input: TensorLike, axis: Axes | None = None, ddof: int = 0, keepdims: bool = False) -> JaxArray:
    """The variance over the axes `axis` (all by default), with the divisor N - ddof.

    Example:
        >>> print(ops.var(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [1. 1.]
    """
    return jnp.var(x := to_float(input), reduced_axes(axis, x, False), ddof=int(ddof), keepdims=keepdims)


@operator(tensors=True)
def std(input: TensorLike, axis: Axes | None = None, ddof: int = 0, keepdims: bool = False) -> JaxArray:
    """The standard deviation over the axes `axis` (all by default), with the divisor N - ddof.

    Example:
        >>> print(ops.std(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [1. 1.]
    """
    return rounded_once(_deviation, x := to_float(input), reduced_axes(axis, x, False), int(ddof), keepdims)


def _deviation(x, axes, ddof, keepdims):
    return root(jnp.var(x, axes, ddof=ddof, keepdims=keepdims))


@operator()
def var_mean(input: TensorLike, axis: Axes | None = None, ddof: int = 0, keepdims: bool = False) -> tuple[JaxArray, JaxArray]:
    """The variance (with the divisor N - ddof) and the mean over the axes `axis`, all by default.

    Example:
        >>> print([str(t) for t in ops.var_mean(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0)])
        ['[1. 1.]', '[2. 3.]']
    """
    x = to_float(input)
    axes = reduced_axes(axis, x, False)
    return jnp.var(x, axes, ddof=int(ddof), keepdims=keepdims), jnp.mean(x, axes, keepdims=keepdims)


@operator()
def std_mean(input: TensorLike, axis: Axes | None = None, ddof: int = 0, keepdims: bool = False) -> tuple[JaxArray, JaxArray]:
    """The standard deviation (with the divisor N - ddof) and the mean over the axes `axis`, all by default.

    Example:
        >>> print([str(t) for t in ops.std_mean(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0)])
        ['[1. 1.]', '[2. 3.]']
    """
    x = to_float(input)
    axes = reduced_axes(axis, x, False)
    return rounded_once(_deviation, x, axes, int(ddof), keepdims), jnp.mean(x, axes, keepdims=keepdims)


@operator(name="logsumexp")
def _logsumexp(input, dim, keepdim):
    x = as_operand(input)
    if dim is None or kind_of(x.dtype) in "iu":
        raise TypeError("'logsumexp' takes a Tensor of floats, and axes or () for all.")
    x = to_float(x)
    return jax.nn.logsumexp(x, reduced_axes(dim, x), keepdims=keepdim)


def logsumexp(input: TensorLike, dim: Axes, keepdim: bool = False, *, keep_dims: bool | None = None) -> Tensor:
    """log(sum(exp(input))) over axes, computed without overflow.

    Args:
        input (Tensor): any shape, of floats.
        dim (int, tuple or list): the axes; () for all.
        keepdim (bool): whether reduced axes stay, with size 1; also taken as `keep_dims`. Default: False.

    Example:
        >>> print(ops.logsumexp(Tensor([1000.0, 1000.0]), 0))
        1000.69315
    """
    return _logsumexp(input, dim, keepdim if keep_dims is None else keep_dims)


# ---- without NaN


@operator()
def nansum(input: TensorLike, axis: Axes | None = None, keepdims: bool = False, *, dtype: DTypeLike | None = None) -> JaxArray:
    """The sum over the axes `axis` (all by default), NaN counted as 0; of Bools as Int64.

    Example:
        >>> print(ops.nansum(Tensor([1.0, 3.0, float('nan')])))
        4.0
    """
    x = _wide(input) if dtype is None and kind_of(input.dtype) == "b" else typed(input, dtype)
    return jnp.nansum(x, reduced_axes(axis, x), keepdims=keepdims).astype(x.dtype)


@operator()
def nanmean(input: TensorLike, axis: Axes | None = None, keepdims: bool = False, *, dtype: DTypeLike | None = None) -> JaxArray:
    """The mean over the axes `axis` (all by default) of the elements that are not NaN.

    Example:
        >>> print(ops.nanmean(Tensor([1.0, 3.0, float('nan')])))
        2.0
    """
    return jnp.nanmean(x := typed(to_float(input), dtype), reduced_axes(axis, x), keepdims=keepdims)
