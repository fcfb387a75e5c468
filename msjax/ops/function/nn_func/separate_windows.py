"""Windows that don't overlap: the gradient of their maxima, given the place of each in its window; convolutions as products, for CPUs."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np

from msjax.ops.function.nn_func.sliding import out_sizes, pad_spatial

# Windows of more elements are not unrolled.
MAX_UNROLLED = 16


def axes_of(ndim, *per_axis):
    """(axis, its numbers) from the last axis on."""
    each = list(zip(*per_axis))
    return [(ndim - len(each) + i, *each[i]) for i in reversed(range(len(each)))]


def _spread(x, kernel):
    """Each element as often as its window has elements: the reverse of pooling over windows that don't overlap."""
    for axis, k in axes_of(x.ndim, kernel):
        x = jnp.repeat(x, k, axis)
    return x


def is_chosen(place, kernel):
    """For each element of windows that don't overlap, whether it is the one at `place` in its window."""
    own, step = place.dtype.type(0), 1
    for axis, k in axes_of(place.ndim, kernel):
        steps_within = (np.arange(place.shape[axis] * k) % k * step).astype(place.dtype)
        own, step = own + steps_within.reshape((-1,) + (1,) * (place.ndim - 1 - axis)), step * k
    return _spread(place, kernel) == own


def spread_where_chosen(place, ct, kernel):
    """The gradient of the maxima of windows that don't overlap: at the place of each, zeros elsewhere."""
    return jnp.where(is_chosen(place, kernel), _spread(ct, kernel), jnp.zeros((), ct.dtype))


# From how many elements on the gradient of maxima is computed from what lies in memory.
_MANY = 1 << 18


def woven_where_chosen(place, ct, kernel):
    """The same for CPUs, with no arithmetic of indices: an array for each place in the window, all put together.

    Without a barrier, XLA computes the gradient and the place again for each element of the window: the sum of a convolution's shifted
    products took twice the time of all the rest. A loop over a few examples, which has the same effect, runs on one core.
    """
    if math.prod(kernel) > MAX_UNROLLED:
        return spread_where_chosen(place, ct, kernel)
    if ct.size * math.prod(kernel) >= _MANY:
        place, ct = jax.lax.optimization_barrier((place, ct))
    return _woven(place, ct, kernel)


def _woven(place, ct, kernel):
    pieces = [jnp.where(place == place.dtype.type(i), ct, jnp.zeros((), ct.dtype)) for i in range(math.prod(kernel))]
    for axis, k in axes_of(ct.ndim, kernel):
        groups = [pieces[i : i + k] for i in range(0, len(pieces), k)]
        pieces = [
            jnp.stack(group, axis + 1).reshape(*g.shape[:axis], -1, *g.shape[axis + 1 :]) for group in groups for g in group[:1]
        ]
    return pieces[0]


# ---- convolutions


def tiles(x, weight, stride, padding, dilation, group):
    """Windows that don't overlap: the image cut in tiles, and one product."""
    x = _cut_in_tiles(x, weight.shape[2:], stride, padding)
    n = weight.ndim - 2
    axes = (1, *range(2, 2 + n)), (1, *range(3, 3 + 2 * n, 2))
    # What `jnp.einsum` makes of it, in a third of the time.
    product = jax.lax.dot_general(weight, x, (axes, ((), ())), preferred_element_type=x.dtype)
    return jax.lax.transpose(product, (1, 0, *range(2, 2 + n)))


def _cut_in_tiles(x, kernel, stride, padding):
    """Axes: batch, channels, then for each axis of the image the output's and the position in the window."""
    out = out_sizes(x.shape[2:], kernel, stride, padding, (1,) * len(kernel))
    x = pad_spatial(x, padding)
    limits = [(o - 1) * s + 1 if k == 1 else o * k for o, s, k in zip(out, stride, kernel)]
    strides = [s if k == 1 else 1 for s, k in zip(stride, kernel)]
    x = jax.lax.slice(x, [0] * x.ndim, [*x.shape[:2], *limits], [1, 1, *strides])
    return jax.lax.reshape(x, [*x.shape[:2], *itertools.chain(*zip(out, kernel))])


def rows_of_tiles(x, weight, stride, padding, dilation, group):
    """As `tiles`, for its transpose: with a row for each tile, so that both gradients are products of the same copies.

    XLA would copy the gradient of the output twice, once with the pixels innermost: 0.6 of the time for a transposed convolution of 32 to
    16 channels, 32 images of 16x16, and its gradients. As the result itself, for one image of 224x224 and windows of 16x16, 1.5.
    """
    if math.prod(weight.shape[2:]) == 1 or any(jax.typeof(x).sharding.spec):  # over devices, by explicit axes of a mesh
        return tiles(x, weight, stride, padding, dilation, group)
    x = _cut_in_tiles(x, weight.shape[2:], stride, padding)
    shape = x.shape[0], *x.shape[2::2]
    rows = x.transpose((0, *range(2, x.ndim, 2), *range(3, x.ndim, 2), 1)).reshape(math.prod(shape), -1)
    weight = jnp.moveaxis(weight, 1, -1).reshape(weight.shape[0], -1)
    out = jax.lax.dot_general(rows, weight, (((1,), (1,)), ((), ())), preferred_element_type=x.dtype)
    return jnp.moveaxis(out.reshape(*shape, -1), -1, 1)
