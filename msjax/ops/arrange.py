"""Operators that arrange elements: reshape, transpose, join, split."""

import builtins

import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.errors import describe
from msjax.ops.dispatch import freeze, operator

__all__ = [
    "broadcast_to",
    "cast",
    "cat",
    "concat",
    "expand_dims",
    "flatten",
    "permute",
    "reshape",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "transpose",
    "unsqueeze",
    "where",
]


def _ints(values):
    """Ints of a shape or axes given as ints, a tuple, a list or a Tensor."""
    frozen = freeze(values)
    return frozen if isinstance(frozen, tuple) else (frozen,)


@operator(name="Reshape", int_grad=True)
def _reshape(input, shape):
    return jnp.reshape(input, shape)


def reshape(input, shape):
    """The same elements in another shape; one -1 is worked out."""
    return _reshape(input, _ints(shape))


@operator(name="Transpose", int_grad=True)
def _transpose(input, axes):
    return jnp.transpose(input, axes)


def transpose(input, input_perm):
    """The axes in the order `input_perm`."""
    return _transpose(input, _ints(input_perm))


def permute(input, axis):
    """The axes in the order `axis`."""
    return _transpose(input, _ints(axis))


@operator(int_grad=True)
def swapaxes(input, axis0, axis1):
    """Two axes exchanged."""
    return jnp.swapaxes(input, axis0, axis1)


@operator(int_grad=True)
def expand_dims(input_x, axis):
    """A new axis of size 1 at position `axis`."""
    return jnp.expand_dims(input_x, axis)


def unsqueeze(input, dim):
    """A new axis of size 1 at position `dim`."""
    return expand_dims(input, dim)


@operator(int_grad=True)
def squeeze(input, axis=None):
    """Without axes of size 1: all of them, or those named (of a size other than 1, an error)."""
    return jnp.squeeze(input, axis)


@operator(int_grad=True)
def flatten(input, order="C", *, start_dim=1, end_dim=-1):
    """The axes from `start_dim` to `end_dim` as one."""
    if order == "F":
        input = jnp.transpose(input)
    shape = input.shape or (1,)
    start, end = start_dim % builtins.max(len(shape), 1), end_dim % builtins.max(len(shape), 1)
    if start > end:
        raise ValueError(f"'start_dim' ({start_dim}) should not come after 'end_dim' ({end_dim}).")
    return jnp.reshape(input, (*shape[:start], -1, *shape[end + 1 :]))


@operator(int_grad=True)
def broadcast_to(input, shape):
    """The Tensor repeated to a larger shape; -1 keeps the size of an axis."""
    missing = len(shape) - input.ndim
    shape = tuple(input.shape[i - missing] if s == -1 else s for i, s in enumerate(shape))
    return jnp.broadcast_to(input, shape)


@operator(int_grad=True)
def tile(input, dims):
    """The Tensor repeated `dims` times along its axes."""
    return jnp.tile(input, dims)


@operator(name="Cast", int_grad=True)
def _cast(input, dtype):
    return jnp.asarray(input).astype(mstype.to_jax(dtype))


def cast(input, dtype):
    """The elements converted to another data type; the gradient is converted back."""
    return _cast(input, mstype.as_dtype(dtype))


def _tensors(values, who):
    if isinstance(values, Tensor) or not isinstance(values, (tuple, list)) or not values:
        raise TypeError(
            f"For '{who}', the first argument should be a non-empty tuple or list of Tensors, but got {describe(values)}."
        )
    return values


def _common(arrays):
    dtype = jnp.result_type(*[a.dtype for a in arrays])
    return [a.astype(dtype) for a in arrays]


_CONCAT = Op("Concat", lambda *args: jnp.concatenate(_common(args[:-1]), axis=args[-1]), int_grad=True)
_STACK = Op("Stack", lambda *args: jnp.stack(_common(args[:-1]), axis=args[-1]), int_grad=True)


def concat(tensors, axis=0):
    """Tensors joined along an axis that they have."""
    return apply(_CONCAT, _tensors(tensors, "concat"), (freeze(axis),))


def cat(tensors, axis=0):
    """Tensors joined along an axis that they have."""
    return apply(_CONCAT, _tensors(tensors, "cat"), (freeze(axis),))


def stack(tensors, axis=0):
    """Tensors of one shape joined along a new axis."""
    return apply(_STACK, _tensors(tensors, "stack"), (freeze(axis),))


@operator(name="Split", int_grad=True)
def _split(input, cuts, axis):
    return tuple(jnp.split(input, cuts, axis))


def split(tensor, split_size_or_sections, axis=0):
    """Pieces of a given size (the last may be smaller), or of given sizes, along an axis."""
    size = tensor.shape[axis]
    if isinstance(split_size_or_sections, int):
        if split_size_or_sections <= 0:
            raise ValueError(f"For 'split', the size of a piece should be positive, but got {split_size_or_sections}.")
        cuts = tuple(range(split_size_or_sections, size, split_size_or_sections))
    else:
        sections = _ints(split_size_or_sections)
        if builtins.sum(sections) != size:
            raise ValueError(f"For 'split', the sizes {sections} should add up to {size}, the size of axis {axis}.")
        cuts, at = [], 0
        for n in sections[:-1]:
            at += n
            cuts.append(at)
        cuts = tuple(cuts)
    return _split(tensor, cuts, axis)


@operator(3, name="Where", int_grad=(1, 2))
def _where(condition, input, other):
    from msjax.ops.promote import promote

    return jnp.where(condition, *promote(input, other))


def where(condition, input=None, other=None):
    """`input` where the condition holds, `other` elsewhere; both may be numbers."""
    return _where(condition, input, other)
