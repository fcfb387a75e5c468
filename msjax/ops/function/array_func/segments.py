"""Operators on segments: groups of elements."""

from __future__ import annotations

from typing import Protocol

import jax.numpy as jnp
import numpy as np

from msjax.common.arrays import concrete
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_in_range
from msjax.core.base.typing import Attribute, JaxArray
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.dispatch.promotion import kind_of
from msjax.ops.dispatch.tensors import require_integers
from msjax.ops.function.array_func.scattering import combine

__all__ = ["unsorted_segment_max", "unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sum"]


@operator(2, name="UnsortedSegment", int_grad=(0,))
def segment(x: TensorLike, ids: TensorLike, number: int, how: str) -> JaxArray:
    """The elements of each segment combined as `how` says: add, mul, max or min."""
    # Elements of negative segments are ignored; jax would count the segments from the end.
    ids = jnp.where(ids < 0, number, ids)
    shape = (number, *x.shape[ids.ndim :])
    if how == "add":
        return jnp.zeros(shape, x.dtype).at[ids].add(x, mode="drop")
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
        out = jnp.zeros((number, *x.shape[1:]), x.dtype).at[ids].add(x)
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
