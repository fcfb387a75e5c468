"""Kernels of convolutions, with faster forms for CPUs."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp

from msjax.common.typing import TensorLike
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.op import Op
from msjax.engine.settings.precision import conv_precision
from msjax.ops.dispatch.platforms import on_cpu
from msjax.ops.dispatch.promotion import broadcast, kind_of
from msjax.ops.function.nn_func.depthwise import (
    Windows,
    convolve_each_channel,
    gradient_of_image,
    gradient_of_weight,
    tangent_of_each_channel,
)
from msjax.ops.function.nn_func.separate_windows import rows_of_tiles, tiles
from msjax.ops.function.nn_func.sliding import Ints, out_sizes, pad_spatial, pads_and_sizes, shifted
from msjax.ops.function.nn_func.weight_gradients import elements_of_windows, examples_in_a_piece, gradient_by_pieces
from msjax.ops.function.nn_func.wide_windows import (
    columns,
    columns_made_again,
    divided_by_xla,
    in_single_precision,
    narrow,
    on_one_core,
    side_by_side,
    turned_columns,
    wide_windows,
)

_LAYOUT = {3: ("NCH", "OIH", "NCH"), 4: ("NCHW", "OIHW", "NCHW"), 5: ("NCDHW", "OIDHW", "NCDHW")}
# Windows with more positions than this are not unrolled.
_MAX_TAPS = 64
# How many elements a window has at most for `_few_columns`, how many the windows have together that it makes at once, and from how many
# on the gradient of the weight is such a product, too.
_FEW_ROWS = 32
_AT_ONCE = 1 << 18
_MANY_COLUMNS = 1 << 20


def _check_operands(x, weight):
    if x.ndim not in _LAYOUT or x.ndim != weight.ndim:
        raise ValueError(f"input and weight should both have {weight.ndim} axes, but the input's shape is {x.shape}.")
    if kind_of(x.dtype) != kind_of(weight.dtype):
        raise TypeError(f"input and weight should be of one kind of dtype, but they are {x.dtype} and {weight.dtype}.")


def _conv(x, weight, bias, stride, padding, dilation, group):
    _check_operands(x, weight)
    if x.shape[1] != weight.shape[1] * group:
        raise RuntimeError(
            f"the input should have {weight.shape[1] * group} channels (axis 1), as the weight of shape {weight.shape} "
            f"with {group} group(s) says, but its shape is {x.shape}."
        )
    padding, _ = pads_and_sizes(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    out = convolve(x, weight.astype(x.dtype), stride, padding, dilation, group)
    return out if bias is None else out + bias.astype(x.dtype).reshape((1, -1) + (1,) * (x.ndim - 2))


def _conv_gradient(slots, x, weight, bias, stride, padding, dilation, group):
    """The output and its gradient (see `TracedVJP`), in forms that XLA compiles faster than what jax derives.

    It keeps the operands only, and computes rearranged copies of them again.
    """
    out = _conv(x, weight, bias, stride, padding, dilation, group)
    pads, _ = pads_and_sizes(x.shape[2:], weight.shape[2:], stride, padding, dilation)

    def pull(x, weight, ct):
        d_x, d_weight = _gradients(x, weight.astype(x.dtype), ct, (0 in slots, 1 in slots), stride, pads, dilation, group)
        return d_x, d_weight, ct.sum((0, *range(2, ct.ndim))) if 2 in slots else None

    return out, jax.tree_util.Partial(pull, x, weight)


_conv.gradient = _conv_gradient


def _gradients(x, weight, ct, need, *settings):
    """The gradients of `convolve` with respect to the image and the weight, None where `need` is False."""
    rewrite = _cpu_rewrite(x.shape, weight.shape, *settings)

    def plain(x, weight, ct):
        return _transposes(_plain, _plain, x, weight, ct, need, settings)

    if rewrite is None and not (need[1] and examples_in_a_piece(x, weight, *settings)):
        return plain(x, weight, ct)
    return on_cpu(lambda x, weight, ct: _gradients_on_cpu(rewrite, x, weight, ct, need, *settings), plain, x, weight, ct)


def _gradients_on_cpu(rewrite, x, weight, ct, need, stride, padding, dilation, group):
    if rewrite is _shifted_sums:
        if weight.shape[0] > group:
            return _transposes(rewrite, rewrite, x, weight, ct, need, (stride, padding, dilation, group))
        windows = Windows(x.shape[2:], weight.shape[2:], stride, padding, dilation)
        d_x = gradient_of_image(ct, weight, windows) if need[0] else None
        return d_x, gradient_of_weight(x, ct, windows) if need[1] else None
    pixels = math.prod(weight.shape[2:]) == 1 < math.prod(x.shape[2:])
    if rewrite is tiles and pixels and set(stride) == {1} and not any(map(any, padding)):
        d_x, d_weight = _gradients_of_pixels(x, weight, ct)
        return d_x if need[0] else None, d_weight if need[1] else None
    of_image, of_weight = _tangents(rewrite)
    settings = stride, padding, dilation, group
    count = (
        examples_in_a_piece(x, weight, *settings)
        if need[1] and rewrite in (None, _side_by_side, _wide_windows, _rows, _few_columns)
        else 0
    )
    turned = need[0] and rewrite is _wide_windows
    d_x, d_weight = _transposes(of_image, of_weight, x, weight, ct, (need[0] and not turned, need[1] and not count), settings)
    if turned:
        # The transpose of a convolution with steps of several pixels would put zeros between them.
        pads = tuple((k - 1 - low, k - 1 - high) for k, (low, high) in zip(weight.shape[2:], padding))
        mirrored = jnp.swapaxes(jax.lax.rev(weight, (2, 3)), 0, 1)
        d_x = _convolve_on_cpu(ct, mirrored, stride, pads, dilation, group)
    if count:
        d_weight = gradient_by_pieces(
            x, weight, ct, settings, count, lambda *a: _transposes(_plain, _plain, *a, (False, True), settings)[1]
        )
    return d_x, d_weight


def _transposes(of_image, of_weight, x, weight, ct, need, settings):
    (d_x,) = jax.linear_transpose(lambda x: of_image(x, weight, *settings), x)(ct) if need[0] else (None,)
    (d_weight,) = jax.linear_transpose(lambda weight: of_weight(x, weight, *settings), weight)(ct) if need[1] else (None,)
    return d_x, d_weight


# A product with the transposed weight is turned round, as in `turned_columns`, for so few pixels of all examples: 576x96 with 4 takes 0.4 of the
# time, with 32 0.75, 512x512 with 4 a third. Of more, copies cost more than the product: 1.0 to 1.5 times the time.
_FEW_PIXELS = 32


def _gradients_of_pixels(x, weight, ct):
    """The gradients for a kernel of size 1: two products, for which one copy of each array is enough."""
    image, output = (jnp.swapaxes(a, 0, 1).reshape(a.shape[1], -1) for a in (x, ct))
    matrix = weight.reshape(weight.shape[:2])
    if output.shape[1] <= _FEW_PIXELS:
        d_x = jax.lax.dot_general(output.T, matrix, (((1,), (0,)), ((), ())))
        d_x = jax.lax.optimization_barrier(d_x).T
    else:
        d_x = jax.lax.dot_general(matrix, output, (((0,), (0,)), ((), ())))
    d_weight = jax.lax.dot_general(output, image, (((1,), (1,)), ((), ())))
    return jnp.swapaxes(d_x.reshape(x.shape[1], x.shape[0], *x.shape[2:]), 0, 1), d_weight.reshape(weight.shape)


def convolve(x: TensorLike, weight: TensorLike, stride: Ints, padding: int | Ints, dilation: Ints, group: int) -> JaxArray:
    """The convolution of jax arrays; `padding` has a pair for each axis.

    XLA's convolutions for CPUs are slow or very slow in common cases: 1x1 and depthwise kernels, windows as large as
    the image, gradients of grouped kernels (measured: 2 to 200 times). There, products and shifted sums are used.
    """
    settings = stride, padding, dilation, group
    rewrite = _cpu_rewrite(x.shape, weight.shape, *settings)

    def run(kernel, x, weight):
        if kernel is _plain:
            return _plain(x, weight, *settings)
        return on_cpu(_of_operands(kernel, settings), _of_operands(_plain, settings), x, weight)

    if rewrite in _TANGENTS:
        return _with_tangents(rewrite, run)(x, weight)
    return run(_plain if rewrite is None else _convolve_on_cpu, x, weight)


def _convolve_on_cpu(x, weight, *settings):
    rewrite = _cpu_rewrite(x.shape, weight.shape, *settings)
    if rewrite is None:
        return _plain(x, weight, *settings)
    if rewrite in _TANGENTS:
        return _with_tangents(rewrite, lambda kernel, x, weight: kernel(x, weight, *settings))(x, weight)
    if rewrite in (tiles, _split_groups):
        return rewrite(x, weight, *settings)
    # The intermediate copies are several times as large as the input: recompute them in the backward pass.
    return jax.checkpoint(_of_operands(rewrite, settings), prevent_cse=False)(x, weight)


def _of_operands(kernel, settings):
    return lambda x, weight: kernel(x, weight, *settings)


def _plain(x, weight, stride, padding, dilation, group):
    return jax.lax.conv_general_dilated(
        x,
        weight,
        window_strides=stride,
        padding=padding,
        rhs_dilation=dilation,
        dimension_numbers=_LAYOUT[x.ndim],
        feature_group_count=group,
        precision=conv_precision(),
    )


def _with_tangents(rewrite, run):
    """A convolution whose derivatives are computed in other ways than itself; `run` calls a kernel with its operands."""
    forward, of_image, of_weight = _TANGENTS[rewrite]

    @jax.custom_jvp
    def convolved(x, weight):
        return run(forward, x, weight)

    def convolved_jvp(primals, tangents):
        (x, weight), (d_x, d_weight) = primals, tangents
        along_x = None if _is_zero(d_x) else run(of_image, d_x, weight)
        along_weight = None if _is_zero(d_weight) else run(of_weight, x, d_weight)
        found = [a for a in (along_x, along_weight) if a is not None]
        out = convolved(x, weight)
        return out, sum(found) if found else jnp.zeros_like(out)

    convolved.defjvp(convolved_jvp, symbolic_zeros=True)
    return convolved


def _is_zero(tangent):
    return isinstance(tangent, jax.custom_derivatives.SymbolicZero)


# Which kernel is chosen for which shapes: `python -m tests.bench.kernels` compares each with XLA's. Tried on CPUs, and not worth it:
# * columns put together one axis after the other compile faster, but run two to three times as long;
# * Winograd's products of tiles of 2x2 as a program of XLA's: 1.02 to 1.22 of XLA's convolution and its gradients, 64 to 256 channels;
# * for one to three channels, the sum of shifted images and products of whole rows take 0.2 of XLA's time alone, but 1.8 to 2.1 times as
#   long in a step, since XLA computes them with the layers around, with an optimization barrier, too;
# * for the gradient of the weight, columns of a few examples (1.1 to 1.5 times as long as XLA's own gradient of as many);
# * windows of rows along the width only, and a sum over the height (1.0 to 1.7 times as long; the gradient of the image 0.8 to 1.6);
# * a dependency from the last use of a weight to its update, so that XLA need not copy the weight: 20 of 36 copies go, 2 % of ResNet-18.
def _cpu_rewrite(x_shape, weight_shape, stride, padding, dilation, group):
    """The function that computes this convolution faster on CPUs than XLA's; None for none."""
    sizes, kernel = x_shape[2:], weight_shape[2:]
    out = out_sizes(sizes, kernel, stride, padding, dilation)
    if 0 in x_shape or min(out) <= 0:
        return None
    taps = math.prod(kernel)
    if group > 1:
        if weight_shape[1] == 1 and taps <= _MAX_TAPS:
            return _shifted_sums
        if group <= 8:
            return _split_groups
        return _grouped_columns if taps <= _MAX_TAPS else _split_groups
    # Windows that don't overlap, or only one window.
    if all((k == 1 or s == k or o == 1) and (d == 1 or k == 1) for k, s, o, d in zip(kernel, stride, out, dilation)):
        return tiles
    if taps > _MAX_TAPS:
        return None
    # Images smaller than the window miss XLA's fast convolution altogether.
    if any(min(n, o) < (k - 1) * d + 1 for n, o, k, d in zip(sizes, out, kernel, dilation)):
        return columns
    # XLA rearranges the weight for its own convolution, and the weight's gradient back. Where the weight has half as many elements as
    # the columns, or more, that takes longer than making these.
    if 2 * weight_shape[0] >= x_shape[0] * math.prod(out):
        return columns
    channels = x_shape[1]
    if channels < 4 and channels * taps <= _FEW_ROWS:
        return _few_columns
    if 4 <= channels <= 8 and channels * taps <= 256:
        return _rows
    if narrow(x_shape, weight_shape, stride, dilation):
        return None if divided_by_xla(x_shape, weight_shape) else _wide_windows
    return _side_by_side if on_one_core(x_shape, weight_shape, stride, dilation) else None


