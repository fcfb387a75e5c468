"""Convolutions on CPUs whose images lie side by side: windows over the rows of all images at once, and, for few channels, wider windows."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from msjax.engine.settings.precision import conv_precision
from msjax.ops.function.nn_func.sliding import out_sizes

# Up to how many channels of both sides XLA leaves a convolution to Eigen's.
_NARROW = 16


def narrow(x_shape, weight_shape, stride, dilation):
    """Whether `wide_windows` computes this convolution faster than XLA."""
    ones = set(stride) == set(dilation) == {1}
    return ones and len(x_shape) == 4 and max(x_shape[1], weight_shape[0]) <= _NARROW and weight_shape[3] > 1


def wide_windows(x, weight, stride, padding, dilation, group):
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


def side_by_side(x, weight, stride, padding, dilation, group):
    """A convolution of two axes, of all images as one wide image, with the zeros around each between it and the next.

    YNNPACK divides a convolution's work among cores by the pixels of a row, and by columns of large weights only: one of 64 channels, 3x3, on
    rows of 16 runs on one core, of 8 times 16 on two. The results that lie across two images are left out.
    """
    del dilation, group
    (size, channels, height, width), (outs, _, _, kernel) = x.shape, weight.shape
    rows, (low, _) = padding
    step = stride[1]
    out_height, out_width = out_sizes(x.shape[2:], weight.shape[2:], stride, padding, (1, 1))
    # From one image to the next. The next one's zeros before it are this one's after it, too.
    pitch = max(low + width, (out_width - 1) * step + kernel - low)
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
