"""Largest and smallest elements, and where they are; medians, quantiles, covariance."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_in_range, check_index_fits, check_int, check_value
from msjax.core.base.typing import Axes, JaxArray, Number
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.dispatch.promotion import as_operand, kind_of, to_float, widened
from msjax.ops.function.array_func.creation import zeros
from msjax.ops.function.math_func.reduction import reduced_axes

__all__ = [
    "amax", "amin", "aminmax", "argmax", "argmin", "max", "min", "reduce_max", "reduce_min", "cov", "median", "nanmedian",
    "nanquantile", "quantile",
]  # fmt: skip


def reduce_max(x: TensorLike, axis: Axes = ()) -> Tensor:
    """The largest values over axes (all by default); see `amax`.

    Example:
        >>> print(ops.reduce_max(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [3. 4.]
    """
    return amax(x, axis)


def reduce_min(x: TensorLike, axis: Axes = ()) -> Tensor:
    """The smallest values over axes (all by default); see `amin`.

    Example:
        >>> print(ops.reduce_min(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [1. 2.]
    """
    return amin(x, axis)


@functools.partial(jax.custom_jvp, nondiff_argnums=(0, 2))
def _reduced(reduce, x, axes):
    """`jnp.max` or `jnp.min` over axes, which stay; the elements that are the result share its gradient, NaNs included."""
    return reduce(x, axes, keepdims=True)


@_reduced.defjvp
def _reduced_jvp(reduce, axes, primals, tangents):
    (x,), (tangent,) = primals, tangents
    result = _reduced(reduce, x, axes)
    # jax's own rule divides by zero equal elements where the result is NaN.
    chosen = (x == result) | (jnp.isnan(x) & jnp.isnan(result))
    # More elements than float16 can count may be equal.
    count = jnp.sum(chosen, axes, keepdims=True).astype(jnp.promote_types(x.dtype, jnp.float32))
    return result, jnp.sum(jnp.where(chosen, (tangent / count).astype(x.dtype), 0), axes, keepdims=True)


def _extreme_of(reduce, x, axes, keepdims):
    if not jnp.issubdtype(x.dtype, jnp.floating) or x.ndim == 0:
        return reduce(x, axes, keepdims=keepdims)
    axes = tuple(range(x.ndim)) if axes is None else axes if isinstance(axes, tuple) else (axes,)
    found = _reduced(reduce, x, axes)
    return found if keepdims else jnp.squeeze(found, axes)


def _whole(name, reduce):
    def kernel(input, where, axis, keepdims, initial):
        axes = reduced_axes(axis, input)
        if where is None and initial is None:
            return _extreme_of(reduce, input, axes, keepdims)
        return reduce(input, axes, keepdims=keepdims, initial=initial, where=where)

    return operator(2, numbers=("initial",), name=name, int_grad=(0,))(kernel)


_amax, _amin = _whole("amax", jnp.max), _whole("amin", jnp.min)


def _check_where(name, initial, where):
    if where is not None and initial is None:
        raise ValueError(f"For '{name}', 'where' needs 'initial', the value where nothing is selected.")


class _OverAxes(Protocol):
    def __call__(
        self, input: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, initial: Number | None = None,
        where: Tensor | None = None,
    ) -> Tensor: ...  # fmt: skip


def _over_axes(name: str, whole: Callable[..., Tensor], which: str, least: str, shown: str) -> _OverAxes:
    def function(
        input: TensorLike, axis: int | Sequence[int] | None = None, keepdims: bool = False, *, initial: Number | None = None,
        where: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        _check_where(name, initial, where)
        return whole(input, where, axis, keepdims, initial)

    doc = f"""The {which} values over axes; equal ones share the gradient, as NaNs do where the result is NaN.

    Args:
        input (Tensor): any shape and real dtype.
        axis (int, tuple or list, optional): the axes. Default: None, for all.
        keepdims (bool): whether reduced axes stay, with size 1. Default: False.
        initial (number, optional): the result is at {least} this. Default: None.
        where (Tensor of Bool, optional): which elements count; needs `initial`. Default: None, for all.

    Example:
        >>> print(ops.{name}(Tensor([[1.0, 5.0], [3.0, 4.0]]), 0))
        {shown}
    """
    return titled(function, name, doc)


amax: _OverAxes = _over_axes("amax", _amax, "largest", "least", "[3. 5.]")
amin: _OverAxes = _over_axes("amin", _amin, "smallest", "most", "[1. 4.]")


def _with_index(name, arg):
    def kernel(input, where, axis, keepdims, initial):
        x = input if where is None else jnp.where(where, input, jnp.asarray(initial, input.dtype))
        if x.ndim == 0:
            return x, jnp.zeros((), mstype.to_jax(mstype.int64))
        check_index_fits(x, reduced_axes(axis, x), mstype.to_jax(mstype.int64), name)
        index = arg(x, reduced_axes(axis, x), keepdims=True)
        values = jnp.take_along_axis(x, index, axis)
        if not keepdims:
            index, values = jnp.squeeze(index, axis), jnp.squeeze(values, axis)
        return values, index.astype(mstype.to_jax(mstype.int64))

    return operator(2, name=name, int_grad=(0,))(kernel)


_max_with_index, _min_with_index = _with_index("max", jnp.argmax), _with_index("min", jnp.argmin)


class _AlongAxis(Protocol):
    def __call__(
        self, input: Tensor, axis: int | None = None, keepdims: bool = False, *, initial: Number | None = None,
        where: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]: ...  # fmt: skip


def _along_axis(name: str, whole: Callable[..., Tensor], with_index: Callable[..., Any], which: str, shown: str) -> _AlongAxis:
    def function(
        input: Tensor,
        axis: int | None = None,
        keepdims: bool = False,
        *,
        initial: Number | None = None,
        where: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        _check_where(name, initial, where)
        if axis is None:
            return whole(input, where, None, False, initial), zeros((), mstype.int64)
        return with_index(input, where, check_int(freeze(axis), "axis", name), keepdims, initial)

    doc = f"""The {which} values along an axis, and where they are.

    Args:
        input (Tensor): any shape and real dtype.
        axis (int, optional): the axis. Default: None, for the {which} of all elements, given with the index 0.
        keepdims (bool): whether the axis stays, with size 1. Default: False.
        initial (number, optional): the value of elements that don't count. Default: None.
        where (Tensor of Bool, optional): which elements count; needs `initial`. Default: None, for all.

    Returns:
        (values, indices): two Tensors, the second of Int64. Among equal values the first counts.

    Raises:
        TypeError: `axis` is not an int.

    Example:
        >>> values, indices = ops.{name}(Tensor([[1.0, 5.0], [3.0, 4.0]]), 1)
        >>> print(values, indices)
        {shown}
    """
    return titled(function, name, doc)


max: _AlongAxis = _along_axis("max", _amax, _max_with_index, "largest", "[5. 4.] [1 1]")
min: _AlongAxis = _along_axis("min", _amin, _min_with_index, "smallest", "[1. 3.] [0 0]")


@operator(int_grad=True)
def aminmax(input: TensorLike, *, axis: int = 0, keepdims: bool = False) -> tuple[JaxArray, JaxArray]:
    """The smallest and the largest values along an axis (of all elements if it is None).

    Example:
        >>> print([str(t) for t in ops.aminmax(Tensor([[1.0, 2.0], [3.0, 4.0]]), axis=1)])
        ['[1. 3.]', '[2. 4.]']
    """
    axes = reduced_axes(axis, input)
    return _extreme_of(jnp.min, input, axes, keepdims), _extreme_of(jnp.max, input, axes, keepdims)


@operator(differentiable=False)
def argmax(input: TensorLike, dim: int | None = None, keepdim: bool = False) -> JaxArray:
    """The index of the largest value along axis `dim`, of the flattened Tensor by default, as Int64.

    Example:
        >>> print(ops.argmax(Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [1 1]
    """
    check_index_fits(input, reduced_axes(dim, input), mstype.to_jax(mstype.int64), "argmax")
    return jnp.argmax(input, reduced_axes(dim, input), keepdims=keepdim and dim is not None).astype(mstype.to_jax(mstype.int64))


@operator(differentiable=False)
def argmin(input: TensorLike, axis: int | None = None, keepdims: bool = False) -> JaxArray:
    """The index of the smallest value along `axis`, of the flattened Tensor by default, as Int32.

    Example:
        >>> print(ops.argmin(Tensor([[1.0, 2.0], [3.0, 4.0]]), 1))
        [0 0]
    """
    check_index_fits(input, reduced_axes(axis, input), jnp.int32, "argmin")
    return jnp.argmin(input, reduced_axes(axis, input), keepdims=keepdims and axis is not None).astype(jnp.int32)


# ---- medians, quantiles, covariance


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
