"""Operators that sort, search and count."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.arrays import as_array, concrete
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_bool, check_in_range, check_index_fits, check_int, check_kind, check_type
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator

__all__ = ["argsort", "intopk", "msort", "sort", "top_k", "topk", "unique", "unique_consecutive", "unique_with_pad"]


def _order(x, axis, descending):
    check_index_fits(x, axis, mstype.to_jax(mstype.int64), "argsort")
    return jnp.argsort(x, axis=axis, stable=True, descending=descending)


@operator(name="Sort", int_grad=(0,))
def sort_with_indices(input_x: TensorLike, axis: int, descending: bool, index_dtype: Type) -> tuple[JaxArray, JaxArray]:
    """(the elements sorted along an axis, where each came from)."""
    if input_x.ndim == 0:
        return input_x, jnp.zeros((), mstype.to_jax(index_dtype))
    order = _order(input_x, axis, descending)
    return jnp.take_along_axis(input_x, order, axis), order.astype(mstype.to_jax(index_dtype))


def sort(input_x: Tensor, axis: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """The elements sorted along an axis.

    Args:
        input_x (Tensor): of any shape.
        axis (int): Default: -1.
        descending (bool): the largest first. Default: False.

    Returns:
        The sorted Tensor and an Int32 Tensor that says where each element came from.

    Raises:
        TypeError: `axis` is not an int or `descending` no bool.

    Example:
        >>> values, indices = ops.sort(Tensor([3.0, 1.0, 2.0]))
        >>> print(values, indices)
        [1. 2. 3.] [1 2 0]
    """
    check_type(input_x, Tensor, "input_x", "sort")
    return sort_with_indices(input_x, check_int(axis, "axis", "sort"), check_bool(descending, "descending", "sort"), mstype.int32)


@operator(differentiable=False)
def argsort_as(input: TensorLike, axis: int, descending: bool, index_dtype: Type) -> JaxArray:
    """Where each element of the sorted Tensor comes from."""
    return _order(input, axis, descending).astype(mstype.to_jax(index_dtype))


def argsort(input: TensorLike, axis: int = -1, descending: bool = False) -> Tensor:
    """Where each element of the Tensor sorted along `axis` comes from, as Int32.

    Example:
        >>> print(ops.argsort(Tensor([3.0, 1.0, 2.0])))
        [1 2 0]
    """
    check_type(input, Tensor, "input", "argsort")
    return argsort_as(input, check_int(axis, "axis", "argsort"), check_bool(descending, "descending", "argsort"), mstype.int32)


def msort(input: TensorLike) -> Tensor:
    """The elements sorted along the first axis."""
    return sort(input, 0)[0]


@operator(name="TopK", int_grad=(0,))
def top_along(input: TensorLike, k: int, dim: int, largest: bool, index_dtype: Type) -> tuple[JaxArray, JaxArray]:
    """(the k largest or smallest elements along an axis in order, where each came from)."""
    if input.ndim == 0:
        return input, jnp.zeros((), mstype.to_jax(index_dtype))
    dim = dim % input.ndim
    if largest:
        _, at = jax.lax.top_k(jax.lax.stop_gradient(jnp.moveaxis(input, dim, -1)), k)
    else:
        at = jnp.moveaxis(_order(jax.lax.stop_gradient(input), dim, False), dim, -1)[..., :k]
    at = jnp.moveaxis(at, -1, dim)
    return jnp.take_along_axis(input, at, dim), at.astype(mstype.to_jax(index_dtype))


def topk(input: Tensor, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The largest elements along an axis.

    Args:
        input (Tensor): of any shape.
        k (int): how many.
        dim (int, optional): the axis; the last by default.
        largest (bool): the smallest ones, if False. Default: True.
        sorted (bool): accepted for compatibility with MindSpore: the result is always in order.

    Returns:
        The elements, the greatest first, and an Int32 Tensor that says where each came from.

    Raises:
        TypeError: `k` is not an int.
        ValueError: the axis has fewer than k elements.

    Example:
        >>> values, indices = ops.topk(Tensor([3.0, 1.0, 2.0]), 2)
        >>> print(values, indices)
        [3. 2.] [0 2]
    """
    dim = -1 if dim is None else dim
    k = check_int(k.item() if isinstance(k, Tensor) else k, "k", "topk")
    check_bool(sorted, "sorted", "topk")
    size = check_type(input, Tensor, "input", "topk").shape[dim] if input.ndim else 1
    check_in_range(k, "k", "topk", low=0, high=size)
    return top_along(input, k, dim, largest, mstype.int32)


