"""Indexing, sorting, sets and conditions under numpy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from msjax import ops
from msjax.common import dtype as mstype
from msjax.common.arrays import as_array, concrete
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import ArrayLike, Shape
from msjax.core.base.checks import check_one_of
from msjax.core.base.typing import JaxArray, Number
from msjax.numpy.dtypes import result_type
from msjax.numpy.lifting import as_type, floating, lifted, promoted, tensor, tensors
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func.casting import ints
from msjax.ops.function.array_func.gathering import take_along_axis as _take_along_axis
from msjax.ops.function.array_func.searching import unravel_index as _unravel

__all__ = [
    "argwhere", "array_equal", "array_equiv", "choose", "digitize", "diag_indices", "in1d", "intersect1d", "isin",
    "piecewise", "ravel_multi_index", "searchsorted", "select", "setdiff1d", "take", "take_along_axis", "unique",
    "unravel_index", "where",
]  # fmt: skip


def _known(value, who):
    return np.asarray(concrete(tensor(value), f"numpy.{who}"))


def _made(array):
    return wrap(as_array(array))


# ---- indexing


def take(a: ArrayLike, indices: ArrayLike, axis: int | None = None, mode: str = "clip") -> Tensor:
    """Elements of the flattened array, or slices along an axis, picked by index.

    Args:
        a (array-like): where to pick from.
        indices (array-like): of integers.
        axis (int, optional): the axis; by default the array is flattened.
        mode (str): what to do with an index out of range: "clip", "wrap" or "raise". Default: "clip".
    """
    a = tensor(a)
    if axis is None:
        a, axis = ops.ravel(a), 0
    return a.take(tensor(indices), axis, mode)


def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None) -> Tensor:
    """Elements picked along an axis, by an index for each place; of the flattened array if the axis is None."""
    arr, indices = tensor(arr), tensor(indices)
    if axis is None:
        return _take_along_axis(ops.ravel(arr), ops.ravel(indices), 0)
    return _take_along_axis(arr, indices, axis)


def choose(a: ArrayLike, choices: ArrayLike, mode: str = "clip") -> Tensor:
    """For each index in `a`, the element of the choice of that number."""
    return tensor(a).choose(choices if isinstance(choices, Tensor) else tensors(choices), mode)


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the main diagonal of an array of `ndim` axes of size `n`, as a tuple."""
    at = wrap(jnp.arange(n, dtype=mstype.to_jax(mstype.int32)))
    return (at,) * ndim


def unravel_index(indices: ArrayLike, shape: Shape, order: str = "C") -> tuple[Tensor, ...]:
    """The positions in an array of shape `shape` of indices into the flattened array, a tuple of one array for each axis."""
    check_one_of(order, ("C", "F"), "order", "unravel_index")
    indices, shape = promoted(indices, 0)[0], ints(shape)
    rows = _unravel(indices, shape[::-1] if order == "F" else shape)
    columns = [ops.reshape(c, indices.shape) for c in ops.unstack(rows, 1)]
    return tuple(columns[::-1] if order == "F" else columns)


def ravel_multi_index(multi_index: tuple[ArrayLike, ...], dims: Shape, mode: str = "clip", order: str = "C") -> Tensor:
    """The index into the flattened array of positions, one array for each axis.

    Args:
        multi_index (tuple of array-like): of integers.
        dims (tuple of int): the array's shape.
        mode (str): what to do with a position out of range: "clip" or "wrap". Default: "clip".
        order (str): "C", rows first, or "F". Default: "C".
    """
    check_one_of(mode, ("clip", "wrap"), "mode", "ravel_multi_index")
    dims = ints(dims)
    strides = np.cumprod((1, *(dims[::-1] if order == "C" else dims)[:-1]))
    strides = strides[::-1] if order == "C" else strides
    total = None
    for position, n, stride in zip(tensors(multi_index), dims, strides.tolist()):
        position = position % n if mode == "wrap" else position.clip(0, n - 1)
        total = position * stride if total is None else total + position * stride
    return total


# ---- conditions


def where(condition: ArrayLike, x: ArrayLike | None = None, y: ArrayLike | None = None) -> Tensor:
    """`x` where the condition holds, `y` elsewhere; without them, the positions where it holds.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.where(Tensor([True, False]), 1.0, 0.0))
        [1. 0.]
    """
    condition = tensor(condition)
    if x is None and y is None:
        return ops.nonzero(condition, as_tuple=True)
    x, y = tensor(x) if not isinstance(y, Tensor) else x, y if isinstance(y, (Tensor, bool, int, float)) else tensor(y)
    return ops.where(condition, x, y)


