"""Operators that split Tensors: split, chunk, unstack, slices."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Sequence
from typing import Any

import jax

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_in_range, check_kind, check_positive_int, check_shape, check_value, is_int
from msjax.core.base.errors import describe
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.views import Rule
from msjax.ops.dispatch.operator import axis_of, freeze, operator

__all__ = [
    "chunk", "dsplit", "hsplit", "narrow", "select_scatter", "slice", "slice_scatter", "split", "strided_slice", "tensor_slice",
    "tensor_split", "unbind", "unstack", "vsplit",
]  # fmt: skip


def _pieces(size, cuts):
    """(start, stop) of each piece of an axis. A cut may lie beyond the end or before the previous cut: the piece is empty then."""
    cuts = [min(max(c + size if c < 0 else c, 0), size) for c in cuts]
    return [(start, max(start, stop)) for start, stop in zip([0, *cuts], [*cuts, size])]


def at_axis(x: TensorLike, axis: int, index: Any) -> tuple[Any, ...]:
    """An index along one axis."""
    return (builtins.slice(None),) * (axis % x.ndim) + (index,)


def _put_piece(x, value, cuts, axis, number):
    start, _ = _pieces(x.shape[axis], cuts)[number]
    return jax.lax.dynamic_update_slice_in_dim(x, value, start, axis)


def _laid_pieces(x, cuts, axis):
    return [x[at_axis(x, axis, builtins.slice(*piece))] for piece in _pieces(x.shape[axis], cuts)]


@operator(name="Split", int_grad=True, view=Rule(write=_put_piece, layout=_laid_pieces))
def _split(input, cuts, axis):
    return tuple([jax.lax.slice_in_dim(input, *piece, axis=axis) for piece in _pieces(input.shape[axis], cuts)])


def split(tensor: TensorLike, split_size_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a given size, or of given sizes, along an axis.

    Args:
        tensor (Tensor): what to split.
        split_size_or_sections (int, tuple or list): the size of each piece (the last may be smaller), or the sizes of all.
        axis (int): Default: 0.

    Returns:
        A tuple of Tensors.

    Raises:
        TypeError: the sizes are not ints.
        ValueError: the sizes don't add up to that of the axis, or are not positive.

    Example:
        >>> for piece in ops.split(Tensor([1, 2, 3]), 2):
        ...     print(piece)
        [1 2]
        [3]
    """
    axis = axis_of(tensor, axis, "split")
    size = tensor.shape[axis]
    sections = freeze(split_size_or_sections)
    if is_int(sections):
        check_in_range(sections, "the size of a piece", "split", above=0)
        cuts = tuple(builtins.range(sections, size, sections))
    elif isinstance(sections, tuple):
        if builtins.any(not isinstance(n, int) or n < 0 for n in sections):
            raise ValueError(f"For 'split', the sizes should be ints of 0 or more, but got {sections}.")
        if builtins.sum(sections) != size:
            raise ValueError(f"For 'split', the sizes {sections} should add up to {size}, the size of axis {axis}.")
        cuts = tuple(itertools.accumulate(sections[:-1]))
    else:
        raise TypeError(
            f"For 'split', the sizes should be an int or a tuple of ints, but got {describe(split_size_or_sections)}."
        )
    return _split(tensor, cuts, axis)


