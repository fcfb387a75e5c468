"""The gradient of a convolution's weight on CPUs, for a few examples at a time."""

import math

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base import jax_slots
from msjax.engine.settings.precision import conv_precision
from msjax.ops.function.nn_func.sliding import out_sizes

# From how many elements of windows on the gradient is computed in pieces, of so many pixels of the output or examples, and elements of windows;
# and how many channels of the output, which are the columns of the product, are so few that windows out of the cache cost less than short rows:
# Eigen computes these, from fewer elements on in less time by pieces, and, if the zeros around the image are written, in 0.8 to 0.9 of the time
# for 8 images and 0.16 to 0.5 for 1 to 4.
_MANY = 1 << 20
_PIXELS = 1 << 11
_IN_THE_CACHE = 5 << 18
_LEAST = 4
_FEW_COLUMNS = 16
_MANY_OF_FEW_COLUMNS = 1 << 18
# Up to so many pieces are operations beside each other, for all cores, where a loop has one: 0.7 to 0.9 of the time of a chain of layers on two cores, 0.9
# on one. Eight compile in 1.3 times the time (a U-Net's step of 32 images), and take as long.
_SIDE_BY_SIDE = 4


def elements_of_windows(x_shape, weight_shape, stride, padding, dilation, group):
    """How many elements the windows of one example have together."""
    return math.prod(weight_shape[1:]) * math.prod(out_sizes(x_shape[2:], weight_shape[2:], stride, padding, dilation))


def examples_in_a_piece(x, weight, stride, padding, dilation, group):
    """For how many examples at a time XLA's gradient of the weight stays in the cache; 0 where it does with the whole batch, all where that is
    true, but the zeros around the image are to be written.

    It is a convolution with windows as large as the output and the examples for channels. XLA gives it to YNNPACK, which from about 2,000 pixels
    or a million elements of windows on takes two to four times as long for the same work as in pieces.
    """
    one = elements_of_windows(x.shape, weight.shape, stride, padding, dilation, group)
    split = any(jax.typeof(x).sharding.spec)  # over devices, by explicit axes of a mesh
    few = weight.shape[0] <= _FEW_COLUMNS
    many = len(x) * one > (_MANY_OF_FEW_COLUMNS if few else _MANY)
    if group > 1 or split or x.dtype not in (jnp.float32, jnp.float64) or not many:
        return 0
    pixels = math.prod(out_sizes(x.shape[2:], weight.shape[2:], stride, padding, dilation))
    # The examples lie beside each other in memory: five or ten at a time take twice as long as four or eight.
    count = min(max(1, _IN_THE_CACHE // one), max(_LEAST, _PIXELS // pixels))
    count = 1 << (count.bit_length() - 1)
    padded = any(map(any, padding))
    if few:
        count = max(count, 8 if len(x) < 32 or padded else 16)
        if padded:
            return min(count, len(x))
    return count if len(x) >= 2 * count else 0


def gradient_by_pieces(x, weight, ct, settings, count, whole):
    """The gradient with respect to the weight, as the sum of those of `count` examples at a time.

    `whole(x, weight, ct)` is the gradient of all at once, of which that of this one is derived.
    """

    # The weight is an operand, of which only the shape counts: what a function keeps from a trace looks like a Tensor that is kept.
    @jax.custom_jvp
    def run(x, weight, ct):
        if count >= len(x):
            return _gradient_of_weight(x, ct, weight.shape, *settings)
        first = len(x) % count
        # Where all pieces are equal, a loop makes the first one, too: to leave it out, XLA would copy the others.
        total = _gradient_of_weight(x[:first], ct[:first], weight.shape, *settings) if first else _zeros(weight.shape, x, ct)
        parts = [a[first:].reshape(-1, count, *a.shape[1:]) for a in (x, ct)]

        def add(total, part):
            return total + _gradient_of_weight(*part, weight.shape, *settings), None

        return jax.lax.scan(add, total, parts, unroll=len(parts[0]) <= _SIDE_BY_SIDE)[0]

    def run_jvp(primals, tangents):
        # Convolutions derived from those in the loop would be slow: see `_gradient_of_weight`.
        (x, weight, ct), (x_tangent, _, ct_tangent) = primals, tangents
        along = whole(x_tangent, weight, ct) + whole(x, weight, ct_tangent)
        return run(*primals), along

    run.defjvp(run_jvp)
    return run(x, weight, ct)


def _zeros(shape, *operands):
    """Zeros to add up what is computed from the operands, which within shard_map differ from device to device."""
    axes = frozenset().union(*[jax_slots.varying_axes(jax.typeof(v)) for v in operands])
    zeros = jnp.zeros(shape, operands[0].dtype)
    return jax.lax.pcast(zeros, tuple(axes), to="varying") if axes else zeros


def _gradient_of_weight(x, ct, shape, stride, padding, dilation, group):
    """The gradient with respect to a weight of that shape, in the layout that XLA has a fast convolution for: it brings others to that one
    in a program's main computation only, and compiles them in loops to code ten times as slow."""
    n = x.ndim - 2
    space = tuple(range(n))
    inner = tuple(i + 1 for i in space)
    pads = [
        (low, (k - 1) * d + (o - 1) * s + 1 - size - low)
        for size, o, k, s, (low, _), d in zip(x.shape[2:], ct.shape[2:], shape[2:], stride, padding, dilation)
    ]
    if shape[0] <= _FEW_COLUMNS:
        x = jax.lax.pad(x, np.zeros((), x.dtype), ((0, 0, 0), (0, 0, 0), *((*pad, 0) for pad in pads)))
        pads = ((0, 0),) * n
    found = jax.lax.conv_general_dilated(
        jnp.moveaxis(x, 0, -1),
        jnp.moveaxis(ct, (0, 1), (-2, -1)),
        window_strides=dilation,
        padding=pads,
        rhs_dilation=stride,
        dimension_numbers=jax.lax.ConvDimensionNumbers((0, n + 1, *inner), (n + 1, n, *space), (0, n + 1, *inner)),
        precision=conv_precision(),
    )
    return jnp.moveaxis(found, -1, 0)
