"""Cumulative operators along an axis."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_axis
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import as_operand, kind_of, to_float, typed

__all__ = ["cummax", "cummin", "cumprod", "cumsum", "diff", "diff_ext", "logcumsumexp", "trapz"]


@operator(int_grad=True)
def cumsum(x: TensorLike, axis: int, dtype: DTypeLike | None = None) -> JaxArray:
    """The cumulative sum along an axis.

    Args:
        x (Tensor): any shape.
        axis (int): the axis.
        dtype (ms.dtype, optional): the dtype to convert to first. Default: None; Bools become Int32.

    Example:
        >>> print(ops.cumsum(Tensor([1.0, 2.0, 3.0]), 0))
        [1. 3. 6.]
    """
    x = typed(x, dtype)
    check_axis(axis, x.ndim, bools=True)
    x = x.astype(jnp.int32) if x.dtype == jnp.bool_ else x
    return jnp.cumsum(x, axis, dtype=x.dtype)


@operator(int_grad=True)
def cumprod(input: TensorLike, dim: int, dtype: DTypeLike | None = None) -> JaxArray:
    """The cumulative product along an axis; of Bools and integers as Int64.

    Args:
        input (Tensor): any shape.
        dim (int): the axis.
        dtype (ms.dtype, optional): the dtype to convert to first. Default: None.

    Example:
        >>> print(ops.cumprod(Tensor([1.0, 2.0, 3.0]), 0))
        [1. 2. 6.]
    """
    x = typed(input, dtype)
    check_axis(dim, x.ndim, bools=True)
    if kind_of(x.dtype) in "biu" and dtype is None:
        x = x.astype(mstype.to_jax(mstype.int64))
    return jnp.cumprod(x, dim, dtype=x.dtype)


def _shifted(name: str, what: str, scan: Callable[[JaxArray, int], JaxArray], first: float, int_grad: bool = True):
    """A cumulative operator whose result may go from the end and leave out the element itself; `first` stands before all elements."""

    def kernel(x: TensorLike, axis: int, exclusive: bool, reverse: bool) -> JaxArray:
        if reverse:
            x = jnp.flip(x, axis)
        if exclusive:
            edge = jnp.full_like(jax.lax.slice_in_dim(x, 0, 1, axis=axis), first)
            x = jnp.concatenate([edge, jax.lax.slice_in_dim(x, 0, x.shape[axis] - 1, axis=axis)], axis)
        out = scan(x, axis)
        return jnp.flip(out, axis) if reverse else out

    doc = f"""{what} along an axis.

    Args:
        x (Tensor): any shape{"" if int_grad else ", of floats"}.
        axis (int): the axis.
        exclusive (bool): whether an element itself is left out of its result.
        reverse (bool): whether it goes from the end.
    """
    return operator(int_grad=int_grad)(titled(kernel, name, doc))


cumsum_shifted = _shifted("cumsum_shifted", "The cumulative sum", lambda v, a: jnp.cumsum(v, a, dtype=v.dtype), 0)
cumprod_shifted = _shifted("cumprod_shifted", "The cumulative product", lambda v, a: jnp.cumprod(v, a, dtype=v.dtype), 1)
logcumsumexp_shifted = _shifted(
    "logcumsumexp_shifted",
    "log of the cumulative sum of exp",
    lambda v, a: jax.lax.cumlogsumexp(v, a % v.ndim),
    -jnp.inf,
    int_grad=False,
)


@operator()
def logcumsumexp(input: TensorLike, axis: int) -> JaxArray:
    """log of the cumulative sum of exp(input) along an axis, computed without overflow.

    Example:
        >>> print(ops.logcumsumexp(Tensor([0.0, 0.0]), 0))
        [0.        0.6931472]
    """
    check_axis(axis, input.ndim, bools=True)
    return jax.lax.cumlogsumexp(to_float(input), axis % input.ndim)


def _running(x, axis, better):
    """The running extreme along an axis, and the place of it; of equal ones the last."""
    check_axis(axis, x.ndim, bools=True)
    axis = axis % x.ndim
    places = jax.lax.broadcasted_iota(jnp.int32, x.shape, axis)
    held = jax.lax.stop_gradient(x)

    def later(a, b):
        (x0, i0), (x1, i1) = a, b
        take = better(x1, x0) | (x1 != x1)
        return jnp.where(take, x1, x0), jnp.where(take, i1, i0)

    _, index = jax.lax.associative_scan(later, (held, places), axis=axis)
    return jnp.take_along_axis(x, index, axis), index


@operator(int_grad=True)
def cummax(input: TensorLike, axis: int) -> tuple[JaxArray, JaxArray]:
    """The largest values so far along an axis, and their indices as Int64.

    Returns:
        (values, indices): two Tensors; of equal values the last one's index.

    Example:
        >>> values, indices = ops.cummax(Tensor([1.0, 3.0, 2.0]), 0)
        >>> print(values, indices)
        [1. 3. 3.] [0 1 1]
    """
    values, index = _running(as_operand(input), axis, jnp.greater_equal)
    return values, index.astype(mstype.to_jax(mstype.int64))


@operator(int_grad=True)
def cummin(input: TensorLike, axis: int) -> tuple[JaxArray, JaxArray]:
    """The smallest values so far along an axis, and their indices as Int32.

    Returns:
        (values, indices): two Tensors; of equal values the last one's index.

    Example:
        >>> values, indices = ops.cummin(Tensor([3.0, 1.0, 2.0]), 0)
        >>> print(values, indices)
        [3. 1. 1.] [0 1 1]
    """
    return _running(as_operand(input), axis, jnp.less_equal)


@operator(3, name="diff", int_grad=True)
def _diff(x, prepend, append, n, axis):
    parts = [v for v in (prepend, x, append) if v is not None]
    if len(parts) > 1:
        x = jnp.concatenate(parts, axis)
    return jnp.diff(x, n, axis)


def diff(
    x: TensorLike, n: int = 1, axis: int = -1, prepend: TensorLike | None = None, append: TensorLike | None = None
) -> Tensor:
    """Differences of neighbours along an axis, taken n times.

    Args:
        x (Tensor): any shape.
        n (int): how many times. Default: 1.
        axis (int): the axis. Default: -1.
        prepend, append (Tensor, optional): joined to `x` first. Default: None.

    Example:
        >>> print(ops.diff(Tensor([1, 4, 9, 16])))
        [3 5 7]
    """
    return _diff(x, prepend, append, n, axis)


def diff_ext(
    input: TensorLike, n: int = 1, dim: int = -1, prepend: TensorLike | None = None, append: TensorLike | None = None
) -> Tensor:
    """Differences of neighbours along an axis; see `diff`.

    Example:
        >>> print(ops.diff_ext(Tensor([1, 4, 9, 16])))
        [3 5 7]
    """
    return _diff(input, prepend, append, n, dim)


@operator(2, numbers=("dx",), name="trapz")
def trapz(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> JaxArray:
    """The integral of `y` along an axis by the trapezoidal rule.

    Args:
        y (Tensor): values.
        x (Tensor, optional): the places of the values. Default: None, for places at a distance of `dx`.
        dx (float): Default: 1.0.
        dim (int): the axis. Default: -1.

    Example:
        >>> print(ops.trapz(Tensor([1.0, 2.0, 3.0])))
        4.0
    """
    values = to_float(y)
    return jnp.trapezoid(values, None if x is None else x.astype(values.dtype), dx, dim)
