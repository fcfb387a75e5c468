"""Convolutions of few channels on CPUs: neighbouring pixels of the result as channels of wider windows."""

from __future__ import annotations

import jax
import jax.numpy as jnp

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
    del group
    outs, channels, *kernel = weight.shape
    height, width = out_sizes(x.shape[2:], kernel, stride, padding, dilation)
    count = 2 if outs > 11 else 4 if outs > 5 else 8
    # With an odd number of channels, it would take two to four times as long.
    more = -channels % 4 if channels > 1 and channels % 2 else 0
    x, weight = jnp.pad(x, ((0, 0), (0, more), (0, 0), (0, 0))), jnp.pad(weight, ((0, 0), (0, more), (0, 0), (0, 0)))
    wide = [jnp.pad(weight, ((0, 0), (0, 0), (0, 0), (i, count - 1 - i))) for i in range(count)]
    rows, (low, high) = padding
    found = jax.lax.conv_general_dilated(
        jnp.moveaxis(x, 1, -1),
        jnp.moveaxis(jnp.concatenate(wide), (0, 1), (-1, -2)),
        window_strides=(1, count),
        padding=(rows, (low, high + -width % count)),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        precision=conv_precision(),
    )
    return jnp.moveaxis(found.reshape(len(x), height, -1, outs)[:, :, :width], -1, 1)
