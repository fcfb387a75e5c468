"""Operators that move blocks between axes: space, depth, batch, sliding windows."""

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.errors import describe
from msjax.ops.dispatch.operator import freeze, operator
from msjax.ops.function.array_func.casting import ints

__all__ = ["batch_to_space_nd", "col2im", "fold", "space_to_batch_nd", "unfold"]

# ---- sliding windows


def _pair(value, name, who, lowest=1):
    """Two ints of an int or a pair."""
    pair = ints(value)
    pair = pair * 2 if len(pair) == 1 else pair
    if any(not isinstance(n, int) or isinstance(n, bool) for n in pair):
        raise TypeError(f"For '{who}', '{name}' should be one or two ints, but got {describe(value)}.")
    if len(pair) != 2 or min(pair) < lowest:
        raise ValueError(f"For '{who}', '{name}' should be one or two ints of at least {lowest}, but got {value}.")
    return pair


def _windows(x, kernel, dilation, padding, stride):
    n, c = x.shape[:2]
    x = jnp.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    steps = [(s - d * (k - 1) - 1) // t + 1 for s, k, d, t in zip(x.shape[2:], kernel, dilation, stride)]
    if min(steps) < 1:
        raise ValueError(f"A window of {kernel} with dilation {dilation} is larger than the padded Tensor, {x.shape[2:]}.")
    parts = []
    for i in range(kernel[0]):
        for j in range(kernel[1]):
            first = (i * dilation[0], j * dilation[1])
            last = [f + (m - 1) * t + 1 for f, m, t in zip(first, steps, stride)]
            parts.append(jax.lax.slice(x, (0, 0, *first), (n, c, *last), (1, 1, *stride)))
    return jnp.stack(parts, 2).reshape(n, c, kernel[0] * kernel[1], steps[0] * steps[1])


@operator(name="Im2Col", int_grad=True)
def im2col(x, kernel, dilation, padding, stride):
    """Sliding windows of images: (N, C, H, W) to (N, C, elements of a window, number of windows)."""
    return _windows(x, kernel, dilation, padding, stride)


@operator(name="Col2Im", int_grad=True)
def _col2im(x, size, kernel, dilation, padding, stride):
    image = jax.ShapeDtypeStruct((*x.shape[:2], *size), x.dtype)
    # Summing windows into an image is the transpose of taking them out of it.
    put = jax.linear_transpose(lambda v: _windows(v, kernel, dilation, padding, stride), image)
    return put(x)[0]


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Sliding windows of images, each as a column.

    Args:
        input (Tensor): of shape (N, C, H, W).
        kernel_size, dilation, padding, stride (int or tuple of two): of the windows. Default: 1, 0 and 1 for the last three.

    Returns:
        A Tensor of shape (N, C * kernel height * kernel width, number of windows).

    Raises:
        ValueError: the window is larger than the image.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> ops.unfold(ops.ones((1, 2, 3, 3)), 2).shape
        (1, 8, 4)
    """
    if not isinstance(input, Tensor) or input.ndim != 4:
        raise ValueError(f"For 'unfold', 'input' should be a Tensor of four axes, but got {describe(input)}.")
    sizes = _sizes(kernel_size, dilation, padding, stride, "unfold")
    out = im2col(input, *sizes)
    n, c, k, windows = out.shape
    return out.reshape((n, c * k, windows))


def _sizes(kernel_size, dilation, padding, stride, who):
    return (
        _pair(kernel_size, "kernel_size", who),
        _pair(dilation, "dilation", who),
        _pair(padding, "padding", who, 0),
        _pair(stride, "stride", who),
    )


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Images from sliding windows, which are added where they overlap: the transpose of `unfold`.

    Args:
        input (Tensor): of shape (N, C * kernel height * kernel width, number of windows).
        output_size (Tensor or tuple): height and width of the images.
        kernel_size, dilation, padding, stride (int or tuple of two): of the windows.

    Returns:
        A Tensor of shape (N, C, height, width).
    """
    kernel, *rest = _sizes(kernel_size, dilation, padding, stride, "fold")
    n, ck, windows = input.shape
    k = kernel[0] * kernel[1]
    if ck % k:
        raise ValueError(f"For 'fold', axis 1 of 'input', of size {ck}, should be a multiple of the window's {k} elements.")
    return _col2im(input.reshape((n, ck // k, k, windows)), ints(output_size), kernel, *rest)


def col2im(input_x, output_size, kernel_size, dilation, padding_value, stride):
    """Images from sliding windows of shape (N, C, elements of a window, number of windows), added where they overlap."""
    kernel, *rest = _sizes(kernel_size, dilation, padding_value, stride, "col2im")
    return _col2im(input_x, ints(output_size), kernel, *rest)


# ---- space and depth


@operator(name="DepthToSpace", int_grad=True)
def depth_to_space(x, block_size):
    """Blocks of channels as squares of pixels: (N, C * b * b, H, W) to (N, C, H * b, W * b)."""
    n, c, h, w = x.shape
    b = block_size
    if c % (b * b):
        raise ValueError(f"The channels, {c}, should be a multiple of {b * b}.")
    x = x.reshape(n, b, b, c // (b * b), h, w)
    return x.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)


@operator(name="SpaceToDepth", int_grad=True)
def space_to_depth(x, block_size):
    """Squares of pixels as blocks of channels: (N, C, H * b, W * b) to (N, C * b * b, H, W)."""
    n, c, h, w = x.shape
    b = block_size
    if h % b or w % b:
        raise ValueError(f"Height {h} and width {w} should be multiples of {b}.")
    x = x.reshape(n, c, h // b, b, w // b, b)
    return x.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


# ---- space and batch


@operator(name="SpaceToBatchND", int_grad=True)
def _space_to_batch(x, block, paddings):
    first = x.ndim - len(block)
    x = jnp.pad(x, [(0, 0)] * first + list(paddings))
    if any(n % b for n, b in zip(x.shape[first:], block)):
        raise ValueError(f"The padded axes {x.shape[first:]} should be multiples of the block {block}.")
    split = [m for n, b in zip(x.shape[first:], block) for m in (n // b, b)]
    inner = [n // b for n, b in zip(x.shape[first:], block)]
    x = x.reshape(*x.shape[:first], *split)
    blocks = [first + 2 * i + 1 for i in range(len(block))]
    rest = [first + 2 * i for i in range(len(block))]
    x = x.transpose(*blocks, *range(first), *rest)
    return x.reshape(-1, *x.shape[len(block) + 1 : len(block) + first], *inner)


@operator(name="BatchToSpaceND", int_grad=True)
def _batch_to_space(x, block, crops):
    first, m = x.ndim - len(block), len(block)
    count = 1
    for b in block:
        count *= b
    if x.shape[0] % count:
        raise ValueError(f"The batch, {x.shape[0]}, should be a multiple of {count}.")
    y = x.reshape(*block, x.shape[0] // count, *x.shape[1:])
    order = list(range(m, m + first))
    for i in range(m):
        order += [m + first + i, i]
    y = y.transpose(*order).reshape(x.shape[0] // count, *x.shape[1:first], *(n * b for n, b in zip(x.shape[first:], block)))
    index = [slice(None)] * first + [slice(a, y.shape[first + i] - b) for i, (a, b) in enumerate(crops)]
    return y[tuple(index)]


def _block(block, axes, pairs, who):
    block = ints(block)
    block = block * axes if len(block) == 1 else block
    pairs = freeze(pairs)
    if len(block) != len(pairs):
        raise ValueError(f"For '{who}', there should be a pair of numbers for each axis of the block {block}, but got {pairs}.")
    return block, pairs


def space_to_batch_nd(input_x, block_size, paddings):
    """Blocks of the last axes moved into the batch.

    Args:
        input_x (Tensor): of shape (N, C, H, W).
        block_size (int or list): the size of a block along each of the last axes.
        paddings (tuple or list): (before, after) for each of them, filled with zeros.
    """
    return _space_to_batch(input_x, *_block(block_size, 2, paddings, "space_to_batch_nd"))


def batch_to_space_nd(input_x, block_shape, crops):
    """Parts of the batch moved back into blocks of the last axes: the opposite of `space_to_batch_nd`.

    Args:
        input_x (Tensor): of shape (N, C, H, W).
        block_shape (int or list): the size of a block along each of the last axes.
        crops (tuple or list): (before, after) for each of them, cut off.
    """
    return _batch_to_space(input_x, *_block(block_shape, 2, crops, "batch_to_space_nd"))
