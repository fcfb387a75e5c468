"""Joining and splitting under numpy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike
from msjax.numpy.lifting import tensor, tensors
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import freeze

__all__ = [
    "append", "array_split", "column_stack", "concatenate", "dsplit", "dstack", "hsplit", "hstack", "split", "stack",
    "vsplit", "vstack",
]  # fmt: skip


def concatenate(arrays: ArrayLike, axis: int = 0) -> Tensor:
    """Arrays joined along an axis; flattened first if that is None.

    Example:
        >>> from msjax import Tensor, numpy as mnp
        >>> print(mnp.concatenate((Tensor([1, 2]), Tensor([3]))))
        [1 2 3]
    """
    arrays = tensors(arrays)
    return ops.concat([ops.ravel(a) for a in arrays] if axis is None else arrays, 0 if axis is None else axis)


def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Tensor:
    """`values` joined to the end of an array along an axis; flattened first if that is None."""
    return concatenate((arr, values), axis)


def stack(arrays: ArrayLike, axis: int = 0) -> Tensor:
    """Arrays of one shape joined along a new axis."""
    return ops.stack(tensors(arrays), axis)


class _Stack(Protocol):
    def __call__(self, tup: ArrayLike) -> Tensor: ...


def _stack(function: Callable[[list[Tensor]], Tensor], doc: str) -> _Stack:
    def call(tup: ArrayLike) -> Tensor:
        return tup if isinstance(tup, Tensor) else function(tensors(tup))

    return titled(call, function.__name__, f"{doc} One Tensor is returned as it is.")


hstack: _Stack = _stack(ops.hstack, "Arrays joined along the second axis; 1-d ones along their only axis.")
vstack: _Stack = _stack(ops.vstack, "Arrays joined along the first axis; 1-d ones as rows.")
dstack: _Stack = _stack(ops.dstack, "Arrays joined along the third axis, which is added where it is missing.")
column_stack: _Stack = _stack(ops.column_stack, "Arrays joined along the second axis; 1-d ones as columns.")


def split(x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces along an axis: a number of equal ones, or those between positions to cut at.

    Raises:
        ValueError: the axis can't be split into that many equal pieces.
    """
    x, where = tensor(x), freeze(indices_or_sections)
    if isinstance(where, int) and x.shape[axis] % where:
        raise ValueError(f"For 'split', axis {axis} of shape {x.shape} can't be split into {where} equal pieces.")
    return ops.tensor_split(x, where, axis)


def array_split(x: ArrayLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces along an axis, the first ones larger by one where the number doesn't divide."""
    return ops.tensor_split(tensor(x), indices_or_sections, axis)


def hsplit(x: ArrayLike, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`split` along the second axis; of a 1-d array along its only one."""
    x = tensor(x)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(x: ArrayLike, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`split` along the first axis."""
    return split(x, indices_or_sections, 0)


def dsplit(x: ArrayLike, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`split` along the third axis."""
    return split(x, indices_or_sections, 2)
