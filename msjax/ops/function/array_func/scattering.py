"""Operators that scatter elements by index: into a new Tensor, but for `index_add`; and on segments, groups of elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.arrays import concrete
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_in_range, check_value
from msjax.core.base.typing import Attribute, JaxArray, Number
from msjax.engine.autograd.inplace import written
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import freeze, operator, require_integers
from msjax.ops.dispatch.promotion import added, kind_of
from msjax.ops.function.array_func.splitting import at_axis

__all__ = [
    "index_add", "index_fill", "inplace_add", "inplace_index_add", "inplace_sub", "inplace_update", "scatter", "scatter_nd",
    "tensor_scatter_add", "tensor_scatter_div", "tensor_scatter_elements", "tensor_scatter_max", "tensor_scatter_min",
    "tensor_scatter_mul", "tensor_scatter_sub", "tensor_scatter_update", "unsorted_segment_max", "unsorted_segment_min",
    "unsorted_segment_prod", "unsorted_segment_sum",
]  # fmt: skip


# ---- putting in by an index, with a gradient for every way of combining


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _extremum(smallest, x, u, index):
    at = x.at[index]
    return at.min(u) if smallest else at.max(u)


@_extremum.defjvp
def _extremum_jvp(smallest, primals, tangents):
    # Equal values share the gradient, those of x and of u alike.
    (x, u, index), (dx, du, _) = primals, tangents
    out = _extremum(smallest, x, u, index)
    own = (x == out).astype(x.dtype)
    put = (u == out[index]).astype(x.dtype)
    total = own + jnp.zeros_like(x).at[index].add(put)
    return out, (own * dx + jnp.zeros_like(x).at[index].add(put * du)) / total


@jax.custom_jvp
def _scatter_mul(x, u, index):
    return x.at[index].mul(u)


@_scatter_mul.defjvp
def _scatter_mul_jvp(primals, tangents):
    (x, u, index), (dx, du, _) = primals, tangents
    ones = jnp.ones_like(x)
    # The derivative by one factor is the product of the other factors; zeros are counted separately.
    is_zero = u == 0
    safe = jnp.where(is_zero, jnp.ones_like(u), u)
    rest = ones.at[index].mul(safe)
    zeros = jnp.zeros_like(x).at[index].add(is_zero.astype(x.dtype))
    others = jnp.where(zeros[index] - is_zero.astype(x.dtype) > 0, jnp.zeros_like(u), (x * rest)[index] / safe)
    return x.at[index].mul(u), dx * ones.at[index].mul(u) + jnp.zeros_like(x).at[index].add(others * du)


def _div(x, u, index):
    if kind_of(x.dtype) in "biu":
        return jax.lax.div(x, jnp.ones_like(x).at[index].mul(u))
    return x / _scatter_mul(jnp.ones_like(x), u, index)


_COMBINE = {
    "update": lambda x, u, index: x.at[index].set(u),
    "add": lambda x, u, index: added(x, index, u),
    "sub": lambda x, u, index: added(x, index, -u),
    "mul": _scatter_mul,
    "div": _div,
    "max": partial(_extremum, False),
    "min": partial(_extremum, True),
}


def combine(how: str, x: TensorLike, updates: TensorLike, index: tuple[Any, ...]) -> JaxArray:
    """x with updates put in at a jax index, combined as `how` says: update, add, sub, mul, div, max or min."""
    shape = jax.eval_shape(lambda v: v[index], x).shape
    return _COMBINE[how](x, jnp.broadcast_to(updates.astype(x.dtype), shape), index)


# ---- rows of indices, one number for each of the first axes


def _nd_index(x, indices):
    if indices.shape[-1] > x.ndim:
        raise ValueError(
            f"The last axis of 'indices' should have at most {x.ndim} numbers, for a Tensor of shape {x.shape}, but its shape is {indices.shape}."
        )
    return tuple(jnp.moveaxis(indices, -1, 0))


def _checked_updates(x, indices, updates):
    want = indices.shape[:-1] + x.shape[indices.shape[-1] :]
    check_value(updates, updates.shape == want, f"have shape {want}, for indices of shape {indices.shape}", "updates")


@operator(3, name="TensorScatter", int_grad=(0, 2))
def scatter_rows(x: TensorLike, indices: TensorLike, updates: TensorLike, how: str) -> JaxArray:
    """x with updates put in at rows of indices."""
    index = _nd_index(x, indices)
    _checked_updates(x, indices, updates)
    return combine(how, x, updates, index)


class _ScatterMethod(Protocol):
    def __call__(self, indices: Tensor, updates: TensorLike) -> Tensor: ...


class _TensorScatter(Attribute[_ScatterMethod], Protocol):
    def __call__(self, input_x: Tensor, indices: Tensor, updates: TensorLike) -> Tensor: ...


def _tensor_scatter(how: str, doc: str) -> _TensorScatter:
    def function(input_x: Tensor, indices: Tensor, updates: TensorLike) -> Tensor:
        require_integers(name, indices=indices)
        if isinstance(updates, Tensor) and updates.dtype is not input_x.dtype:
            raise TypeError(
                f"For '{name}', 'updates' should be of the type of the Tensor, {input_x.dtype}, but are {updates.dtype}."
            )
        return scatter_rows(input_x, indices, updates, how)

    name = f"tensor_scatter_{how}"
    doc = f"""`input_x` with {doc} at the places that rows of `indices` name.

    Args:
        input_x (Tensor): of any shape.
        indices (Tensor): of integers, of shape (*, n): each row names the first n axes.
        updates (Tensor): of shape ``indices.shape[:-1] + input_x.shape[n:]`` and of the type of `input_x`.

    Raises:
        TypeError: a wrong type.
        ValueError: the shapes don't fit.
    """
    return titled(function, name, doc)


tensor_scatter_update: _TensorScatter = _tensor_scatter("update", "`updates` put in")
tensor_scatter_add: _TensorScatter = _tensor_scatter("add", "`updates` added")
tensor_scatter_sub: _TensorScatter = _tensor_scatter("sub", "`updates` subtracted")
tensor_scatter_mul: _TensorScatter = _tensor_scatter("mul", "its elements multiplied by `updates`")
tensor_scatter_div: _TensorScatter = _tensor_scatter("div", "its elements divided by `updates`")
tensor_scatter_max: _TensorScatter = _tensor_scatter("max", "the larger of its elements and `updates`")
tensor_scatter_min: _TensorScatter = _tensor_scatter("min", "the smaller of its elements and `updates`")


@operator(2, name="ScatterNd", int_grad=(1,))
def scatter_nd(indices: Tensor, updates: Tensor, shape: Sequence[int]) -> JaxArray:
    """Zeros of a shape with `updates` added at the places that rows of `indices` name.

    Args:
        indices (Tensor): of integers, of shape (*, n): each row names the first n axes.
        updates (Tensor): of shape ``indices.shape[:-1] + shape[n:]``.
        shape (tuple[int]): that of the result.

    Example:
        >>> print(ops.scatter_nd(Tensor([[1], [3]]), Tensor([5.0, 6.0]), (4,)))
        [0. 5. 0. 6.]
    """
    x = jnp.zeros(shape, updates.dtype)
    _checked_updates(x, indices, updates)
    return added(x, _nd_index(x, indices), updates)


# ---- an index for each element, along one axis


def _along_axis(index, axis):
    """A jax index: `index` along `axis`, and each element's own place along the others."""
    places = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    places[axis % index.ndim] = index
    return tuple(places)


