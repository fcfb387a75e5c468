"""Reductions, sums along axes and statistics under numpy's names."""

from __future__ import annotations

import builtins
import functools
from typing import Any, Protocol

import jax.numpy as jnp

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike, DTypeLike
from msjax.core.base.checks import check_axis_of, check_index_fits, check_value
from msjax.core.base.typing import Axes, JaxArray, Number
from msjax.engine.autograd.op import Op, apply
from msjax.numpy.lifting import as_type, floating, lifted, single, tensor, wide
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.dispatch.promotion import kind_of, to_float

__all__ = [
    "amax", "amin", "argmax", "argmin", "average", "corrcoef", "count_nonzero", "cov", "cumprod", "cumsum", "diff", "ediff1d",
    "gradient", "max", "mean", "min", "nancumsum", "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar", "norm", "ptp",
    "sometrue", "std", "sum", "trapz", "var",
]  # fmt: skip


# ---- extremes


@operator(2, numbers=("initial",), name="amax", int_grad=(0,))
def _max(a, where, axis, keepdims, initial):
    return jnp.max(a, axis, keepdims=keepdims, initial=initial, where=where)


@operator(2, numbers=("initial",), name="amin", int_grad=(0,))
def _min(a, where, axis, keepdims, initial):
    return jnp.min(a, axis, keepdims=keepdims, initial=initial, where=where)


def amax(
    a: ArrayLike,
    axis: Axes | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
    where: ArrayLike = True,
) -> Tensor:
    """The largest values over axes.

    Args:
        a (array-like): of any shape.
        axis (int or tuple, optional): the axes; all by default.
        keepdims (bool): whether reduced axes stay, with size 1. Default: False.
        initial (number, optional): the least result.
        where (Tensor): of Bools: the elements that count; needs `initial`. Default: True.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.amax(Tensor([[1, 5], [7, 3]]), axis=0))
        [7 5]
    """
    return _max(tensor(a), None if where is True else where, axis, keepdims, initial)


def amin(
    a: ArrayLike, axis: Axes | None = None, keepdims: bool = False, initial: Number | None = None, where: ArrayLike = True
) -> Tensor:
    """The smallest values over axes; the arguments are those of `amax`."""
    return _min(tensor(a), None if where is True else where, axis, keepdims, initial)


max = amax
min = amin


@lifted(differentiable=False)
def argmax(a: ArrayLike, axis: int | None = None) -> JaxArray:
    """The index of the largest value along an axis, of the flattened array by default."""
    axis = axis if axis is None else check_axis_of(a, axis, "argmax")
    check_index_fits(a, axis, mstype.to_jax(mstype.int64), "argmax")
    return jnp.argmax(a, axis).astype(mstype.to_jax(mstype.int64))


@lifted(differentiable=False)
def argmin(a: ArrayLike, axis: int | None = None) -> JaxArray:
    """The index of the smallest value along an axis, of the flattened array by default."""
    axis = axis if axis is None else check_axis_of(a, axis, "argmin")
    check_index_fits(a, axis, jnp.int32, "argmin")
    return jnp.argmin(a, axis).astype(jnp.int32)