def _split_groups(x, weight, stride, padding, dilation, group, kernel=None):
    """A convolution for each group, by `kernel` or the one that is chosen for a group."""
    pieces = zip(jnp.split(x, group, 1), jnp.split(weight, group, 0))
    return jnp.concatenate([(kernel or _convolve_on_cpu)(a, w, stride, padding, dilation, 1) for a, w in pieces], 1)


def _tangents_of_groups(number):
    """Each group along a tangent: of the kernel that is chosen for it, the tangent with that number in `_tangents`."""

    def of_group(x, weight, *settings):
        return _tangents(_cpu_rewrite(x.shape, weight.shape, *settings))[number](x, weight, *settings)

    return functools.partial(_split_groups, kernel=of_group)


def _shifted_sums(x, weight, stride, padding, dilation, group, sums=convolve_each_channel):
    """A kernel of its own for each channel: the sum of shifted inputs, each weighted."""
    windows = Windows(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    times = weight.shape[0] // x.shape[1]  # each channel has so many kernels
    return sums(jnp.repeat(x, times, 1) if times > 1 else x, weight, windows)


_tangent_of_shifted_sums = functools.partial(_shifted_sums, sums=tangent_of_each_channel)


def _shifted_sums_of_output(ct, weight, windows, group):
    """The gradient of `_shifted_sums` with respect to the image."""
    d_x = gradient_of_image(ct, weight, windows)
    return d_x if group == ct.shape[1] else d_x.reshape(ct.shape[0], group, -1, *windows.sizes).sum(2)


def _by_pieces(kernel, count, x, weight, *settings):
    """A kernel for `count` examples at a time, so that their windows stay in the cache."""

    run = jax.checkpoint(_of_operands(kernel, settings), prevent_cse=False)
    if count >= len(x) or any(jax.typeof(x).sharding.spec):  # over devices, by explicit axes of a mesh
        return run(x, weight)
    full = len(x) - len(x) % count
    parts = jax.lax.map(lambda part: run(part, weight), x[:full].reshape(-1, count, *x.shape[1:]))
    parts = parts.reshape(-1, *parts.shape[2:])
    return parts if full == len(x) else jnp.concatenate([parts, run(x[full:], weight)])


def _few_columns(x, weight, *settings):
    """As `columns`, for one to three channels, as of pictures."""
    return _by_pieces(columns, _examples_at_once(x.shape, weight.shape, *settings), x, weight, *settings)


def _few_rows(x, weight, *settings):
    """As `_rows`, in pieces where there are many."""
    if x.shape[0] * elements_of_windows(x.shape, weight.shape, *settings) <= _MANY_COLUMNS:
        return _rows(x, weight, *settings)
    return _by_pieces(_rows, _examples_at_once(x.shape, weight.shape, *settings), x, weight, *settings)


def _examples_at_once(x_shape, weight_shape, *settings):
    """For how many examples columns are made at once: a divisor of the batch, where there is one that isn't much smaller."""
    most = max(1, _AT_ONCE // elements_of_windows(x_shape, weight_shape, *settings))
    return next((count for count in range(most, most // 2, -1) if x_shape[0] % count == 0), most)


def _by_columns_where_many(x, weight, *settings):
    """XLA's own, or where that is slower, `_few_columns`."""
    many = x.shape[0] * elements_of_windows(x.shape, weight.shape, *settings) > _MANY_COLUMNS
    return (_few_columns if many else _plain)(x, weight, *settings)


@in_single_precision
def _rows(x, weight, stride, padding, dilation, group):
    """The windows as rows of a matrix, and one product."""
    kernel = weight.shape[2:]
    rows = jnp.concatenate(shifted(jnp.moveaxis(x, 1, -1), kernel, stride, padding, dilation, 1), -1)
    out = rows @ jnp.moveaxis(weight, (0, 1), (-1, -2)).reshape(-1, weight.shape[0])
    return jnp.moveaxis(out, -1, 1)


def _wide_windows(x, weight, *settings):
    """Several neighbouring pixels of the result at once, as channels of windows that are wider by as many and so far apart.

    YNNPACK computes the wider product in 0.25 to 0.8 of the time that Eigen, to which XLA leaves 16 channels or fewer, takes for the narrow
    one. Images with infinite or NaN pixels go to XLA's convolution: times the zeros around a window, one would make NaN of its neighbours.
    """
    if not _in_one_row(x):
        return _plain(x, weight, *settings)

    wide, plain = _of_operands(wide_windows, settings), _of_operands(_plain, settings)
    # The intermediate copies are several times as large as the image: recompute them in the backward pass.
    run = jax.checkpoint(lambda x, weight: jax.lax.cond(jnp.isfinite(x).all(), wide, plain, x, weight), prevent_cse=False)
    return run(x, weight)


def _in_one_row(x):
    """Whether images can lie side by side: not those of half precision, which XLA computes otherwise, or over devices, by explicit axes of a mesh."""
    return x.dtype == jnp.float32 and not any(jax.typeof(x).sharding.spec)


def _side_by_side(x, weight, *settings):
    """XLA's convolution of all images as one wide image, where it would leave all but one core idle."""
    return (side_by_side if _in_one_row(x) else _plain)(x, weight, *settings)


def _side_by_side_without_steps(x, weight, stride, *settings):
    """As `_side_by_side`, for the gradient of the image: with steps, it would put zeros between the pixels of the wide image."""
    return (_side_by_side if set(stride) == {1} else _plain)(x, weight, stride, *settings)


def _wide_or(other):
    """`_wide_windows` of few channels, else the other kernel."""

    def kernel(x, weight, stride, padding, dilation, group):
        chosen = _wide_windows if narrow(x.shape, weight.shape, stride, dilation) else other
        return chosen(x, weight, stride, padding, dilation, group)

    return kernel


# What computes the result, and the results along tangents of the image and of the weight, whose transposes are the gradients. A product
# may be faster than XLA's convolution only for some of them, and shifted sums are, to jax's derivatives, one operation.
_TANGENTS = {
    columns: (columns, turned_columns, columns_made_again),
    _rows: (_wide_or(_plain), _few_rows, _plain),
    _wide_windows: (_wide_windows, _plain, _plain),
    _side_by_side: (_side_by_side, _side_by_side_without_steps, _plain),
    _few_columns: (_wide_or(_few_columns), _few_columns, _by_columns_where_many),
    _shifted_sums: (_shifted_sums, _tangent_of_shifted_sums, _tangent_of_shifted_sums),
}


def _tangents(rewrite):
    """Of what the gradients of the image and of the weight are the transposes."""
    if rewrite is tiles:  # whose own derivatives are those that jax finds
        return rows_of_tiles, rows_of_tiles
    if rewrite is _split_groups:
        return _tangents_of_groups(0), _tangents_of_groups(1)
    return _TANGENTS.get(rewrite, (_convolve_on_cpu,) * 3)[1:]


@in_single_precision
def _grouped_columns(x, weight, stride, padding, dilation, group):
    """As `_rows`, with a product for each group."""
    outs, ins, *kernel = weight.shape
    rows = jnp.stack(shifted(jnp.moveaxis(x, 1, -1), kernel, stride, padding, dilation, 1), -2)
    rows = rows.reshape(*rows.shape[:-1], group, ins)
    weight = weight.reshape(group, outs // group, ins, -1)
    out = jnp.einsum("...kgi,goik->...go", rows, weight)
    return jnp.moveaxis(out.reshape(*out.shape[:-2], outs), -1, 1)


def _conv_transpose(x, weight, bias, stride, padding, dilation, group, sizes, tail=()):
    _check_operands(x, weight)
    if x.shape[1] != weight.shape[0]:
        raise RuntimeError(
            f"the input should have {weight.shape[0]} channels (axis 1), as the weight of shape {weight.shape} says, "
            f"but its shape is {x.shape}."
        )
    padding, expected = pads_and_sizes(sizes, weight.shape[2:], stride, padding, dilation)
    if expected != x.shape[2:]:
        raise ValueError(f"an output of {sizes} belongs to an input of {expected}, but the input's shape is {x.shape}.")
    out = deconvolve(x, weight.astype(x.dtype), stride, padding, dilation, group, sizes)
    if bias is not None:
        out = out + broadcast(bias.astype(x.dtype).reshape((1, -1) + (1,) * (x.ndim - 2)), out.shape)
    return pad_spatial(out, [(0, n) for n in tail]) if any(tail) else out


def deconvolve(
    x: TensorLike, weight: TensorLike, stride: Ints, padding: int | Ints, dilation: Ints, group: int, sizes: Ints
) -> JaxArray:
    """The gradient of a convolution of an image of `sizes` with respect to the image."""
    image = jax.ShapeDtypeStruct((x.shape[0], weight.shape[1] * group, *sizes), x.dtype)
    settings = stride, padding, dilation, group
    rewrite = _cpu_rewrite(image.shape, weight.shape, *settings)

    def transposed(of_image):
        return lambda x, weight: jax.linear_transpose(lambda im: of_image(im, weight, *settings), image)(x)[0]

    if rewrite is None:
        return transposed(_plain)(x, weight)
    if rewrite is _shifted_sums:
        windows = Windows(sizes, weight.shape[2:], stride, padding, dilation)
        own = lambda x, weight: _shifted_sums_of_output(x, weight, windows, group)  # noqa: E731
    else:
        own = transposed(_tangents(rewrite)[0])
    return on_cpu(own, transposed(_plain), x, weight)


# Operands: input, weight, bias or None. Static: stride, padding pairs or "same", dilation, group.
CONV = Op("Conv", _conv, shape_error=RuntimeError)
# Likewise; in the end, the spatial sizes of the output, and how many zeros to append to each axis.
CONV_TRANSPOSE = Op("ConvTranspose", _conv_transpose, shape_error=RuntimeError)
# The same with the weights of MindSpore's layers of one axis: (out, in / groups, 1, size).
CONV_1D = Op("Conv1d", lambda x, weight, *rest: _conv(x, weight[:, :, 0], *rest), shape_error=RuntimeError)
CONV_TRANSPOSE_1D = Op(
    "Conv1dTranspose", lambda x, weight, *rest: _conv_transpose(x, weight[:, :, 0], *rest), shape_error=RuntimeError
)
