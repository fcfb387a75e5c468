"""Operators that search and count."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.arrays import as_array
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_int, check_kind, check_positive_int, check_type, check_value
from msjax.core.base.typing import JaxArray, Number
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import kind_of
from msjax.ops.function.array_func.casting import ints
from msjax.ops.function.array_func.scattering import segment
from msjax.ops.function.array_func.sorting import known_array

__all__ = ["bincount", "bucketize", "coalesce", "histc", "searchsorted"]


@operator(3, name="searchsorted", differentiable=False)
def found_places(sequence: TensorLike, values: TensorLike, sorter: TensorLike, right: bool, index_dtype: DTypeLike) -> JaxArray:
    """Where values would go in sorted rows, each sorted first by its row of `sorter` unless that is None."""
    side = "right" if right else "left"
    values = jnp.asarray(values)
    if sorter is not None:
        sequence = jnp.take_along_axis(sequence, sorter, -1)
    if sequence.ndim == 1:
        found = jnp.searchsorted(sequence, values, side)
    else:
        rows = jax.vmap(lambda s, v: jnp.searchsorted(s, v, side))
        found = rows(sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1])).reshape(values.shape)
    return found.astype(mstype.to_jax(index_dtype))


def searchsorted(
    sorted_sequence: Tensor,
    values: Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where values would go in a sorted sequence.

    Args:
        sorted_sequence (Tensor): ascending along its last axis; a vector, or one row for each row of `values`.
        values (Tensor): what to look for.
        out_int32 (bool): whether the result is Int32 instead of Int64. Default: False.
        right (bool): whether values go after equal elements instead of before them. Default: False.
        side (str, optional): "left" or "right", another form of `right`.
        sorter (Tensor, optional): indices that sort the sequence, if it isn't sorted.

    Raises:
        ValueError: `side` has an unknown value or contradicts `right`, or shapes don't fit.

    Example:
        >>> print(ops.searchsorted(Tensor([1.0, 3.0, 5.0]), Tensor([3.0, 4.0])))
        [1 2]
    """
    check_value(side, side in (None, "left", "right"), "be 'left' or 'right'", "side", "searchsorted")
    if side == "left" and right:
        raise ValueError("For 'searchsorted', 'side' is 'left', but 'right' is True.")
    shape = getattr(values, "shape", ())
    check_type(sorted_sequence, Tensor, "sorted_sequence", "searchsorted")
    if sorted_sequence.ndim != 1 and sorted_sequence.shape[:-1] != shape[:-1]:
        raise ValueError(
            f"For 'searchsorted', the sequence should be a vector or fit 'values' but for the last axis; shapes: {sorted_sequence.shape}, {shape}."
        )
    dtype = mstype.int32 if out_int32 else mstype.int64
    return found_places(sorted_sequence, values, sorter, right or side == "right", dtype)


def bucketize(input: Tensor, boundaries: tuple[Number, ...] | list[Number], *, right: bool = False) -> Tensor:
    """For each element, the number of the bucket between ascending boundaries that it falls into, as Int32.

    Args:
        input (Tensor): of any shape.
        boundaries (list or tuple of number): ascending.
        right (bool): an element equal to a boundary belongs to the bucket after it. Default: False.

    Example:
        >>> print(ops.bucketize(Tensor([0.5, 1.0, 3.0]), [1.0, 2.0]))
        [0 0 2]
    """
    check_kind(boundaries, isinstance(boundaries, (list, tuple, Tensor)), "be a list or tuple", "boundaries", "bucketize")
    bounds = boundaries if isinstance(boundaries, Tensor) else Tensor([float(b) for b in boundaries], mstype.float32)
    return found_places(bounds, check_type(input, Tensor, "input", "bucketize"), None, right, mstype.int32)


@operator(2, name="Bincount", int_grad=(1,))
def _COUNT(input, weights, length):
    if weights is not None and weights.dtype != jnp.float64:
        weights = weights.astype(jnp.float32)
    return jnp.bincount(input, weights, length=length)


