"""Operators that choose elements by a condition: where, masks, one-hot rows."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.arrays import as_array, concrete
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_int, check_kind, check_value
from msjax.core.base.typing import JaxArray, Number
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import operator, require_integers, require_tensors
from msjax.ops.dispatch.promotion import is_number, promote, spread

__all__ = [
    "argwhere", "masked_fill", "masked_scatter", "masked_select", "nonzero", "one_hot", "select", "sequence_mask", "where",
]  # fmt: skip


@operator(3, name="Where", int_grad=(1, 2))
def _where(condition, input, other):
    return jnp.where(*spread(jnp.asarray(condition).astype(bool), *promote(input, other)))


def where(condition: Tensor, input: Tensor | Number | None = None, other: Tensor | Number | None = None) -> Tensor:
    """`input` where the condition holds, `other` elsewhere.

    Args:
        condition (Tensor): of Bools.
        input, other (Tensor or number): values to choose from; shapes are broadcast. Without them, the positions
            where the condition holds, as `nonzero(condition, as_tuple=True)`.

    Example:
        >>> x = Tensor([-1.0, 2.0])
        >>> print(ops.where(x > 0, x, 0.0))
        [0. 2.]
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    return _where(condition, input, other)


@operator(3, name="Select", int_grad=(1, 2))
def _select(condition, input, other):
    # A number takes the type of the other operand.
    if is_number(input) and not is_number(other):
        input = jnp.asarray(input, other.dtype)
    elif not is_number(input) and is_number(other):
        other = jnp.asarray(other, input.dtype)
    return jnp.where(*spread(jnp.asarray(condition), *promote(input, other)))


def select(condition: Tensor, input: TensorLike, other: TensorLike) -> Tensor:
    """`input` where the condition holds, `other` elsewhere; a number is taken in the other one's data type."""
    check_kind(condition, isinstance(condition, Tensor), "be a Tensor of Bools", "condition", "select")
    return _select(condition, input, other)


# ---- masks


def _checked_mask(mask, who):
    check_kind(mask, isinstance(mask, Tensor) and mask.dtype is mstype.bool_, "be a Tensor of Bools", "mask", who)
    return mask


@operator(3, int_grad=(0, 2))
def _masked_fill(input_x, mask, value):
    return jnp.where(*spread(jnp.asarray(mask), jnp.asarray(value).astype(input_x.dtype), input_x))


def masked_fill(input_x: Tensor, mask: Tensor, value: Number | Tensor) -> Tensor:
    """`input_x` with `value` where the mask is true.

    Args:
        input_x (Tensor): of any shape.
        mask (Tensor): of Bools; shapes are broadcast.
        value (number or Tensor): a number or a 0-d Tensor.

    Raises:
        TypeError: the mask is not a Tensor of Bools.

    Example:
        >>> print(ops.masked_fill(Tensor([1.0, 2.0]), Tensor([True, False]), 0.5))
        [0.5 2. ]
    """
    fits = isinstance(value, (Tensor, bool, int, float, complex, np.number, np.bool_))
    check_kind(value, fits, "be a number or a Tensor", "value", "masked_fill")
    return _masked_fill(input_x, _checked_mask(mask, "masked_fill"), value)