def chunk(input: TensorLike, chunks: int, axis: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size along an axis; the last may be smaller.

    Example:
        >>> [piece.shape for piece in ops.chunk(ops.ones(5), 3)]
        [(2,), (2,), (1,)]
    """
    check_positive_int(chunks, "chunks", "chunk")
    axis = axis_of(input, axis, "chunk")
    return split(input, builtins.max(1, -(-input.shape[axis] // chunks)), axis)


def tensor_split(input: TensorLike, indices_or_sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces along an axis, given by their number or by where they begin.

    Args:
        input (Tensor): what to split.
        indices_or_sections (int, tuple or list): how many pieces, the first ones larger by one where needed; or the
            positions to cut at.
        axis (int): Default: 0.

    Returns:
        A tuple of Tensors.
    """
    axis = axis_of(input, axis, "tensor_split")
    size = input.shape[axis]
    where = freeze(indices_or_sections)
    if is_int(where):
        check_in_range(where, "the number of pieces", "tensor_split", above=0)
        least, larger = divmod(size, where)
        where = tuple([i * least + builtins.min(i, larger) for i in builtins.range(1, where)])
    elif not isinstance(where, tuple):
        raise TypeError(
            f"For 'tensor_split', 'indices_or_sections' should be an int or a tuple of ints, but got {describe(indices_or_sections)}."
        )
    return _split(input, where, axis)


def hsplit(input: TensorLike, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`tensor_split` along the second axis; of a 1-d Tensor along its only one."""
    check_value(input, input.ndim >= 1, "have at least 1 axes", "the Tensor", "hsplit")
    return tensor_split(input, indices_or_sections, 0 if input.ndim == 1 else 1)


def vsplit(input: TensorLike, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`tensor_split` along the first axis."""
    check_value(input, input.ndim >= 1, "have at least 1 axes", "the Tensor", "vsplit")
    return tensor_split(input, indices_or_sections, 0)


def dsplit(input: TensorLike, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """`tensor_split` along the third axis."""
    check_value(input, input.ndim >= 3, "have at least 3 axes", "the Tensor", "dsplit")
    return tensor_split(input, indices_or_sections, 2)


@operator(
    name="Unstack",
    int_grad=True,
    view=Rule(
        write=lambda x, value, axis, number: x.at[at_axis(x, axis, number)].set(value),
        layout=lambda x, axis: [x[at_axis(x, axis, i)] for i in builtins.range(x.shape[axis])],
    ),
)
def _unstack(input, axis):
    return tuple(jax.lax.index_in_dim(input, i, axis, keepdims=False) for i in builtins.range(input.shape[axis]))


def unstack(input_x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it, as a tuple.

    Example:
        >>> print(*ops.unstack(Tensor([[1, 2], [3, 4]])))
        [1 2] [3 4]
    """
    return _unstack(input_x, axis_of(input_x, axis, "unstack"))


def unbind(input: TensorLike, dim: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it, as a tuple."""
    return _unstack(input, axis_of(input, dim, "unbind"))


# ---- slices


def _block(x, begin, size):
    return tuple(builtins.slice(b, None if s == -1 else b + s) for b, s in zip(begin, size))


@operator(
    name="Slice",
    int_grad=True,
    view=Rule(
        write=lambda x, value, begin, size: jax.lax.dynamic_update_slice(x, value, begin),
        layout=lambda x, begin, size: x[_block(x, begin, size)],
    ),
)
def _slice(input, begin, size):
    if len(begin) != input.ndim or len(size) != input.ndim:
        raise ValueError(
            f"'begin' and 'size' should have one number for each axis of shape {input.shape}, but got {begin}, {size}."
        )
    ends = [n if s == -1 else b + s for b, s, n in zip(begin, size, input.shape)]
    if builtins.any(b < 0 or e > n for b, e, n in zip(begin, ends, input.shape)):
        raise ValueError(f"'begin' {begin} and 'size' {size} reach out of shape {input.shape}.")
    return jax.lax.slice(input, begin, ends)


def slice(input_x: TensorLike, begin: Sequence[int], size: Sequence[int]) -> Tensor:
    """The block that begins at `begin` and has the shape `size`, where -1 reaches to the end.

    Raises:
        ValueError: the block reaches out of the Tensor.

    Example:
        >>> print(ops.slice(Tensor([[1, 2, 3], [4, 5, 6]]), (0, 1), (2, 2)))
        [[2 3]
         [5 6]]
    """
    return _slice(input_x, freeze(begin), freeze(size))


tensor_slice = slice


def narrow(input: TensorLike, axis: int, start: int | Tensor, length: int | Tensor) -> Tensor:
    """The `length` elements from `start` on along `axis`.

    Raises:
        ValueError: they reach out of the Tensor.
    """
    axis = axis_of(input, axis, "narrow")
    start, length = int(start), int(length)
    if start < 0:
        start += input.shape[axis]
    begin = tuple(start if i == axis else 0 for i in builtins.range(input.ndim))
    return _slice(input, begin, tuple(length if i == axis else n for i, n in enumerate(input.shape)))


def _index(index):
    return tuple(
        [None if i is None else Ellipsis if i == "..." else i if isinstance(i, int) else builtins.slice(*i) for i in index]
    )


@operator(
    name="StridedSlice",
    int_grad=True,
    view=Rule(write=lambda x, value, index: x.at[_index(index)].set(value), layout=lambda x, index: x[_index(index)]),
)
def _strided(input, index):
    return input[_index(index)]


def strided_slice(
    input_x: Tensor,
    begin: Sequence[int],
    end: Sequence[int],
    strides: tuple[int, ...],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """Every `strides`-th element from `begin` up to but not including `end`, along each axis.

    Args:
        input_x (Tensor): of any shape.
        begin, end, strides (tuple[int]): one number for each axis, from the first on.
        begin_mask, end_mask (int): where bit i is set, `begin[i]` or `end[i]` doesn't count: the slice has no bound there.
        ellipsis_mask (int): the position whose bit is set is an ellipsis: all axes that are not named.
        new_axis_mask (int): positions whose bit is set make new axes of size 1.
        shrink_axis_mask (int): positions whose bit is set pick `begin[i]` and drop the axis.

    Raises:
        TypeError: a mask is not an int.
        ValueError: a mask is negative, a stride is 0, or the tuples differ in length.

    Example:
        >>> print(ops.strided_slice(Tensor([0, 1, 2, 3, 4]), (0,), (5,), (2,)))
        [0 2 4]
    """
    begin, end, strides = freeze(begin), freeze(end), freeze(strides)
    masks = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    for name, mask in zip(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), masks):
        check_kind(mask, isinstance(mask, int), "be an int", name, "strided_slice")
        check_in_range(mask, name, "strided_slice", low=0)
    if not len(begin) == len(end) == len(strides):
        raise ValueError(f"For 'strided_slice', begin {begin}, end {end} and strides {strides} should have one length.")
    check_value(strides, 0 not in strides, "not be 0", "the strides", "strided_slice")
    index = []
    for i, (first, last, step) in enumerate(zip(begin, end, strides)):
        bit = 1 << i
        if ellipsis_mask & bit:
            index.append("...")
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(first)
        else:
            index.append((None if begin_mask & bit else first, None if end_mask & bit else last, step))
    return _strided(input_x, tuple(index))


# ---- slices put in


@operator(2, int_grad=True)
def slice_scatter(
    input: TensorLike, src: TensorLike, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> JaxArray:
    """`input` with its slice from `start` to `end` along `axis` replaced by `src`."""
    return input.at[at_axis(input, axis, builtins.slice(start, end, step))].set(src.astype(input.dtype))


@operator(2, int_grad=True)
def select_scatter(input: TensorLike, src: TensorLike, axis: int, index: int) -> JaxArray:
    """`input` with `src`, which has one axis less, at position `index` along `axis`.

    Raises:
        ValueError: `src` has another shape than that slice.
    """
    axis = axis % input.ndim
    check_shape(src, input.shape[:axis] + input.shape[axis + 1 :], "src")
    return input.at[at_axis(input, axis, index)].set(src.astype(input.dtype))