def ptp(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """The largest minus the smallest value over axes."""
    return amax(x, axis, keepdims) - amin(x, axis, keepdims)


# ---- sums and means


def sum(
    a: ArrayLike,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    initial: Number | None = None,
) -> Tensor:
    """The sum over axes.

    Args:
        a (array-like): of any shape.
        axis (int or tuple, optional): the axes; all by default.
        dtype (ms.dtype, optional): of the result.
        keepdims (bool): whether reduced axes stay, with size 1. Default: False.
        initial (number, optional): added to the sum.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.sum(Tensor([[1, 5], [7, 3]]), axis=1))
        [ 6 10]
    """
    out = ops.sum(as_type(tensor(a), dtype), axis, keepdims)
    return as_type(out if initial is None else out + initial, dtype)


def mean(a: ArrayLike, axis: Axes | None = None, keepdims: bool = False, dtype: DTypeLike | None = None) -> Tensor:
    """The mean over axes; of integers an integer, rounded towards zero, unless `dtype` says otherwise.

    Args:
        a (array-like): of any shape.
        axis (int or tuple, optional): the axes; all by default.
        keepdims (bool): whether reduced axes stay, with size 1. Default: False.
        dtype (ms.dtype, optional): of the result.
    """
    a = tensor(a) if dtype is None else as_type(tensor(a), dtype)
    return ops.mean(a, axis, keepdims)


@functools.cache
def _moment(name):
    function = getattr(jnp, name)
    return operator(1, name=name)(lambda a, axis, ddof, keepdims: function(a, axis, ddof=ddof, keepdims=keepdims))


def std(x: ArrayLike, axis: Axes | None = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation over axes, with the divisor N - ddof."""
    return _moment("std")(floating(x), axis, ddof, keepdims)


def var(x: ArrayLike, axis: Axes | None = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance over axes, with the divisor N - ddof."""
    return _moment("var")(floating(x), axis, ddof, keepdims)


def average(
    x: ArrayLike, axis: Axes | None = None, weights: ArrayLike | None = None, returned: bool = False
) -> tuple[JaxArray | Tensor, Tensor] | JaxArray | Tensor:
    """The mean over an axis, with weights.

    Args:
        x (array-like): of any shape.
        axis (int or tuple, optional): the axes; all by default.
        weights (array-like, optional): of the shape of `x`, or of its axis `axis`.
        returned (bool): also the sum of the weights. Default: False.
    """
    x = tensor(x)
    if weights is None:
        out = mean(x, axis)
        total = ops.full_like(out, float(x.size // builtins.max(out.size, 1)))
    else:
        weights = floating(weights)
        if weights.shape != x.shape and weights.ndim == 1 and isinstance(axis, int):
            weights = weights.reshape((-1,) + (1,) * (x.ndim - 1 - axis % x.ndim))
        weights = ops.broadcast_to(weights, x.shape)
        total = sum(weights, axis)
        out = sum(x * weights, axis) / total
    return (out, total) if returned else out


# ---- without NaN


class _WithoutNaN(Protocol):
    def __call__(
        self, a: ArrayLike, axis: Axes | None = None, dtype: DTypeLike | None = None, keepdims: bool = False
    ) -> Tensor: ...


class _Cumulative(Protocol):
    def __call__(self, a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor: ...


def _without_nan(name: str, doc: str) -> _WithoutNaN:
    function = getattr(jnp, name)
    kernel = operator(1, name=name)(lambda a, axis, keepdims: function(a, axis, keepdims=keepdims))

    def call(a: ArrayLike, axis: Axes | None = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tensor:
        a = wide(a) if name == "nanmean" else tensor(a)
        return as_type(kernel(a, axis, keepdims), a.dtype if dtype is None else dtype)

    return titled(call, name, doc)


nanmax: _WithoutNaN = _without_nan("nanmax", "The largest values over axes, NaN left out.")
nanmin: _WithoutNaN = _without_nan("nanmin", "The smallest values over axes, NaN left out.")
nanmean: _WithoutNaN = _without_nan("nanmean", "The mean over axes, NaN left out.")
nansum: _WithoutNaN = _without_nan("nansum", "The sum over axes, NaN left out.")


def nanstd(
    a: ArrayLike, axis: Axes | None = None, dtype: DTypeLike | None = None, ddof: int = 0, keepdims: bool = False
) -> Tensor:
    """The standard deviation over axes, NaN left out."""
    return as_type(_moment("nanstd")(wide(a), axis, ddof, keepdims), mstype.float32 if dtype is None else dtype)


def nanvar(
    a: ArrayLike, axis: Axes | None = None, dtype: DTypeLike | None = None, ddof: int = 0, keepdims: bool = False
) -> Tensor:
    """The variance over axes, NaN left out."""
    return as_type(_moment("nanvar")(wide(a), axis, ddof, keepdims), mstype.float32 if dtype is None else dtype)


# ---- along an axis


def _cumulative(name: str, doc: str) -> _Cumulative:
    function = getattr(jnp, name)

    @operator(1, name=name, int_grad=True)
    def kernel(a, axis, dtype):
        if dtype is not None:
            a = a.astype(mstype.to_jax(dtype))
        elif kind_of(a.dtype) in "biu" and a.dtype.itemsize < 4:
            a = a.astype(jnp.uint32 if name == "cumprod" and kind_of(a.dtype) == "u" else jnp.int32)
        return function(a, axis)

    def call(a: ArrayLike, axis: Axes | None = None, dtype: DTypeLike | None = None) -> Tensor:
        return kernel(tensor(a), axis, None if dtype is None else mstype.as_dtype(dtype))

    return titled(call, name, doc)


cumsum: _Cumulative = _cumulative("cumsum", "The cumulative sum along an axis, of the flattened array by default.")
cumprod: _Cumulative = _cumulative("cumprod", "The cumulative product along an axis, of the flattened array by default.")


def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
    """The cumulative sum along an axis, of the flattened array by default; NaN counts as 0."""
    a = tensor(a)
    return cumsum(ops.where(ops.isnan(a), ops.zeros_like(a), a) if a.is_floating_point() else a, axis, dtype)


@operator(3, int_grad=True)
def _diff(a, prepend, append, n, axis):
    return jnp.diff(a, n, axis, prepend, append)


def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike | None = None, append: ArrayLike | None = None) -> Tensor:
    """Differences of neighbours along an axis, `n` times; `prepend` and `append` are joined first.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.diff(Tensor([1, 4, 9])))
        [3 5]
    """
    prepend, append = (v if v is None else tensor(v) for v in (prepend, append))
    return _diff(tensor(a), prepend, append, n, axis)


@lifted(3, int_grad=True)
def ediff1d(ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None) -> JaxArray:
    """Differences of neighbours in the flattened array, with others put before and after."""
    return jnp.ediff1d(ary, to_end, to_begin)


@functools.partial(Op, "gradient")
def _GRADIENT(f, *spacing_and_axis):
    *spacing, axis = spacing_and_axis
    unit = jnp.gradient(f, axis=axis)
    if not spacing:
        return unit
    # XLA divides by a constant so, and the result is to be the same.
    inverse = [1 / jnp.asarray(distance, f.dtype) for distance in spacing]
    if not isinstance(unit, list):
        return unit * inverse[0]
    return [along * (inverse[0] if len(inverse) == 1 else inverse[i]) for i, along in enumerate(unit)]


def gradient(f: ArrayLike, *varargs: Number, axis: Axes | None = None, edge_order: int = 1) -> Any:
    """Central differences along axes, one-sided at the ends.

    Args:
        f (array-like): values at equal distances.
        varargs (number): the distances: one, or one for each axis. Default: 1.
        axis (int or tuple, optional): the axes; all by default.
        edge_order (int): of the differences at the ends; only 1.

    Returns:
        A Tensor, or a list of one for each of several axes.
    """
    check_value(edge_order, edge_order == 1, "be 1", "edge_order", "gradient")
    spacing = [v.item() if isinstance(v, Tensor) else v for v in varargs]
    out = apply(_GRADIENT, [wide(f), *spacing], (freeze(axis),))
    return list(out) if isinstance(out, tuple) else out


@lifted(2, numbers=("dx",), convert=floating)
def trapz(y: ArrayLike, x: ArrayLike | None = None, dx: float = 1.0, axis: int = -1) -> JaxArray:
    """The integral along an axis, by trapezoids between points `x`, or at distances `dx`; Float16 or Float32, as `y` is."""
    return jnp.trapezoid(y, x, dx, axis).astype(jnp.float16 if y.dtype == jnp.float16 else jnp.float32)


# ---- counting and truth


@lifted(differentiable=False)
def count_nonzero(x: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> JaxArray:
    """How many elements are not zero, over axes."""
    return jnp.count_nonzero(x, axis, keepdims=keepdims).astype(mstype.to_jax(mstype.int32))


@lifted(differentiable=False)
def sometrue(a: ArrayLike, axis: Axes | None = None, keepdims: bool = False) -> JaxArray:
    """True where any value over axes is true."""
    return jnp.any(a, axis, keepdims=keepdims)


# ---- norms and covariances


@lifted()
def norm(x: ArrayLike, ord: Number | str | None = None, axis: Axes | None = None, keepdims: bool = False) -> JaxArray:
    """A vector or matrix norm; by default the 2-norm of all elements.

    Args:
        x (array-like): of any shape.
        ord (number or str, optional): which norm, as in numpy.linalg.norm.
        axis (int or tuple of two, optional): the axis of vectors or the axes of matrices.
        keepdims (bool): whether reduced axes stay, with size 1. Default: False.
    """
    x = to_float(x)
    if ord is None and axis is None:
        return jnp.sqrt(jnp.sum(jnp.square(jnp.abs(x)), keepdims=keepdims))
    return jnp.linalg.norm(x, ord, axis, keepdims)


@operator(4)
def _cov(m, y, fweights, aweights, rowvar, bias, ddof):
    return jnp.cov(m, y, rowvar, bias, ddof, fweights, aweights)


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The covariance matrix of variables, one a row (or column, without `rowvar`)."""
    y, aweights = (None if v is None else single(v) for v in (y, aweights))
    fweights = None if fweights is None else tensor(fweights)
    return as_type(_cov(single(m), y, fweights, aweights, rowvar, bias, ddof), dtype)


@operator(2)
def _corrcoef(x, y, rowvar):
    return jnp.corrcoef(x, y, rowvar)


def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None) -> Tensor:
    """The correlation coefficients of variables, one a row (or column, without `rowvar`)."""
    return as_type(_corrcoef(single(x), None if y is None else single(y), rowvar), dtype)
