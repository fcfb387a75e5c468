"""Operators that rearrange the elements of images: between channels, space and batch, and into windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import Shape, TensorLike
from msjax.core.base.checks import check_positive_int, check_value
from msjax.core.base.typing import Axes, JaxArray, PadWidths
from msjax.engine.autograd.op import Op, apply
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.function.nn_func.sliding import n_ints, out_sizes, same_pads, shifted

__all__ = [
    "batch_to_space_nd", "channel_shuffle", "col2im", "fold", "pixel_shuffle", "pixel_unshuffle", "space_to_batch_nd", "unfold",
]  # fmt: skip


@operator(int_grad=True)
def _pixel_shuffle(input, r):
    *lead, c, h, w = input.shape
    n = len(lead)
    x = input.reshape(*lead, c // (r * r), r, r, h, w)
    x = x.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return x.reshape(*lead, c // (r * r), h * r, w * r)


def pixel_shuffle(input: TensorLike, upscale_factor: int) -> Tensor:
    """Channels spread over space: (..., C * r * r, H, W) to (..., C, H * r, W * r).

    Args:
        input (Tensor): of three axes or more; r * r has to divide the channels.
        upscale_factor (int): r.

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.

    Example:
        >>> print(ops.pixel_shuffle(Tensor([1.0, 2.0, 3.0, 4.0]).reshape((1, 4, 1, 1)), 2))
        [[[[1. 2.]
           [3. 4.]]]]
    """
    r = check_positive_int(upscale_factor, "upscale_factor", "pixel_shuffle")
    if input.ndim < 3 or input.shape[-3] % (r * r):
        raise ValueError(f"For 'pixel_shuffle', {r} * {r} should divide the channels of the input, whose shape is {input.shape}.")
    return _pixel_shuffle(input, r)


@operator(int_grad=True)
def _pixel_unshuffle(input, r):
    *lead, c, h, w = input.shape
    n = len(lead)
    x = input.reshape(*lead, c, h // r, r, w // r, r)
    x = x.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return x.reshape(*lead, c * r * r, h // r, w // r)


def pixel_unshuffle(input: TensorLike, downscale_factor: int) -> Tensor:
    """Space gathered into channels: (..., C, H * r, W * r) to (..., C * r * r, H, W).

    Args:
        input (Tensor): of three axes or more; r has to divide the last two.
        downscale_factor (int): r.

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.
    """
    r = check_positive_int(downscale_factor, "downscale_factor", "pixel_unshuffle")
    if input.ndim < 3 or input.shape[-1] % r or input.shape[-2] % r:
        raise ValueError(f"For 'pixel_unshuffle', {r} should divide the last axes of the input, whose shape is {input.shape}.")
    return _pixel_unshuffle(input, r)


@operator(int_grad=True)
def _channel_shuffle(x, groups):
    n, c, *rest = x.shape
    return x.reshape(n, groups, c // groups, *rest).swapaxes(1, 2).reshape(x.shape)


def channel_shuffle(x: TensorLike, groups: int) -> Tensor:
    """The channels (axis 1) in groups, taken one of each group in turn.

    Args:
        x (Tensor): of shape (N, C, ...).
        groups (int): has to divide C.

    Raises:
        TypeError, ValueError: an argument of a wrong type or value.
    """
    groups = check_positive_int(groups, "groups", "channel_shuffle")
    if x.ndim < 3 or x.shape[1] % groups:
        raise ValueError(f"For 'channel_shuffle', {groups} should divide the channels of the input, whose shape is {x.shape}.")
    return _channel_shuffle(x, groups)


@operator(name="DepthToSpace", int_grad=True)
def depth_to_space(x: TensorLike, block_size: int) -> JaxArray:
    """Channels spread over space, by blocks: (N, C * b * b, H, W) to (N, C, H * b, W * b).

    Args:
        x (Tensor): of shape (N, C * b * b, H, W).
        block_size (int): b.
    """
    n, c, h, w = x.shape  # pyright: ignore[reportAssignmentType]
    if c % (block_size * block_size):
        raise ValueError(f"{block_size} * {block_size} should divide the channels of the input, whose shape is {x.shape}.")
    out = c // (block_size * block_size)
    x = x.reshape(n, block_size, block_size, out, h, w).transpose(0, 3, 4, 1, 5, 2)
    return x.reshape(n, out, h * block_size, w * block_size)


@operator(name="SpaceToDepth", int_grad=True)
def space_to_depth(x: TensorLike, block_size: int) -> JaxArray:
    """The inverse of `DepthToSpace`: (N, C, H * b, W * b) to (N, C * b * b, H, W).

    Args:
        x (Tensor): of shape (N, C, H * b, W * b).
        block_size (int): b.
    """
    n, c, h, w = x.shape  # pyright: ignore[reportAssignmentType]
    if h % block_size or w % block_size:
        raise ValueError(f"{block_size} should divide the last axes of the input, whose shape is {x.shape}.")
    x = x.reshape(n, c, h // block_size, block_size, w // block_size, block_size).transpose(0, 3, 5, 1, 2, 4)
    return x.reshape(n, c * block_size * block_size, h // block_size, w // block_size)


@operator(name="SpaceToBatchND", int_grad=True)
def _space_to_batch(x, block, paddings):
    m = len(block)
    first = x.ndim - m
    x = jnp.pad(x, [(0, 0)] * first + [tuple(p) for p in paddings])
    n, *rest = x.shape
    shape, lead = [n, *rest[: first - 1]], first
    for size, b in zip(x.shape[first:], block):
        if size % b:
            raise ValueError(f"the block {block} should divide the padded axes of the input, but they are {x.shape[first:]}.")
        shape += [size // b, b]
    x = x.reshape(shape)
    order = [*(lead + 2 * i + 1 for i in range(m)), *range(lead), *(lead + 2 * i for i in range(m))]
    x = x.transpose(order)
    return x.reshape(-1, *rest[: first - 1], *x.shape[m + lead :])


@operator(name="BatchToSpaceND", int_grad=True)
def _batch_to_space(x, block, crops):
    m = len(block)
    first = x.ndim - m
    n = x.shape[0] // math.prod(block)
    if n * math.prod(block) != x.shape[0]:
        raise ValueError(f"the block {block} should divide the batch of the input, whose shape is {x.shape}.")
    x = x.reshape(*block, n, *x.shape[1:])
    order = list(range(m, m + first))
    for i in range(m):
        order += [m + first + i, i]
    x = x.transpose(order)
    sizes = [x.shape[first + 2 * i] * x.shape[first + 2 * i + 1] for i in range(m)]
    x = x.reshape(*x.shape[:first], *sizes)
    index = [slice(None)] * first + [slice(a, s - b) for (a, b), s in zip(crops, sizes)]
    return x[tuple(index)]


def space_to_batch_nd(input_x: Tensor, block_size: int | Sequence[int], paddings: Sequence[Any]) -> Tensor:
    """The last axes padded, cut in blocks, and each place in a block as a batch of its own.

    Args:
        input_x (Tensor): of shape (N, ..., *spatial).
        block_size (int, list or tuple): the block's size on each of the last axes.
        paddings (list or tuple): a pair of numbers of zeros for each of these axes.

    Example:
        >>> ops.space_to_batch_nd(ops.ones((1, 1, 2, 2)), [2, 2], [[0, 0], [0, 0]]).shape
        (4, 1, 1, 1)
    """
    paddings = freeze(paddings)
    return _space_to_batch(input_x, n_ints(block_size, len(paddings), "block_size", "space_to_batch_nd"), paddings)


def batch_to_space_nd(input_x: Tensor, block_shape: int | Sequence[int], crops: Sequence[Any]) -> Tensor:
    """The inverse of `space_to_batch_nd`: blocks from the batch, then elements cropped from the ends.

    Args:
        input_x (Tensor): of shape (N, ..., *spatial); the block's elements have to divide N.
        block_shape (int, list or tuple): the block's size on each of the last axes.
        crops (list or tuple): a pair of numbers of elements for each of these axes.
    """
    crops = freeze(crops)
    return _batch_to_space(input_x, n_ints(block_shape, len(crops), "block_shape", "batch_to_space_nd"), crops)


# ---- windows


def _im2col(x, kernel, dilation, pads, stride):
    """(N, C, H, W) to (N, C, elements of a window, windows)."""
    taps = shifted(x, kernel, stride, pads, dilation, 2)
    return jnp.stack([tap.reshape(*x.shape[:2], -1) for tap in taps], 2)


# Static: the image's sizes, kernel, dilation, padding pairs, stride.
@partial(Op, "Col2Im", int_grad=True)
def COL2IM(x, sizes, kernel, dilation, pads, stride):
    """The transpose of `_im2col`: overlapping elements are summed."""
    windows = math.prod(out_sizes(sizes, kernel, stride, pads, dilation))
    if x.shape[2:] != (math.prod(kernel), windows):
        raise ValueError(
            f"windows {kernel} of an image of {sizes} make ({math.prod(kernel)}, {windows}) elements, but the input's shape is {x.shape}."
        )
    image = jax.ShapeDtypeStruct((*x.shape[:2], *sizes), x.dtype)
    return jax.linear_transpose(lambda im: _im2col(im, kernel, dilation, pads, stride), image)(x)[0]


# Static: kernel, dilation, padding pairs, stride.
IM2COL = Op("Im2Col", _im2col, int_grad=True)


def window_sizes(
    kernel_size: Axes,
    dilation: Axes,
    padding: Axes,
    stride: Axes,
    who: str,
) -> tuple[tuple[int, ...], tuple[int, ...], PadWidths, tuple[int, ...]]:
    kernel, dilation = n_ints(kernel_size, 2, "kernel_size", who), n_ints(dilation, 2, "dilation", who)
    pads = tuple((p, p) for p in n_ints(padding, 2, "padding", who, lowest=0))
    return kernel, dilation, pads, n_ints(stride, 2, "stride", who)


def unfold(
    input: Tensor,
    kernel_size: Axes,
    dilation: Axes = 1,
    padding: Axes = 0,
    stride: Axes = 1,
) -> Tensor:
    """The windows of an image as columns.

    Args:
        input (Tensor): of shape (N, C, H, W).
        kernel_size, dilation, padding, stride (int or tuple): of the windows; for both axes, or (height, width).

    Returns:
        Tensor, of shape (N, C * elements of a window, windows).

    Raises:
        TypeError, ValueError: an argument of a wrong type, shape or value.

    Example:
        >>> ops.unfold(ops.ones((1, 2, 3, 4)), 2).shape
        (1, 8, 6)
    """
    check_value(input, isinstance(input, Tensor) and input.ndim == 4, "be a Tensor of 4 axes", "input", "unfold")
    out = apply(IM2COL, (input,), window_sizes(kernel_size, dilation, padding, stride, "unfold"))
    return out.reshape((out.shape[0], out.shape[1] * out.shape[2], out.shape[3]))


def fold(
    input: Tensor,
    output_size: Shape,
    kernel_size: Axes,
    dilation: Axes = 1,
    padding: Axes = 0,
    stride: Axes = 1,
) -> Tensor:
    """Columns put back as the windows of an image; overlapping elements are summed.

    Args:
        input (Tensor): of shape (N, C * elements of a window, windows).
        output_size (Tensor): the height and width of the image.
        kernel_size, dilation, padding, stride: as in `unfold`.

    Returns:
        Tensor, of shape (N, C, H, W).

    Raises:
        TypeError, ValueError: an argument of a wrong type, shape or value.
    """
    window = window_sizes(kernel_size, dilation, padding, stride, "fold")
    elements = math.prod(window[0])
    if input.ndim == 3:
        if input.shape[1] % elements:
            raise ValueError(f"For 'fold', {elements} should divide axis 1 of the input, whose shape is {input.shape}.")
        input = input.reshape((input.shape[0], input.shape[1] // elements, elements, input.shape[2]))
    return apply(COL2IM, (input,), (n_ints(output_size, 2, "output_size", "fold"), *window))


def col2im(
    input_x: TensorLike,
    output_size: int | tuple[int, ...],
    kernel_size: Axes,
    dilation: Axes,
    padding_value: Axes,
    stride: Axes,
) -> Tensor:
    """Columns (N, C, elements of a window, windows) put back as the windows of an image; see `fold`."""
    window = window_sizes(kernel_size, dilation, padding_value, stride, "col2im")
    return apply(COL2IM, (input_x,), (n_ints(output_size, 2, "output_size", "col2im"), *window))


@operator(name="ExtractImagePatches", int_grad=True)
def extract_image_patches(
    x: TensorLike, kernel: tuple[int, ...], stride: tuple[int, ...], rates: tuple[int, ...], same: bool
) -> JaxArray:
    """(N, C, H, W) to (N, elements of a window * C, H', W')."""
    pads = same_pads(x.shape[2:], kernel, stride, rates) if same else ((0, 0), (0, 0))
    if min(out_sizes(x.shape[2:], kernel, stride, pads, rates)) <= 0:
        raise ValueError(f"the window {kernel} is larger than the image, whose shape is {x.shape}.")
    return jnp.concatenate(shifted(x, kernel, stride, pads, rates, 2), 1)