def top_k(input_x: TensorLike, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """The k largest elements along the last axis, in order, and Int32 indices; see `topk`."""
    return topk(input_x, k, -1, True, sorted)


@operator(2, differentiable=False, name="InTopK")
def _in_top_k(x1, x2, k):
    classes = x1.shape[1]
    at_target = jnp.take_along_axis(x1, jnp.clip(x2, 0, classes - 1)[:, None], 1)
    greater = jnp.sum(x1 > at_target, axis=1)
    known = (x2 >= 0) & (x2 < classes) & jnp.all(jnp.isfinite(x1), axis=1)
    return known & (greater < k)


def intopk(x1: Tensor, x2: Tensor, k: int) -> Tensor:
    """Whether each row's target is among its k best classes; classes that are equal to the k-th best one count, too.

    Args:
        x1 (Tensor): what is predicted for each class, of shape (N, C), Float16 or Float32.
        x2 (Tensor): the targets, class numbers of shape (N,), Int32 or Int64.
        k (int): how many classes.

    Returns:
        A Bool Tensor of shape (N,); False where the target is no class, and in rows with inf or nan.

    Raises:
        TypeError: `x1`, `x2` or `k` is of another type.
        ValueError: the shapes don't fit.

    Example:
        >>> scores = Tensor([[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]])
        >>> print(ops.intopk(scores, Tensor([2, 0]), 1))
        [False  True]
    """
    check_type(x1, Tensor, "x1", "intopk")
    check_type(x2, Tensor, "x2", "intopk")
    check_int(k, "k", "intopk")
    check_kind(x1, x1.dtype in (mstype.float16, mstype.float32), "be of Float16 or Float32", "x1", "intopk")
    check_kind(x2, x2.dtype in (mstype.int32, mstype.int64), "be of Int32 or Int64", "x2", "intopk")
    if x1.ndim != 2 or x2.shape != x1.shape[:1]:
        raise ValueError(f"For 'intopk', the shapes should be (N, C) and (N,), but got {x1.shape} and {x2.shape}.")
    return _in_top_k(x1, x2, k)


# ---- distinct elements


def known_array(tensor: TensorLike, who: str) -> np.ndarray:
    return np.asarray(concrete(check_type(tensor, Tensor, "input", who), f"ops.{who}"))


def _index_array(array, like):
    return wrap(as_array(array, mstype.int64 if like.dtype is mstype.int64 else mstype.int32))


def unique_parts(array: TensorLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct elements of a numpy array in the order in which they first come; their places; their counts."""
    values, first, inverse, counts = np.unique(array, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return values[order], place[inverse.reshape(array.shape)], counts[order]


def unique(input: Tensor) -> tuple[Tensor, Tensor]:
    """The distinct elements, in the order in which they first come.

    Args:
        input (Tensor): of any shape.

    Returns:
        A vector of distinct elements, and the place there of each element of `input`.

    Raises:
        TypeError: the value is not known, since the program is being compiled.

    Example:
        >>> values, places = ops.unique(Tensor([3, 1, 3]))
        >>> print(values, places)
        [3 1] [0 1 0]
    """
    values, inverse, _ = unique_parts(known_array(input, "unique"))
    return wrap(as_array(values)), _index_array(inverse, input)


def distinct(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The distinct elements.

    Args:
        input (Tensor): of any shape.
        sorted (bool): whether they are ascending, instead of in the order in which they first occur. Default: True.
        return_inverse (bool): also the place of each element in the result. Default: False.
        return_counts (bool): also how often each occurs. Default: False.
        dim (int, optional): the axis whose slices are compared; by default the Tensor is flattened.

    Returns:
        A Tensor, or a tuple of it and what was asked for.
    """
    array = known_array(input, "unique")
    if dim is None and not sorted:
        values, inverse, counts = unique_parts(array)
    else:
        values, inverse, counts = np.unique(array, return_inverse=True, return_counts=True, axis=dim)
        inverse = inverse.reshape(array.shape if dim is None else array.shape[dim])
    return _asked_for(values, inverse if return_inverse else None, counts if return_counts else None)


def _asked_for(values, *numbers):
    """The values as a Tensor; with what else is not None, as a tuple."""
    out = [wrap(as_array(values)), *(wrap(as_array(each, mstype.int64)) for each in numbers if each is not None)]
    return out[0] if len(out) == 1 else tuple(out)


def unique_with_pad(x: TensorLike, pad_num: float | Tensor) -> tuple[Tensor, Tensor]:
    """As `unique`, with the distinct elements filled up with `pad_num` to the size of `x`."""
    values, inverse, _ = unique_parts(known_array(x, "unique_with_pad"))
    pad_num = pad_num.item() if isinstance(pad_num, Tensor) else pad_num
    padded = np.full(x.size, pad_num, values.dtype)
    padded[: values.size] = values
    return wrap(as_array(padded)), _index_array(inverse, x)


def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """The elements, with each run of equal ones reduced to its first.

    Args:
        input (Tensor): of any shape; flattened unless `dim` is given.
        return_inverse (bool): also the place of each element in the result. Default: False.
        return_counts (bool): also return how many equal elements each replaces. Default: False.
        dim (int, optional): the axis whose slices are compared.

    Returns:
        A Tensor, or a tuple of it and what was asked for.
    """
    for name, flag in (("return_inverse", return_inverse), ("return_counts", return_counts)):
        check_bool(flag, name, "unique_consecutive")
    array = known_array(input, "unique_consecutive")
    slices = array.ravel() if dim is None else np.moveaxis(array, dim, 0)
    rows = slices.reshape(slices.shape[0], math.prod(slices.shape[1:]))
    new = np.ones(rows.shape[0], bool)
    new[1:] = (rows[1:] != rows[:-1]).any(1)
    values = slices[new] if dim is None else np.moveaxis(slices[new], 0, dim)
    inverse = np.cumsum(new) - 1
    inverse = inverse.reshape(array.shape) if dim is None else inverse
    counts = np.diff(np.append(np.flatnonzero(new), new.size))
    return _asked_for(values, inverse if return_inverse else None, counts if return_counts else None)