def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on occurs, or the sum of the weights of its occurrences, as Float32.

    Args:
        input (Tensor): a vector of integers of 0 or more.
        weights (Tensor, optional): of the shape of `input`.
        minlength (int): the least size of the result. Default: 0.

    Raises:
        TypeError: `input` is not of integers, or its value is not known, since the program is being compiled.
        ValueError: `input` is not a vector or has negative elements.

    Example:
        >>> print(ops.bincount(Tensor([1, 2, 2])))
        [0. 1. 2.]
    """
    if check_type(input, Tensor, "input", "bincount").dtype.kind not in "biu":
        raise TypeError(f"For 'bincount', 'input' should be of integers, but is {input.dtype}.")
    check_value(input, input.ndim == 1, "be a vector", "input", "bincount")
    check_int(minlength, "minlength", "bincount")
    check_value(weights, weights is None or weights.shape == input.shape, f"have shape {input.shape}", "weights", "bincount")
    input = input.astype(mstype.int32) if input.dtype is mstype.bool_ else input
    known = known_array(input, "bincount")
    if known.min(initial=0) < 0:
        raise ValueError("For 'bincount', the elements should not be negative.")
    length = max(int(known.max()) + 1 if known.size else 0, minlength)
    out = _COUNT(input, weights, length)
    return out if out.dtype is mstype.float64 else out.astype(mstype.float32)


@operator(name="Histogram", numbers=("min", "max"), differentiable=False)
def _histc(input, bins, min, max):
    """`min` and `max` are None for those of the input."""
    x = input.ravel()
    values = x.astype(jnp.promote_types(x.dtype, jnp.float32))
    if min is None:
        low, high = jnp.min(values), jnp.max(values)
        low, high = jnp.where(low == high, low - 1, low), jnp.where(low == high, high + 1, high)
    else:
        low, high = jnp.asarray(min, values.dtype), jnp.asarray(max, values.dtype)
    inside = (values >= low) & (values <= high)
    at = jnp.floor((values - low) / (high - low) * bins)
    at = jnp.where(inside, jnp.clip(at, 0, bins - 1), bins).astype(jnp.int32)
    return jnp.zeros(bins, jnp.int32).at[at].add(1, mode="drop").astype(jnp.int32 if kind_of(x.dtype) in "biu" else values.dtype)


def histc(input: Tensor, bins: int = 100, min: Number = 0.0, max: Number = 0.0) -> Tensor:
    """How many elements fall into each of `bins` equal intervals from `min` to `max`.

    Args:
        input (Tensor): of any shape.
        bins (int): Default: 100.
        min, max (number): the limits; those of the elements if the two are equal. Default: 0.0.

    Returns:
        A vector of the type of `input`; Int32 for integers, Float32 for half precision.

    Raises:
        ValueError: `bins` is not positive, or `min` is larger than `max`.

    Example:
        >>> print(ops.histc(Tensor([1.0, 2.0, 1.0]), bins=4, min=0.0, max=3.0))
        [0. 2. 1. 0.]
    """
    check_positive_int(bins, "bins", "histc")
    if min > max:
        raise ValueError(f"For 'histc', 'min' ({min}) should not be larger than 'max' ({max}).")
    ends = (None, None) if min == max else (float(min), float(max))
    return _histc(check_type(input, Tensor, "input", "histc"), bins, *ends)


def histogram_fixed_width(x: TensorLike, range_: Tensor | Sequence[float], nbins: int, dtype: DTypeLike = mstype.int32) -> Tensor:
    """How many elements fall into each of `nbins` equal intervals of a range; those outside count in the first or last.

    Args:
        x (Tensor): of numbers.
        range_ (Tensor, tuple or list): the lower and the upper end.
        nbins (int): how many intervals.
        dtype (ms.dtype or str): of the result. Default: ms.int32.
    """
    low, high = range_.tolist() if isinstance(range_, Tensor) else range_
    if nbins <= 0 or low >= high:
        raise ValueError(f"A histogram needs a positive number of bins and an ascending range, but got {nbins}, ({low}, {high}).")
    return _fixed_width(x, nbins, float(low), float(high) - float(low), dtype)


@operator(name="HistogramFixedWidth", numbers=("low", "width"), differentiable=False)
def _fixed_width(x, nbins, low, width, dtype):
    # As XLA divides by a constant: by multiplication.
    at = jnp.floor((x.ravel().astype(jnp.float32) - low) * (1 / jnp.asarray(width, jnp.float32)) * nbins)
    at = jnp.clip(at, 0, nbins - 1).astype(jnp.int32)
    return jnp.zeros(nbins, mstype.to_jax(dtype)).at[at].add(1)


# ---- positions


@operator(differentiable=False)
def nth_element(x: TensorLike, n: int, largest: bool) -> JaxArray:
    """The n-th smallest element of each row.

    Args:
        x (Tensor): of one or more axes; rows lie along the last one.
        n (int): counted from 0.
        largest (bool): the n-th largest instead.
    """
    ordered = jnp.sort(x, -1)
    return ordered[..., ordered.shape[-1] - 1 - n if largest else n]


@operator(name="unravel", differentiable=False)
def unravel_index(indices: TensorLike, dims: int | Sequence[int]) -> JaxArray:
    """One row of positions for each index into a flattened Tensor of shape `dims`."""
    return jnp.stack(jnp.unravel_index(indices.ravel(), ints(dims)), -1).astype(indices.dtype)


def invert_permutation(input_x: TensorLike) -> tuple[int, ...]:
    """The permutation that undoes one, both as tuples of ints.

    Raises:
        ValueError: a number is missing or comes twice.
    """
    numbers = ints(input_x)
    if sorted(numbers) != list(range(len(numbers))):
        raise ValueError(
            f"For 'InvertPermutation', every number from 0 to {len(numbers) - 1} should come once, but got {numbers}."
        )
    inverse = [0] * len(numbers)
    for i, n in enumerate(numbers):
        inverse[n] = i
    return tuple(inverse)


def list_difference(x: TensorLike, y: TensorLike, out_idx: Type = mstype.int32) -> tuple[Tensor, Tensor]:
    """The elements of `x` that are not in `y`, and their positions.

    Args:
        x, y (Tensor): vectors.
        out_idx (ms.dtype): of the positions. Default: ms.int32.
    """
    array = known_array(x, "ListDiff")
    at = np.flatnonzero(~np.isin(array, known_array(y, "ListDiff")))
    return wrap(as_array(array[at])), wrap(as_array(at, out_idx))


def coalesce(x_indices: Tensor, x_values: Tensor, x_shape: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A sparse Tensor with the values of equal indices added up.

    Args:
        x_indices (Tensor): of shape (axes, n): a column of positions for each value.
        x_values (Tensor): of shape (n,).
        x_shape (Tensor): of shape (axes,).

    Returns:
        (indices in ascending order, values, shape).
    """
    indices = known_array(x_indices, "coalesce")
    distinct, inverse = np.unique(indices, axis=1, return_inverse=True)
    values = segment(x_values, wrap(as_array(inverse.reshape(-1))), distinct.shape[1], "add")
    return wrap(as_array(distinct)), values, x_shape