@operator(3, name="TensorScatterElements", int_grad=(0, 2))
def scatter_along(x: TensorLike, index: TensorLike, src: TensorLike, axis: int, how: str) -> JaxArray:
    """x with src put in along an axis, at an index for each element."""
    if not x.ndim == index.ndim or (src.ndim and src.ndim != index.ndim):
        raise ValueError(
            f"The Tensor, the index and the source should have one number of axes, but have {x.shape}, {index.shape}, {src.shape}."
        )
    if src.ndim:
        if any(m > n for m, n in zip(index.shape, src.shape)):
            raise ValueError(f"The index, of shape {index.shape}, reaches out of the source, of shape {src.shape}.")
        src = jax.lax.slice(src, (0,) * src.ndim, index.shape)
    return combine(how, x, src, _along_axis(index, axis))


def scatter(input: Tensor, axis: int, index: Tensor, src: Tensor | Number) -> Tensor:
    """`input` with `src` put in along an axis, at an index for each element.

    Args:
        input (Tensor): of any shape.
        axis (int): the axis that `index` counts along.
        index (Tensor): of integers, of the shape of `src`.
        src (Tensor or number): what to put in.

    Example:
        >>> x = ops.zeros((2, 2))
        >>> print(ops.scatter(x, 1, Tensor([[1], [0]]), Tensor([[5.0], [6.0]])))
        [[0. 5.]
         [6. 0.]]
    """
    src = src if isinstance(src, Tensor) else Tensor(src)
    return scatter_along(input, index, src, axis, "update")


