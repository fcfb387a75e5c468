"""Operators that join Tensors: concat, stack, grids and the like."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_kind, check_one_of, check_value
from msjax.core.base.errors import describe
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import freeze

__all__ = [
    "block_diag", "cartesian_prod", "cat", "column_stack", "combinations", "concat", "dstack", "hstack", "meshgrid", "row_stack",
    "stack", "vstack",
]  # fmt: skip


def tensors_of(values: Any, who: str) -> Sequence[Tensor]:
    """The values, if they are a tuple or list of Tensors; TypeError otherwise, ValueError if it is empty."""
    if isinstance(values, Tensor) or not isinstance(values, (tuple, list)) or not values:
        kind = ValueError if isinstance(values, (tuple, list)) else TypeError
        raise kind(f"For '{who}', the first argument should be a non-empty tuple or list of Tensors, but got {describe(values)}.")
    for value in values:
        if not hasattr(value, "dtype"):
            raise TypeError(f"For '{who}', the first argument should be of Tensors, but one is {describe(value)}.")
    return values


def _common(arrays):
    dtype = jnp.result_type(*[a.dtype for a in arrays])
    return [a.astype(dtype) for a in arrays]


def _joiner(name, join):
    """An operator of any number of Tensors; the last argument of its kernel is the axis."""
    return Op(name, lambda *args: join(_common(args[:-1]), args[-1]), int_grad=True)


_CONCAT = _joiner("Concat", jnp.concatenate)
_STACK = _joiner("Stack", jnp.stack)
_HSTACK = _joiner("hstack", lambda arrays, _: jnp.hstack(arrays))
_VSTACK = _joiner("vstack", lambda arrays, _: jnp.vstack(arrays))
_DSTACK = _joiner("dstack", lambda arrays, _: jnp.dstack(arrays))
_COLUMN_STACK = _joiner("column_stack", lambda arrays, _: jnp.column_stack(arrays))
_BLOCK_DIAG = _joiner("block_diag", lambda arrays, _: jax.scipy.linalg.block_diag(*arrays))
_MESHGRID = Op("Meshgrid", lambda *args: tuple(jnp.meshgrid(*args[:-1], indexing=args[-1])), int_grad=True)


def concat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors joined along an axis that they have.

    Args:
        tensors (tuple or list of Tensor): of equal shapes but for that axis.
        axis (int): Default: 0.

    Raises:
        TypeError: `tensors` is not a tuple or list.
        ValueError: shapes don't fit, or there is no such axis.

    Example:
        >>> x = Tensor([[1.0, 2.0]])
        >>> print(ops.concat((x, x), axis=1))
        [[1. 2. 1. 2.]]
    """
    return apply(_CONCAT, tensors_of(tensors, "concat"), (freeze(axis),))


def cat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors joined along an axis that they have; the same as `concat`."""
    return apply(_CONCAT, tensors_of(tensors, "cat"), (freeze(axis),))


def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis.

    Args:
        tensors (tuple or list of Tensor): of one shape.
        axis (int): the position of the new axis. Default: 0.

    Raises:
        TypeError: `tensors` is not a tuple or list.
        ValueError: shapes differ.

    Example:
        >>> x = Tensor([1.0, 2.0])
        >>> ops.stack((x, x, x), axis=1).shape
        (2, 3)
    """
    return apply(_STACK, tensors_of(tensors, "stack"), (freeze(axis),))


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the second axis; 1-d ones along their only axis."""
    return apply(_HSTACK, tensors_of(tensors, "hstack"), (None,))


def vstack(inputs: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the first axis; 1-d ones as rows."""
    return apply(_VSTACK, tensors_of(inputs, "vstack"), (None,))


def row_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the first axis; 1-d ones as rows."""
    return apply(_VSTACK, tensors_of(tensors, "row_stack"), (None,))


def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the third axis, which is added where it is missing."""
    return apply(_DSTACK, tensors_of(tensors, "dstack"), (None,))


def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the second axis; 1-d ones as columns."""
    return apply(_COLUMN_STACK, tensors_of(tensors, "column_stack"), (None,))


def block_diag(*inputs: Any) -> Tensor:
    """Matrices (or vectors, as rows) along the diagonal of a larger matrix of zeros.

    Example:
        >>> print(ops.block_diag(Tensor([[1, 2]]), Tensor([[3]])))
        [[1 2 0]
         [0 0 3]]
    """
    return apply(_BLOCK_DIAG, inputs, (None,))


def meshgrid(*inputs: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Grids of coordinates from vectors.

    Args:
        inputs (Tensor): 1-d, at least two of them.
        indexing (str): "xy", where the first vector runs along the second axis, or "ij". Default: "xy".

    Returns:
        A tuple of as many Tensors, each with an axis for every vector.

    Raises:
        TypeError: an input is not a Tensor.
        ValueError: `indexing` has an unknown value, or an input is not 1-d.

    Example:
        >>> x, y = ops.meshgrid(Tensor([1, 2]), Tensor([5, 6, 7]))
        >>> x.shape
        (3, 2)
    """
    check_one_of(indexing, ("xy", "ij"), "indexing", "meshgrid")
    if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
        inputs = inputs[0]  # pyright: ignore[reportAssignmentType]
    for x in inputs:
        check_kind(x, isinstance(x, Tensor), "be Tensors", "the inputs", "meshgrid")
        if x.ndim > 1:
            raise ValueError(f"For 'meshgrid', the inputs should be 1-d, but got shape {x.shape}.")
    return apply(_MESHGRID, inputs, (indexing,))


@partial(Op, "cartesian_prod", int_grad=True)
def _CARTESIAN(*arrays):
    if len(arrays) == 1:
        return arrays[0]
    return jnp.stack([g.ravel() for g in jnp.meshgrid(*_common(arrays), indexing="ij")], -1)


def cartesian_prod(*inputs: Any) -> Tensor:
    """All combinations of one element of each vector, a row for each."""
    out = apply(_CARTESIAN, inputs)
    return out if len(inputs) > 1 else out.reshape(-1, 1)


_TAKE_ROWS = Op(
    "combinations", lambda x, rows: x[np.array(rows, np.int32).reshape(-1, len(rows[0]) if rows else 1)], int_grad=True
)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` elements of a vector, in its order, a row for each.

    Args:
        input (Tensor): 1-d.
        r (int): how many. Default: 2.
        with_replacement (bool): whether an element may be chosen again. Default: False.
    """
    check_value(input, input.ndim == 1, "be a vector", "input", "combinations")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = tuple(choose(range(input.shape[0]), r))
    if not rows:
        return Tensor(np.zeros((0, r)), input.dtype)
    return apply(_TAKE_ROWS, (input,), (rows,))