def select(condlist: Sequence[ArrayLike], choicelist: Sequence[ArrayLike], default: ArrayLike = 0) -> Tensor:
    """For each place the element of the first choice whose condition holds, `default` where none does."""
    conditions, choices = tensors(condlist), tensors(choicelist)
    if len(conditions) != len(choices):
        raise ValueError(f"For 'select', there are {len(conditions)} conditions, but {len(choices)} choices.")
    out = as_type(tensor(default), result_type(*choices))
    for condition, choice in zip(reversed(conditions), reversed(choices)):
        out = ops.where(condition, choice, out)
    return out


def piecewise(x: ArrayLike, condlist: list[Tensor], funclist: list[Callable[..., Any]] | Number, *args: Any, **kw: Any) -> Tensor:
    """Where a condition holds, the value of its function (or its number); one more at the end is for all other elements.

    Args:
        x (array-like): of any shape.
        condlist (list of Tensor): of Bools.
        funclist (list of callable or number): one for each condition, and perhaps one more.
    """
    x = tensor(x)
    conditions = tensors(condlist) if isinstance(condlist, (list, tuple)) else [tensor(condlist)]
    functions = list(funclist)
    if len(functions) not in (len(conditions), len(conditions) + 1):
        raise ValueError(f"For 'piecewise', there are {len(conditions)} conditions, but {len(functions)} functions.")

    def value(f):
        return f(x, *args, **kw) if callable(f) else f

    out = ops.full_like(x, 0)
    if len(functions) > len(conditions):
        out = ops.broadcast_to(tensor(value(functions.pop())), x.shape).astype(x.dtype)
    for condition, function in zip(conditions, functions):
        out = ops.where(condition, value(function), out)
    return out.astype(x.dtype)


def argwhere(a: ArrayLike) -> Tensor:
    """The positions of elements other than zero, a row for each."""
    return ops.nonzero(tensor(a))


def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> bool:
    """True if two arrays have one shape and equal elements."""
    a1, a2 = tensor(a1), tensor(a2)
    if a1.shape != a2.shape:
        return Tensor(False)
    same = a1 == a2
    if equal_nan and a1.is_floating_point() and a2.is_floating_point():
        same = ops.logical_or(same, ops.logical_and(ops.isnan(a1), ops.isnan(a2)))
    return same.all()


def array_equiv(a1: ArrayLike, a2: ArrayLike) -> bool:
    """True if two arrays, broadcast to each other, have equal elements."""
    a1, a2 = tensor(a1), tensor(a2)
    try:
        np.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return Tensor(False)
    return (a1 == a2).all()


# ---- sets


def unique(x: ArrayLike, return_inverse: bool = False) -> Any:
    """The distinct elements, in the order in which they come first; with `return_inverse`, also the place of each element among them.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.unique(Tensor([2, 1, 2])))
        [2 1]
    """
    found = ops.unique(ops.ravel(tensor(x)))
    return found if return_inverse else found[0]


@lifted(2, differentiable=False)
def isin(element: ArrayLike, test_elements: ArrayLike, invert: bool = False) -> JaxArray:
    """True for each element that is among others; with `invert`, for each that isn't."""
    return jnp.isin(element, test_elements, invert=invert)


def in1d(ar1: ArrayLike, ar2: ArrayLike, invert: bool = False) -> Tensor:
    """As `isin`, of the flattened array."""
    return isin(ops.ravel(tensor(ar1)), ar2, invert)


def intersect1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The elements that two arrays have in common, ascending; with `return_indices`, also where they come first."""
    first, second = (_known(a, "intersect1d") for a in promoted(ar1, ar2))
    out = np.intersect1d(first, second, assume_unique, return_indices)
    if not return_indices:
        return _made(out)
    return _made(out[0]), *(wrap(as_array(o, mstype.int32)) for o in out[1:])


def setdiff1d(ar1: ArrayLike, ar2: ArrayLike, assume_unique: bool = False) -> Tensor:
    """The elements of the first array that are not in the second, ascending."""
    return _made(np.setdiff1d(_known(ar1, "setdiff1d"), _known(ar2, "setdiff1d"), assume_unique))


# ---- searching


@operator(3, differentiable=False)
def _searchsorted(a, v, sorter, side, dtype):
    return jnp.searchsorted(a, v, side, sorter=sorter).astype(mstype.to_jax(dtype))


def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike | None = None) -> Tensor:
    """Where values would go in a sorted vector, before equal elements, or after them (side="right")."""
    check_one_of(side, ("left", "right"), "side", "searchsorted")
    a, v = floating(a), floating(v)
    return _searchsorted(a, v, None if sorter is None else tensor(sorter), side, mstype.int32)


@lifted(2, differentiable=False)
def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> JaxArray:
    """The number of the interval between monotonic `bins` that each element falls into."""
    return jnp.digitize(x, bins, right).astype(mstype.to_jax(mstype.int32))