_REDUCTIONS = {"none": "update"} | {how: how for how in _COMBINE}


def tensor_scatter_elements(input_x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "none") -> Tensor:
    """`input_x` with `updates` put in, or added, along an axis, at an index for each element.

    Args:
        input_x (Tensor): of any shape.
        indices (Tensor): of integers, of the shape of `updates`.
        updates (Tensor): what to put in.
        axis (int): Default: 0.
        reduction (str): "none" to put in, "add" to add. Default: "none".

    Raises:
        ValueError: `reduction` has an unknown value.
    """
    check_value(reduction, reduction in _REDUCTIONS, "be 'none' or 'add'", "reduction", "tensor_scatter_elements")
    return scatter_along(input_x, indices, updates, axis, _REDUCTIONS[reduction])


# ---- whole slices, by a vector of indices


@operator(3, name="IndexAdd", int_grad=(0, 2))
def index_combine(x: TensorLike, indices: TensorLike, updates: TensorLike, axis: int, how: str) -> JaxArray:
    """x with whole slices along an axis combined with updates."""
    return combine(how, x, updates, at_axis(x, axis, indices))


def index_add(
    x: Parameter | Tensor, indices: Tensor, y: Tensor, axis: int, use_lock: bool = True, check_index_bound: bool = True
) -> Tensor:
    """`x`, after slices of `y` were added in place to its slices number `indices` along an axis.

    Args:
        x (Parameter or Tensor): of any shape; it gets the sums.
        indices (Tensor): of Int32, a vector.
        y (Tensor): of the shape of `x` but along the axis, where it has one slice for each index.
        axis (int): the axis.
        use_lock, check_index_bound (bool): accepted for compatibility with MindSpore, without effect.
    """
    check_value(
        y, y.ndim == x.ndim and y.shape[axis] == indices.size, f"have {indices.size} slices along axis {axis}", "y", "index_add"
    )
    return written(x, index_combine(x, indices, y, axis, "add"))


@operator(3, name="IndexFill", int_grad=(0, 2))
def _index_fill(x, index, value, axis):
    return x.at[at_axis(x, axis, index)].set(jnp.asarray(value).astype(x.dtype))


def index_fill(x: TensorLike, axis: int | Tensor, index: TensorLike, value: TensorLike) -> Tensor:
    """`x` with one value in its slices number `index` along an axis.

    Raises:
        TypeError: `index` is not of integers, or `value` no number or 0-d Tensor.
    """
    index = index if isinstance(index, Tensor) else Tensor(index, mstype.int32)
    check_value(value, not isinstance(value, Tensor) or not value.ndim, "be a number or a 0-d Tensor", "value", "index_fill")
    return _index_fill(x, index, value, freeze(axis))


def _rows(indices):
    return Tensor([indices] if isinstance(indices, int) else indices, mstype.int32)


def inplace_update(x: TensorLike, v: TensorLike, indices: int | Sequence[int] | Tensor) -> Tensor:
    """`x` with its rows number `indices` (an int, tuple or Tensor) replaced by those of `v`, as a new Tensor."""
    return index_combine(x, _rows(indices), v, 0, "update")


def inplace_add(x: TensorLike, v: TensorLike, indices: int | Sequence[int] | Tensor) -> Tensor:
    """`x` with the rows of `v` added to its rows number `indices` (an int or tuple), as a new Tensor."""
    return index_combine(x, _rows(indices), v, 0, "add")


def inplace_sub(x: TensorLike, v: TensorLike, indices: int | Sequence[int] | Tensor) -> Tensor:
    """`x` with the rows of `v` subtracted from its rows number `indices` (an int or tuple), as a new Tensor."""
    return index_combine(x, _rows(indices), v, 0, "sub")