_PICK = Op("MaskedSelect", lambda x, at, shape: jnp.broadcast_to(x, shape).ravel()[at], int_grad=(0,))


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask is true, as a vector.

    Args:
        input (Tensor): of any shape.
        mask (Tensor): of Bools; shapes are broadcast.

    Raises:
        TypeError: the mask is not a Tensor of Bools, or its value is not known, since the program is being compiled.

    Example:
        >>> x = Tensor([1.0, 2.0, 3.0])
        >>> print(ops.masked_select(x, x > 1))
        [2. 3.]
    """
    require_tensors("masked_select", input=input)
    known = np.asarray(concrete(_checked_mask(mask, "masked_select"), "ops.masked_select"))
    shape = np.broadcast_shapes(input.shape, known.shape)
    at = np.flatnonzero(np.broadcast_to(known, shape)).astype(np.int32)
    return apply(_PICK, (input, at), (shape,))


@operator(3, int_grad=(0, 2))
def masked_scatter(input: TensorLike, mask: TensorLike, source: TensorLike) -> JaxArray:
    """`input` with the elements of `source`, in order, where the mask is true.

    Args:
        input (Tensor): of any shape.
        mask (Tensor): of Bools, of a shape that broadcasts to that of `input`.
        source (Tensor): at least as many elements as the mask has true ones.
    """
    mask = jnp.broadcast_to(mask, input.shape)
    nth = jnp.cumsum(mask.ravel()) - 1
    values = source.ravel()[jnp.clip(nth, 0, source.size - 1)].reshape(input.shape)
    return jnp.where(mask, values.astype(input.dtype), input)


# ---- positions


def _int64(array):
    return wrap(as_array(array, mstype.int64))


def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The positions of elements other than zero.

    Args:
        input (Tensor): of any shape.
        as_tuple (bool): return one vector for each axis instead of one row for each element. Default: False.

    Returns:
        An Int64 Tensor of shape (number of such elements, axes), or a tuple of vectors.

    Raises:
        TypeError: the value is not known, since the program is being compiled.

    Example:
        >>> print(ops.nonzero(Tensor([0, 3, 5])))
        [[1]
         [2]]
    """
    require_tensors("nonzero", input=input)
    known = np.asarray(concrete(input, "ops.nonzero"))
    if as_tuple:
        return tuple(_int64(at) for at in np.nonzero(np.atleast_1d(known)))
    return _int64(np.argwhere(known))


def argwhere(input: TensorLike) -> Tensor:
    """The positions of elements other than zero, one row for each; see `nonzero`."""
    return nonzero(input)


# ---- rows of ones and zeros


@operator(3, differentiable=False, name="OneHot")
def one_hot_of_type(indices: TensorLike, on_value: Number, off_value: Number, depth: int, axis: int, dtype: Type) -> JaxArray:
    """`one_hot` in a given type."""
    if indices.dtype.itemsize < 4:  # which may not hold `depth`
        indices = indices.astype(jnp.int32)
    on, off = (jnp.asarray(v, mstype.to_jax(dtype)) for v in (on_value, off_value))
    return jnp.where(jax.nn.one_hot(indices, depth, dtype=bool, axis=axis), on, off)


def one_hot(indices: Tensor, depth: int, on_value: Number | Tensor = 1, off_value: Number | Tensor = 0, axis: int = -1) -> Tensor:
    """A new axis with `on_value` at the position that the index names, `off_value` elsewhere.

    Args:
        indices (Tensor): of integers; one outside of [0, depth) gives `off_value` everywhere.
        depth (int): the size of the new axis.
        on_value, off_value (number or Tensor): Default: 1 and 0.
        axis (int): where the new axis goes. Default: -1, the end.

    Returns:
        A Tensor of the type of `on_value`: Int64 for an int, Float32 for a float.

    Raises:
        TypeError: `indices` is not a Tensor of integers, or `depth` no int.
        ValueError: `depth` is negative.

    Example:
        >>> print(ops.one_hot(Tensor([2, 0]), 3))
        [[0 0 1]
         [1 0 0]]
    """
    depth = check_int(depth.item() if isinstance(depth, Tensor) else depth, "depth", "one_hot", low=0)
    require_integers("one_hot", indices=indices)
    check_value(axis, isinstance(axis, int) and -1 <= axis <= indices.ndim, f"be in [-1, {indices.ndim}]", "axis", "one_hot")
    on, off = (Tensor(v) if isinstance(v, (bool, int, float)) else v for v in (on_value, off_value))
    return one_hot_of_type(indices, on, off, depth, axis, on.dtype)


@operator(differentiable=False)
def _sequence_mask(lengths, maxlen):
    return jnp.arange(maxlen, dtype=lengths.dtype) < lengths[..., None]


def sequence_mask(lengths: Tensor, maxlen: int | None = None) -> Tensor:
    """True at the first `lengths[i]` positions of each row.

    Args:
        lengths (Tensor): of integers.
        maxlen (int, optional): the size of the new last axis; by default the greatest length.

    Example:
        >>> print(ops.sequence_mask(Tensor([1, 3])))
        [[ True False False]
         [ True  True  True]]
    """
    require_integers("sequence_mask", lengths=lengths)
    if maxlen is None:
        maxlen = int(np.max(np.asarray(concrete(lengths, "ops.sequence_mask without 'maxlen'")), initial=0))
    elif isinstance(maxlen, Tensor):
        maxlen = maxlen.item()
    else:
        check_int(maxlen, "maxlen", "sequence_mask")
    return _sequence_mask(lengths, maxlen)
