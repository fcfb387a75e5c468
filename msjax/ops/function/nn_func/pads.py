"""Padding."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import Shape, TensorLike
from msjax.core.base.checks import check_kind, check_one_of, check_value, is_int
from msjax.core.base.typing import JaxArray, Number, PadWidths
from msjax.ops.dispatch.operator import freeze, operator, require_tensors
from msjax.ops.function.array_func.casting import ints

__all__ = ["mirror_pad", "pad", "padding"]

_MODES = {"reflect": "reflect", "replicate": "edge", "edge": "edge", "circular": "wrap", "symmetric": "symmetric"}


def _crop(x, widths):
    """x without what negative widths cut off, and the widths that remain."""
    index = tuple(slice(max(-a, 0), x.shape[i] - max(-b, 0)) for i, (a, b) in enumerate(widths))
    return x[index], tuple((max(a, 0), max(b, 0)) for a, b in widths)


@operator(2, name="Pad", int_grad=(0,))
def pad_constant(x: TensorLike, value: TensorLike, widths: PadWidths) -> JaxArray:
    """x with `value` around it; `widths` has a pair for each axis, where negative ones cut off."""
    x, widths = _crop(x, widths)
    return jnp.pad(x, widths, constant_values=jnp.asarray(value).astype(x.dtype))


@operator(name="Pad", int_grad=True)
def pad_mirrored(x: TensorLike, widths: PadWidths, mode: str) -> JaxArray:
    """x with its own elements around it; `widths` has a pair for each axis, `mode` is one of `pad`'s."""
    x, widths = _crop(x, widths)
    if mode == "reflect" and any(max(w) >= n for w, n in zip(widths, x.shape)):
        raise ValueError(f"Reflection can't reach further than the Tensor does: widths {widths} for shape {x.shape}.")
    return jnp.pad(x, widths, mode=_MODES[mode])


def widths_from_last(padding: Shape, rank: int, who: str = "pad") -> PadWidths:
    """A pair for each of `rank` axes, from numbers that begin with the last axis: (left, right, top, bottom, ...)."""
    padding = ints(padding)
    check_kind(padding, all(map(is_int, padding)), "be ints", "padding", who)
    fits = not len(padding) % 2 and len(padding) <= 2 * rank
    check_value(padding, fits, f"have two numbers for each padded axis, at most {2 * rank}", "padding", who)
    pairs = [padding[i : i + 2] for i in range(0, len(padding), 2)]
    return ((0, 0),) * (rank - len(pairs)) + tuple(reversed(pairs))


def pad(input_x: Tensor, padding: Sequence[int] | Tensor, mode: str = "constant", value: Number | None = None) -> Tensor:
    """The Tensor with elements added at its edges.

    Args:
        input_x (Tensor): of any shape.
        padding (tuple, list or Tensor of int): (left, right, top, bottom, ...), from the last axis on; negative numbers
            cut off.
        mode (str): "constant", "reflect", "replicate" or "circular". Default: "constant".
        value (number, optional): for the mode "constant", what to add. Default: 0.

    Raises:
        TypeError: `padding` is not a tuple of ints.
        ValueError: there are too many or an odd number of widths, the mode is unknown, a value is given in a mode
            that takes none, or a reflection reaches too far.

    Example:
        >>> print(ops.pad(Tensor([1, 2, 3]), (1, 2), value=9))
        [9 1 2 3 9 9]
    """
    require_tensors("pad", input_x=input_x)
    check_kind(padding, isinstance(padding, (tuple, list, Tensor)), "be a tuple, list or Tensor of ints", "padding", "pad")
    widths = widths_from_last(padding, input_x.ndim)
    if mode == "constant":
        return pad_constant(input_x, 0 if value is None else value, widths)
    check_one_of(mode, ("constant", "reflect", "replicate", "circular"), "mode", "pad")
    if value is not None and value != 0:
        raise ValueError(f"For 'pad', the mode {mode!r} takes no 'value', but got {value}.")
    return pad_mirrored(input_x, widths, mode)


def mirror_pad(input_x: Tensor, paddings: Tensor, mode: str) -> Tensor:
    """The Tensor with its own elements mirrored at its edges.

    Args:
        input_x (Tensor): of any shape.
        paddings (Tensor): of shape (axes, 2): how many elements to add before and after.
        mode (str): "REFLECT", without the edge itself, or "SYMMETRIC", with it.
    """
    check_one_of(mode, ("REFLECT", "SYMMETRIC"), "mode", "mirror_pad")
    return pad_mirrored(input_x, freeze(paddings), mode.lower())


def padding(x: TensorLike, pad_dim_size: int = 8) -> Tensor:
    """The last axis, of size 1, filled up with zeros to `pad_dim_size`."""
    if x.ndim < 2 or x.shape[-1] != 1:
        raise ValueError(f"For 'padding', the last of two or more axes should have size 1, but the shape is {x.shape}.")
    check_value(pad_dim_size, isinstance(pad_dim_size, int) and pad_dim_size > 0, "be a positive int", "pad_dim_size", "padding")
    return pad_constant(x, 0, ((0, 0),) * (x.ndim - 1) + ((0, pad_dim_size - 1),))