def inplace_index_add(var: Parameter | Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """`var`, after `updates` were added in place to its slices number `indices` along an axis; see `index_add`."""
    return index_add(var, indices, updates, axis)


# ---- segments


@operator(2, name="UnsortedSegment", int_grad=(0,))
def segment(x: TensorLike, ids: TensorLike, number: int, how: str) -> JaxArray:
    """The elements of each segment combined as `how` says: add, mul, max or min."""
    # Elements of negative segments are ignored; jax would count the segments from the end.
    ids = jnp.where(ids < 0, number, ids)
    shape = (number, *x.shape[ids.ndim :])
    if how == "add":
        return added(jnp.zeros(shape, x.dtype), ids, x, mode="drop")
    if how == "mul":
        return combine("mul", jnp.ones(shape, x.dtype), x, (ids,))
    info = jnp.finfo(x.dtype) if kind_of(x.dtype) == "f" else jnp.iinfo(x.dtype)
    return combine(how, jnp.full(shape, info.min if how == "max" else info.max, x.dtype), x, (ids,))


class _SegmentMethod(Protocol):
    def __call__(self, segment_ids: Tensor, num_segments: int | Tensor) -> Tensor: ...


class _SegmentOperator(Attribute[_SegmentMethod], Protocol):
    def __call__(self, x: Tensor, segment_ids: Tensor, num_segments: int | Tensor) -> Tensor: ...


def _segments(how: str, doc: str, name: str) -> _SegmentOperator:
    def function(x: Tensor, segment_ids: Tensor, num_segments: int | Tensor) -> Tensor:
        require_integers(name, segment_ids=segment_ids)
        number = freeze(num_segments)
        if x.shape[: segment_ids.ndim] != segment_ids.shape:
            raise ValueError(f"For '{name}', shape {x.shape} should begin with that of 'segment_ids', {segment_ids.shape}.")
        check_in_range(number, "num_segments", name, above=0)
        return segment(x, segment_ids, number, how)

    doc = f"""{doc} over the elements of each segment.

    Args:
        x (Tensor): of shape (*segment_ids.shape, ...).
        segment_ids (Tensor): of integers: which segment each element belongs to; negative ones count nowhere.
        num_segments (int): how many segments there are.

    Returns:
        A Tensor of shape (num_segments, ...).
    """
    return titled(function, name, doc)


unsorted_segment_prod: _SegmentOperator = _segments("mul", "The product (1 for an empty segment)", "unsorted_segment_prod")
unsorted_segment_max: _SegmentOperator = _segments(
    "max", "The largest value (the lowest number for an empty segment)", "unsorted_segment_max"
)
unsorted_segment_min: _SegmentOperator = _segments(
    "min", "The smallest value (the highest number for an empty segment)", "unsorted_segment_min"
)
_segment_sum = _segments("add", "The sum", "unsorted_segment_sum")


def unsorted_segment_sum(input_x: Tensor, segment_ids: Tensor, num_segments: int | Tensor) -> Tensor:
    """The sum over the elements of each segment.

    Args:
        input_x (Tensor): of shape (*segment_ids.shape, ...).
        segment_ids (Tensor): of integers: which segment each element belongs to; negative ones count nowhere.
        num_segments (int): how many segments there are.

    Returns:
        A Tensor of shape (num_segments, ...).

    Example:
        >>> print(ops.unsorted_segment_sum(Tensor([1, 2, 3]), Tensor([0, 1, 0]), 2))
        [4 2]
    """
    return _segment_sum(input_x, segment_ids, num_segments)


# ---- sorted segments, as many as there are


@operator(2, name="Segment", int_grad=(0,))
def _sorted_segment(x, ids, number, how):
    counts = jnp.zeros(number, jnp.int32).at[ids].add(1)
    counts = counts.reshape((number,) + (1,) * (x.ndim - 1))
    if how == "mean":
        out = added(jnp.zeros((number, *x.shape[1:]), x.dtype), ids, x)
        return out / jnp.maximum(counts, 1).astype(x.dtype)
    out = segment.op.fn(x, ids, number, how)
    return jnp.where(counts > 0, out, jnp.zeros((), x.dtype))


def _sorted(how: str, doc: str):
    def function(x: Tensor, segment_ids: Tensor) -> Tensor:
        ids = np.asarray(concrete(segment_ids, "the operator Segment"))
        if ids.ndim != 1 or ids.shape != x.shape[:1] or (np.diff(ids) < 0).any():
            raise ValueError(
                f"The segments should be ascending numbers, one for each of {x.shape[0]} rows, but got {ids.tolist()}."
            )
        return _sorted_segment(x, segment_ids, int(ids[-1]) + 1 if ids.size else 0, how)

    function.__doc__ = f"{doc} over the rows of each segment, 0 for an empty one; segments are ascending numbers, one a row."
    return function


# The operator classes SegmentSum and so on, by the second part of their names.
SEGMENTS = {
    "sum": _sorted("add", "The sum"),
    "mean": _sorted("mean", "The mean"),
    "prod": _sorted("mul", "The product"),
    "max": _sorted("max", "The largest values"),
    "min": _sorted("min", "The smallest values"),
}
