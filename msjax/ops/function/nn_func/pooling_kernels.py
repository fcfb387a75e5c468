"""Kernels of pooling, on jax arrays; the public operators are in pooling.py."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.typing import TensorLike
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.op import Op
from msjax.ops.dispatch.platforms import on_cpu
from msjax.ops.dispatch.promotion import rounded_once, to_float
from msjax.ops.function.math_func.norms import root
from msjax.ops.function.nn_func.separate_windows import MAX_UNROLLED, axes_of, is_chosen, spread_where_chosen, woven_where_chosen
from msjax.ops.function.nn_func.sliding import out_sizes, pad_spatial, pads_of_max_pool, pads_of_pool, steps

# ---- the largest


def _lowest(dtype):
    return -jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).min


def _max_pool(x, kernel, stride, pads, dilation):
    """x of shape (..., *spatial), pooled over as many axes as `kernel` has; `pads` has a pair for each, or is "same".

    Its gradient goes to the first maximum of each window, by its flat index; XLA's select-and-scatter, which does the same, takes
    5 to 40 times as long on CPUs, and knows no dilation.
    """
    pads = pads_of_max_pool(x, kernel, stride, pads, dilation)

    def by_axis(x):
        # One axis after the other, each as the maximum of shifted slices: XLA's reduce_window takes 2 to 9 times as long.
        x = pad_spatial(x, pads, x.ndim - len(kernel), _lowest(x.dtype))
        for axis, k, s, d in axes_of(x.ndim, kernel, stride, dilation):
            out = None
            for piece in steps(x, axis, k, s, d):
                out = piece if out is None else jnp.maximum(out, piece)
            x = out
        return x

    def windows(x):
        return _largest_of_windows(x, kernel, stride, pads, dilation)

    @jax.custom_jvp
    def pool(x):
        return on_cpu(by_axis, windows, x)

    @pool.defjvp
    def pool_jvp(primals, tangents):
        (x,), (dx,) = primals, tangents
        if _disjoint(x, kernel, stride, pads, dilation):
            return _disjoint_jvp(x, dx, kernel)
        out, index = _max_and_index(x, _sliding(x.shape, kernel, stride, pads, dilation))
        out = _computed_once(out, x, kernel, stride, pads, dilation)
        if max(dilation) > 1:  # of which XLA's gradient of windows knows nothing
            return out, pick(dx, index, len(kernel))
        derivative = _derivative_of(windows)
        out = on_cpu(_second, lambda x, out: windows(x), x, out)
        return out, on_cpu(lambda x, index, dx: pick(dx, index, len(kernel)), derivative, x, index, dx)

    return pool(x)


def _largest_of_windows(x, kernel, stride, pads, dilation):
    lead = x.ndim - len(kernel)
    return jax.lax.reduce_window(
        x, np.asarray(_lowest(x.dtype), x.dtype), jax.lax.max, (1,) * lead + kernel, (1,) * lead + stride,
        ((0, 0),) * lead + pads, window_dilation=(1,) * lead + dilation,
    )  # fmt: skip


# So many elements XLA's own kernel for windows pools in the time that starting a program takes.
_FEW = 1 << 13


def _computed_once(out, x, kernel, *settings):
    """`out`, the maxima of windows of x, in a program that takes gradients.

    XLA for CPUs computes maxima of slices anew in each kernel that reads them. The gradient of a dense layer's weight for one example
    is such a kernel, and reads each maximum once for every row: 0.12 of 0.34 ms for LeNet-5's. XLA's windows are computed once.
    """
    one_example = x.ndim - len(kernel) < 2 or x.shape[0] == 1
    if not one_example and x.size > _FEW:
        return out
    return on_cpu(lambda x, out: _largest_of_windows(x, kernel, *settings), lambda x, out: out, x, out)


def _max_pool_gradient(slots, x, kernel, stride, pads, dilation):
    """See `TracedVJP`: as above, but what is kept is the maxima's positions."""
    pads = pads_of_max_pool(x, kernel, stride, pads, dilation)
    n, like = len(kernel), jax.ShapeDtypeStruct(x.shape, x.dtype)
    if _disjoint(x, kernel, stride, pads, dilation):
        out, place = _max_and_place(x, kernel)

        def pull_apart(place, ct):
            return (on_cpu(lambda *a: woven_where_chosen(*a, kernel), lambda *a: spread_where_chosen(*a, kernel), place, ct),)

        return out, jax.tree_util.Partial(pull_apart, place)
    out, index = _max_and_index(x, _sliding(x.shape, kernel, stride, pads, dilation))
    out = _computed_once(out, x, kernel, stride, pads, dilation)

    def scattered(index, ct):
        return jax.linear_transpose(lambda x: pick(x, index, n), like)(ct)

    def pull(index, ct):
        if math.prod(kernel) > MAX_UNROLLED:
            return scattered(index, ct)
        return on_cpu(
            scattered, lambda index, ct: (_sums_where_chosen(index, ct, like.shape, kernel, stride, pads, dilation),), index, ct
        )

    return out, jax.tree_util.Partial(pull, index)


