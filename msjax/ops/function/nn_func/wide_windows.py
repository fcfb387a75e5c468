"""Convolutions on CPUs in other forms: of images that lie side by side, with wider windows for few channels, and as products with a matrix of windows."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base.typing import PadWidths
from msjax.engine.programs.tiers import has_core_for_threads
from msjax.engine.settings.precision import conv_precision
from msjax.ops.dispatch.promotion import rounded_once, widened
from msjax.ops.function.nn_func.sliding import Ints, out_sizes, shifted

_Kernel = TypeVar("_Kernel", bound=Callable[..., jax.Array])

# Up to how many channels of both sides XLA leaves a convolution to Eigen's; and from how many multiplications on Eigen is the faster one where it
# has two cores, for windows of so many pixels in a row: 0.6 to 0.9 of the time (windows of five 1.0 to 1.2).
_NARROW = 16
_DIVIDED = 1 << 25
_SHORT = 3
# Of how many elements on YNNPACK divides a product of weights by columns; how many multiplications for a row of pixels it divides; and from how
# many channels on it has the convolution.
_MANY_COLUMNS = 1 << 17
_MUCH = 1 << 22
_LEAST = 9


def narrow(x_shape: Ints, weight_shape: Ints, stride: Ints, dilation: Ints) -> bool:
    """Whether `wide_windows` computes this convolution faster than XLA."""
    ones = set(stride) == set(dilation) == {1}
    return ones and len(x_shape) == 4 and max(x_shape[1], weight_shape[0]) <= _NARROW and weight_shape[3] > 1


def divided_by_xla(x_shape: Ints, weight_shape: Ints) -> bool:
    """Whether a convolution that is `narrow` is large enough for XLA to compute it on several cores, faster than `wide_windows` on one."""
    products = x_shape[0] * math.prod(x_shape[2:]) * math.prod(weight_shape)
    return weight_shape[3] <= _SHORT and products >= _DIVIDED and has_core_for_threads()


def on_one_core(x_shape: Ints, weight_shape: Ints, stride: Ints, dilation: Ints) -> bool:
    """Whether XLA would compute this convolution on one core only, and `side_by_side` on several: 0.6 to 0.75 of the time on two."""
    if len(x_shape) != 4 or set(dilation) != {1} or weight_shape[3] < stride[1] or not has_core_for_threads():
        return False
    weight = math.prod(weight_shape)
    row = x_shape[3] // stride[1] * weight
    return x_shape[1] >= _LEAST and weight < _MANY_COLUMNS and row < _MUCH <= row * x_shape[0]


def wide_windows(x: jax.Array, weight: jax.Array, stride: Ints, padding: PadWidths, dilation: Ints, group: int) -> jax.Array:
    """A convolution for which `narrow` is true: two, four or eight pixels of the result at once."""
    outs, channels, *kernel = weight.shape
    height, width = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    count = 2 if outs > 11 else 4 if outs > 5 else 8
    # With an odd number of channels, it would take two to four times as long.
    more = -channels % 4 if channels > 1 and channels % 2 else 0
    x, weight = jnp.pad(x, ((0, 0), (0, more), (0, 0), (0, 0))), jnp.pad(weight, ((0, 0), (0, more), (0, 0), (0, 0)))
    wide = jnp.concatenate([jnp.pad(weight, ((0, 0), (0, 0), (0, 0), (i, count - 1 - i))) for i in range(count)])
    rows, (low, high) = padding
    found = side_by_side(x, wide, (1, count), (rows, (low, high + -width % count)), dilation, group)
    found = jnp.moveaxis(found, 1, -1).reshape(len(x), height, -1, outs)
    return jnp.moveaxis(found[:, :, :width], -1, 1)


def side_by_side(x: jax.Array, weight: jax.Array, stride: Ints, padding: PadWidths, dilation: Ints, group: int) -> jax.Array:
    """A convolution of two axes, of all images as one wide image, with the zeros around each between it and the next.

    YNNPACK divides a convolution's work among cores by the pixels of a row, and by columns of large weights only: one of 64 channels, 3x3, on
    rows of 16 runs on one core, of 8 times 16 on two. The results that lie across two images are left out.
    """
    (size, channels, height, width), (outs, _, _, kernel) = x.shape, weight.shape
    rows, (low, _) = padding
    step = stride[1]
    out_height, out_width = out_sizes(x.shape[2:], weight.shape[2:], stride, padding, (1, 1))
    # From one image to the next, whose zeros before it are this one's after it, too.
    pitch = max(low + width, (out_width - 1) * step + kernel - min(low, kernel - step))
    pitch += -pitch % step
    x = jax.lax.pad(x, np.zeros((), x.dtype), ((0, 0, 0), (0, 0, 0), (0, 0, 0), (low, pitch - low - width, 0)))
    found = jax.lax.conv_general_dilated(
        jnp.transpose(x, (2, 0, 3, 1)).reshape(1, height, size * pitch, channels),
        jnp.moveaxis(weight, (0, 1), (-1, -2)),
        window_strides=stride,
        padding=(rows, (0, kernel - step)),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        precision=conv_precision(),
    )
    found = found.reshape(out_height, size, pitch // step, outs)[:, :, :out_width]
    return jnp.transpose(found, (1, 3, 0, 2))


def in_single_precision(kernel: _Kernel) -> _Kernel:
    """A kernel that computes with half-precision operands in float32: its transpose adds the gradients of overlapping windows up."""

    @functools.wraps(kernel)
    def wide(x, weight, *settings):
        return rounded_once(kernel, x, widened(weight), *settings)

    return wide


@in_single_precision
def columns(x: jax.Array, weight: jax.Array, stride: Ints, padding: PadWidths, dilation: Ints, group: int) -> jax.Array:
    """The windows as columns of a matrix, and one product with the weight as it is: good where the weight is the larger array."""
    taps = shifted(jnp.swapaxes(x, 0, 1), weight.shape[2:], stride, padding, dilation, 2)
    shape = x.shape[0], *taps[0].shape[2:]
    out = weight.reshape(weight.shape[0], -1) @ jnp.stack(taps, 1).reshape(-1, math.prod(shape))
    return jnp.swapaxes(out.reshape(-1, *shape), 0, 1)


@in_single_precision
def turned_columns(x: jax.Array, weight: jax.Array, stride: Ints, padding: PadWidths, dilation: Ints, group: int) -> jax.Array:
    """As `columns`, for its transpose: the product is turned round, so that the gradient of the columns is the gradient of the output,
    turned, times the weight, both as they lie in memory. XLA leaves a product with the transposed weight to a form five times as slow.
    """
    taps = shifted(jnp.swapaxes(x, 0, 1), weight.shape[2:], stride, padding, dilation, 2)
    shape = x.shape[0], *taps[0].shape[2:]
    # XLA would fold a transpose that it sees into the product.
    rows = jax.lax.optimization_barrier(jnp.stack(taps, 1).reshape(-1, math.prod(shape)).T)
    out = jax.lax.dot_general(rows, weight.reshape(weight.shape[0], -1), (((1,), (1,)), ((), ())))
    return jnp.moveaxis(out.reshape(*shape, -1), -1, 1)


def columns_made_again(x: jax.Array, weight: jax.Array, *settings: Any) -> jax.Array:
    """`columns`, whose columns are several times as large as the image: made again in the backward pass."""
    return jax.checkpoint(lambda x, weight: columns(x, weight, *settings), prevent_cse=False)(x, weight)