_max_pool.gradient = _max_pool_gradient


def _disjoint(x, kernel, stride, pads, dilation):
    """True if windows neither overlap nor reach over the edge, nor leave elements out."""
    sizes = x.shape[x.ndim - len(kernel) :]
    return (
        kernel == stride
        and all(p == (0, 0) for p in pads)
        and all(d == 1 or k == 1 for d, k in zip(dilation, kernel))
        and all(s % k == 0 for s, k in zip(sizes, kernel))
    )


def _tiled(x, kernel):
    """Windows that don't overlap, (..., out1, k1, out2, k2...), and the axes within them; moves no element."""
    first = x.ndim - len(kernel)
    tiles = x.reshape(*x.shape[:first], *(n for size, k in zip(x.shape[first:], kernel) for n in (size // k, k)))
    return tiles, tuple(range(first + 1, tiles.ndim, 2))


def _max_and_place(x, kernel):
    """The maximum of each window of those that don't overlap, and the place in the window, in C order, of the first."""
    tiles, axes = _tiled(x, kernel)
    if math.prod(kernel) > MAX_UNROLLED:
        windows = jnp.moveaxis(tiles, axes, range(-len(axes), 0))
        windows = windows.reshape(*windows.shape[: -len(axes)], -1)
        return jnp.max(windows, -1), jnp.argmax(windows, -1).astype(_place_dtype(kernel))
    pieces = []
    for at in np.ndindex(*kernel):
        within = dict(zip(axes, at))
        pieces.append(tiles[tuple([within.get(axis, slice(None)) for axis in range(tiles.ndim)])])
    n = len(kernel)
    out = _computed_once(functools.reduce(jnp.maximum, pieces), x, kernel, kernel, ((0, 0),) * n, (1,) * n)
    # From the maxima, not along with them: that makes LeNet-5's step of 256 images 0.94, but where observers make results of the maxima, XLA
    # computes them twice, and a step of 32 images takes 1.15 times as long.
    place = jnp.full(out.shape, len(pieces) - 1, _place_dtype(kernel))
    for i in reversed(range(len(pieces) - 1)):
        # Where the maximum is NaN, an element is it if it is NaN, too.
        place = jnp.where((pieces[i] == out) | (pieces[i] != pieces[i]), np.asarray(i, place.dtype), place)
    # On CPUs, XLA would compute the place again for each element of the window.
    return out, on_cpu(jax.lax.optimization_barrier, lambda place: place, place)


def _place_dtype(kernel):
    """The smallest integers that count the elements of a window: they are kept for the gradient."""
    return jnp.int8 if math.prod(kernel) <= 128 else jnp.int32


def _sums_where_chosen(index, ct, shape, kernel, stride, pads, dilation):
    """The transpose of `pick` for windows that overlap, for each place in the window a comparison with the element's own index: one
    kernel of accelerators, whose scatter is slow."""
    n, sizes = len(kernel), shape[len(shape) - len(kernel) :]
    own = jnp.arange(math.prod(sizes), dtype=index.dtype).reshape(sizes)
    total = None
    for at in np.ndindex(*kernel):
        widths = [(0, 0, 0)] * (len(shape) - n)
        for i, size, out, s, (low, _), d in zip(at, sizes, index.shape[len(shape) - n :], stride, pads, dilation):
            first = i * d - low
            widths.append((first, size - 1 - (out - 1) * s - first, s - 1))
        chosen = jax.lax.pad(index, np.asarray(-1, index.dtype), widths) == own
        term = jnp.where(chosen, jax.lax.pad(ct, np.zeros((), ct.dtype), widths), np.zeros((), ct.dtype))
        total = term if total is None else total + term
    return total


def _disjoint_jvp(x, dx, kernel):
    out, place = _max_and_place(x, kernel)
    zero, n = jnp.zeros((), dx.dtype), len(kernel)

    def windows(x):
        return _largest_of_windows(x, kernel, kernel, ((0, 0),) * n, (1,) * n)

    def whole(x, place, dx):
        tiles, axes = _tiled(jnp.where(is_chosen(place, kernel), dx, zero), kernel)
        return jnp.sum(tiles, axes)

    def by_place(x, place, dx):
        # The transpose of a split puts pieces together, as `woven_where_chosen` does.
        if math.prod(kernel) > MAX_UNROLLED:
            return whole(x, place, dx)
        tiles, axes = _tiled(dx, kernel)
        pieces = [tiles]
        for axis in axes:
            pieces = [part for piece in pieces for part in jax.lax.split(piece, (1,) * piece.shape[axis], axis)]
        chosen = [jnp.where(place == place.dtype.type(i), jnp.squeeze(p, axes), zero) for i, p in enumerate(pieces)]
        return functools.reduce(jnp.add, chosen)

    # XLA's programs for GPUs scatter for the gradient of windows, and keep more.
    out = on_cpu(_second, _second, x, out, tpu=lambda x, out: windows(x))
    return out, on_cpu(by_place, whole, x, place, dx, tpu=_derivative_of(windows))


def _derivative_of(windows):
    """XLA's own derivative of the maxima of windows, as a function (x, ignored, dx): its gradient goes to the first maximum, too, and
    needs x, where the index takes an integer for each window, and more while it is computed."""
    return lambda x, index, dx: jax.jvp(windows, (x,), (dx,))[1]


def _second(first, second):
    return second


def _sliding(shape, kernel, stride, pads, dilation):
    """For `_max_and_index`, the windows of pooling: for each axis a function to its pieces, and their positions."""
    made = []
    for axis, k, s, p, d in axes_of(len(shape), kernel, stride, pads, dilation):
        (out,) = out_sizes((shape[axis],), (k,), (s,), (p,), (d,))
        starts = np.arange(out) * s - p[0]
        # Padding is a maximum only where all elements are -inf; the position has to be a real one then, too.
        positions = [np.clip(starts + i * d, 0, shape[axis] - 1) for i in range(k)]

        def pieces(x, fill, axis=axis, k=k, s=s, p=p, d=d):
            return steps(pad_spatial(x, (p,), axis, fill), axis, k, s, d)

        made.append((axis, pieces, positions))
    return made


def _max_and_index(x, windows):
    """The maximum of each window and where it is, counted in C order over the axes of the windows."""
    index, weight = None, 1
    for axis, pieces, positions in windows:
        size = x.shape[axis]  # pyright: ignore[reportOptionalMemberAccess]
        values = pieces(x, _lowest(x.dtype))  # pyright: ignore[reportOptionalMemberAccess]
        below = [None] * len(values) if index is None else pieces(index, 0)
        best = found = None
        for value, under, position in zip(values, below, positions):
            place = jnp.asarray(position * weight, jnp.int32).reshape((-1,) + (1,) * (x.ndim - 1 - axis))  # pyright: ignore[reportOptionalMemberAccess]
            place = place + (jnp.zeros(value.shape, jnp.int32) if under is None else under)
            if best is None:
                best, found = value, place
            else:
                larger = value > best
                if jnp.issubdtype(x.dtype, jnp.floating):  # pyright: ignore[reportOptionalMemberAccess]
                    larger |= jnp.isnan(value)
                best, found = jnp.where(larger, value, best), jnp.where(larger, place, found)
        x, index, weight = best, found, weight * size
    return x, index


def pick(x: TensorLike, index: TensorLike, n: int) -> JaxArray:
    """The elements of x at the flat indices `index` over its last n axes."""
    lead = x.ndim - n
    flat = jnp.take_along_axis(
        x.reshape(*x.shape[:lead], -1), index.reshape(*index.shape[:lead], -1), lead, mode="promise_in_bounds"
    )
    return flat.reshape(index.shape)


def _with_index(windows_of):
    """An operator's function from (x, static...) to the maxima and their flat Int64 indices."""

    def fn(x, *static):
        n = len(static[0])

        @jax.custom_jvp
        def pool(x):
            return _max_and_index(x, windows_of(x.shape, *static))

        @pool.defjvp
        def pool_jvp(primals, tangents):
            out, index = pool(primals[0])
            return (out, index), (pick(tangents[0], index, n), np.zeros(index.shape, jax.dtypes.float0))  # pyright: ignore[reportOptionalMemberAccess]

        out, index = pool(x)
        return out, index.astype(mstype.to_jax(mstype.int64))  # pyright: ignore[reportOptionalMemberAccess]

    return fn


# As MAX_POOL, with the flat indices of the maxima.
@functools.partial(Op, "MaxPoolWithArgmax")
def MAX_POOL_WITH_INDEX(x, kernel, stride, pads, dilation):
    return _with_index(_sliding)(x, kernel, stride, pads_of_max_pool(x, kernel, stride, pads, dilation), dilation)


# Static: kernel, stride, padding pairs or "same", dilation.
MAX_POOL = Op("MaxPool", _max_pool)


def _bounds(size, out):
    """Where the windows of adaptive pooling begin and end on one axis."""
    i = np.arange(out)
    return i * size // out, -(-(i + 1) * size // out)


def _adaptive(shape, outs):
    """As `_sliding`, for adaptive pooling: windows of unequal sizes, the last position of shorter ones repeated."""
    made = []
    for axis, out in axes_of(len(shape), outs):
        starts, ends = _bounds(shape[axis], out)
        positions = [np.minimum(starts + i, ends - 1) for i in range(int((ends - starts).max()))]

        def pieces(x, fill, axis=axis, positions=positions):
            return [jnp.take(x, p, axis) for p in positions]

        made.append((axis, pieces, positions))
    return made


# Static: the output's sizes. Returns the maxima and their flat indices.
ADAPTIVE_MAX_POOL = Op("AdaptiveMaxPool", _with_index(_adaptive))

# ---- the mean


def _sum_pool(x, kernel, stride, pads):
    lead = (1,) * (x.ndim - len(kernel))

    def windows(x):
        return jax.lax.reduce_window(x, np.zeros((), x.dtype), jax.lax.add, lead + kernel, lead + stride, "VALID")

    return on_cpu(lambda x: _sums_by_axis(x, kernel, stride), windows, pad_spatial(x, pads, x.ndim - len(kernel)))


def _sums_by_axis(x, kernel, stride):
    for axis, k, s in axes_of(x.ndim, kernel, stride):
        if k == x.shape[axis]:  # pyright: ignore[reportOptionalMemberAccess]
            x = jnp.sum(x, axis, keepdims=True)
        else:
            total = None
            for piece in steps(x, axis, k, s):
                total = piece if total is None else total + piece
            x = total
    return x


def _counts(sizes, kernel, stride, pads, counted):
    """How many elements of each window count: those within the image and `counted` elements around it."""
    total = np.ones((), np.float64)
    for size, k, s, p, c in zip(sizes, kernel, stride, pads, counted):
        (out,) = out_sizes((size,), (k,), (s,), (p,))
        starts = np.arange(out) * s - p[0]
        inside = np.minimum(starts + k, size + c[1]) - np.maximum(starts, -c[0])
        total = np.multiply.outer(total, inside)
    return total


def _avg_pool(x, kernel, stride, pads, counted, divisor):
    pads = pads_of_pool(x, kernel, stride, pads)
    counted = pads if isinstance(counted, str) else counted
    total = _sum_pool(x, kernel, stride, pads)
    if divisor is not None:
        return total / divisor
    if counted == pads:
        return total / math.prod(kernel)
    return total / jnp.asarray(_counts(x.shape[x.ndim - len(kernel) :], kernel, stride, pads, counted), x.dtype)


# Static: kernel, stride, padding pairs or "same", those of the pads that count in the mean, divisor or None.
AVG_POOL = Op("AvgPool", functools.partial(rounded_once, _avg_pool))


# Static: the output's sizes.
@functools.partial(Op, "AdaptiveAvgPool")
def ADAPTIVE_AVG_POOL(x, outs):
    for axis, out in axes_of(x.ndim, outs):
        size = x.shape[axis]
        if out == size:
            continue
        if size % out == 0:
            x = jnp.mean(x.reshape(*x.shape[:axis], out, size // out, *x.shape[axis + 1 :]), axis + 1)
            continue
        starts, ends = _bounds(size, out)
        column = (-1,) + (1,) * (x.ndim - 1 - axis)
        total = np.zeros((), x.dtype)
        # No product with a matrix of shares: in each mean, it would have the NaN and infinities of all others.
        for i in range(int((ends - starts).max())):
            piece = jnp.take(x, np.minimum(starts + i, ends - 1), axis, mode="clip")
            piece = jnp.where((starts + i < ends).reshape(column), piece, np.zeros((), x.dtype))
            total = total + piece
        x = total / jnp.asarray(ends - starts, x.dtype).reshape(column)
    return x


# Static: the power, kernel, stride, padding pairs and those of them that count.
@functools.partial(Op, "LpPool")
def LP_POOL(x, norm_type, kernel, stride, pads, counted):
    mean = _avg_pool(jnp.power(to_float(x), norm_type), kernel, stride, pads, counted, None)
    return root(mean * math.prod(kernel), norm_type)


# ---- back to where the largest were


# Operands: input, indices. Static: the output's sizes.
@functools.partial(Op, "MaxUnpool")
def MAX_UNPOOL(x, index, sizes):
    """Zeros of shape `sizes` with the elements of x at the flat indices `index`."""
    n = len(sizes)
    lead = x.shape[: x.ndim - n]
    rows = math.prod(lead)
    zeros = jnp.zeros((rows, math.prod(sizes)), x.dtype)
    at = index.reshape(rows, -1)
    out = zeros.at[jnp.arange(rows)[:, None], at].set(x.reshape(rows, -1), mode="drop")
    return out.reshape(*lead, *sizes)


# ---- windows at random places


# Operands: input, random samples. Static: kernel, the output's sizes. Returns the maxima and their flat indices.
@functools.partial(Op, "FractionalMaxPool")
def FRACTIONAL_MAX_POOL(x, samples, kernel, outs):
    """Windows of one size that begin at places drawn for each channel: `samples` (N, C, axes) are in [0, 1)."""
    n = len(kernel)
    lead = x.shape[: x.ndim - n]
    for i, (k, out) in enumerate(zip(kernel, outs)):
        if k + out - 1 > x.shape[x.ndim - n + i]:
            raise ValueError(f"windows of {kernel} and an output of {outs} don't fit an input of shape {x.shape}.")
    flat = jnp.zeros((*lead, *(1,) * (2 * n)), jnp.int32)
    for i, (k, out) in enumerate(zip(kernel, outs)):
        size = x.shape[x.ndim - n + i]
        # On two axes, the last one's number comes first.
        u = samples[..., 1 - i if n == 2 else i][..., None]
        alpha = (size - k) / (out - 1) if out > 1 else 0.0
        at = jnp.arange(out)
        starts = jnp.floor((at + u) * alpha).astype(jnp.int32) - jnp.floor(u * alpha).astype(jnp.int32)
        starts = jnp.where(at == out - 1, size - k, starts)
        places = starts[..., None] + jnp.arange(k)
        shape = [1] * (2 * n)
        shape[i], shape[n + i] = out, k
        flat = flat * size + places.reshape(*lead, *shape)
    flat = flat.reshape(*lead, *outs, -1)
    values = jnp.take_along_axis(x.reshape(*lead, -1), flat.reshape(*lead, -1), -1).reshape(flat.shape)
    first = jnp.argmax(values, -1, keepdims=True)
    index = jnp.take_along_axis(flat, first, -1)[..., 0]
    return pick(x, index, n), index.astype(mstype.to_jax(mstype.int64))
