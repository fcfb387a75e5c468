"""Pooling over windows of the last axes, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import jax

from msjax.common.random import default_generator
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_int, check_kind, check_number, check_one_given, check_rank, check_type, check_value
from msjax.core.base.typing import Axes, PadWidths
from msjax.engine.autograd.op import apply
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.nn_func.pooling_kernels import (
    ADAPTIVE_AVG_POOL,
    ADAPTIVE_MAX_POOL,
    AVG_POOL,
    FRACTIONAL_MAX_POOL,
    LP_POOL,
    MAX_POOL,
    MAX_POOL_WITH_INDEX,
    MAX_UNPOOL,
)
from msjax.ops.function.nn_func.sliding import Ints, ceil_pads, n_ints

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool2d_ext", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d",
    "max_pool2d", "max_pool3d", "fractional_max_pool2d", "fractional_max_pool3d", "max_unpool1d", "max_unpool2d",
    "max_unpool3d",
]  # fmt: skip


def check_tensor(value: Any, name: str, ndims: tuple[int, ...], who: str) -> None:
    """TypeError unless the value is a Tensor, ValueError unless it has one of so many axes."""
    check_type(value, Tensor, name, who)
    check_rank(value, ndims, name, who)


def max_pool(
    x: TensorLike, kernel: Ints, stride: Ints, pads: PadWidths | str, dilation: Ints, ceil_mode: bool, return_indices: bool
) -> Tensor | tuple[Tensor, Tensor]:
    """Max-pooling with a number for each axis; `pads` are pairs, or "same"."""
    if ceil_mode and not isinstance(pads, str):
        pads = ceil_pads(x.shape[x.ndim - len(kernel) :], kernel, stride, pads, dilation)
    return apply(MAX_POOL_WITH_INDEX if return_indices else MAX_POOL, (x,), (kernel, stride, pads, dilation))


def avg_pool(
    x: TensorLike,
    kernel: Ints,
    stride: Ints,
    pads: PadWidths | str,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
    who: str,
) -> Tensor:
    """Average pooling with a number for each axis; `pads` are pairs, or "same"."""
    counted = pads if count_include_pad else ((0, 0),) * len(kernel)
    if not isinstance(pads, str):
        for k, p in zip(kernel, pads):
            check_value(pads, sum(p) <= k, f"be at most half of the window, {kernel}", "padding", who)
        if ceil_mode:
            pads = ceil_pads(x.shape[x.ndim - len(kernel) :], kernel, stride, pads)
    return apply(AVG_POOL, (x,), (kernel, stride, pads, counted, divisor))


def _pairs(padding, n, who):
    """Pairs from one number for all sides, or two for each axis."""
    padding = freeze(padding)
    if isinstance(padding, tuple) and len(padding) == 2 * n:
        flat = n_ints(padding, 2 * n, "padding", who, lowest=0)
        return tuple(zip(flat[::2], flat[1::2]))
    check_value(padding, not isinstance(padding, tuple) or len(padding) == 1, f"be an int or {2 * n} ints", "padding", who)
    p = padding[0] if isinstance(padding, tuple) else padding
    return tuple((q, q) for q in n_ints(p, n, "padding", who, lowest=0))


def _avg(n, who, input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor):
    check_tensor(input_x, "input_x", (n + 2,), who)
    kernel = n_ints(kernel_size, n, "kernel_size", who)
    stride = n_ints(stride, n, "stride", who)
    return avg_pool(input_x, kernel, stride, _pairs(padding, n, who), ceil_mode, count_include_pad, divisor or None, who)


def avg_pool1d(
    input_x: Tensor,
    kernel_size: Axes = 1,
    stride: Axes = 1,
    padding: Axes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of an input (N, C, L).

    Args:
        input_x (Tensor): of shape (N, C, L).
        kernel_size (int or tuple): Default: 1.
        stride (int or tuple): Default: 1.
        padding (int or tuple): zeros at both sides, or (left, right). Default: 0.
        ceil_mode (bool): whether the output's size is rounded up. Default: False.
        count_include_pad (bool): whether padding counts in the mean. Default: True.

    Raises:
        TypeError, ValueError: an argument of a wrong type, shape or value.

    Example:
        >>> print(ops.avg_pool1d(Tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2, 2))
        [[[1.5 3.5]]]
    """
    return _avg(1, "avg_pool1d", input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input_x: Tensor, kernel_size: Axes = 1, stride: Axes = 1,
    padding: Axes = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int = 0,
) -> Tensor:  # fmt: skip
    """The mean of each window of an input (N, C, H, W).

    Args:
        input_x (Tensor): of shape (N, C, H, W).
        kernel_size, stride (int or tuple): for both axes, or (height, width). Default: 1.
        padding (int or tuple): zeros at all sides, or (top, bottom, left, right). Default: 0.
        ceil_mode (bool): whether the output's sizes are rounded up. Default: False.
        count_include_pad (bool): whether padding counts in the mean. Default: True.
        divisor_override (int): if not 0, what sums are divided by. Default: 0.

    Example:
        >>> ops.avg_pool2d(ops.ones((1, 1, 4, 4)), 2, 2).shape
        (1, 1, 2, 2)
    """
    return _avg(2, "avg_pool2d", input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input_x: TensorLike, kernel_size: Axes = 1, stride: Axes = 1,
    padding: Axes = 0, ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int = 0,
) -> Tensor:  # fmt: skip
    """The mean of each window of an input (N, C, D, H, W); see `avg_pool2d`."""
    return _avg(3, "avg_pool3d", input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _max(n, who, x, kernel_size, stride, padding, dilation, return_indices, ceil_mode):
    check_tensor(x, "x", (n + 2,), who)
    kernel = n_ints(kernel_size, n, "kernel_size", who)
    stride = kernel if stride is None else n_ints(stride, n, "stride", who)
    pads = tuple((p, p) for p in n_ints(padding, n, "padding", who, lowest=0))
    dilation = n_ints(dilation, n, "dilation", who)
    return max_pool(x, kernel, stride, pads, dilation, ceil_mode, return_indices)


def max_pool2d(
    x: Tensor,
    kernel_size: Axes,
    stride: Axes | None = None,
    padding: Axes = 0,
    dilation: Axes = 1,
    return_indices: bool = False,
    ceil_mode: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest value of each window of an input (N, C, H, W); of equal ones, the first gets the gradient.

    Args:
        x (Tensor): of shape (N, C, H, W).
        kernel_size (int or tuple): for both axes, or (height, width).
        stride (int or tuple, optional): Default: the size of the window.
        padding (int or tuple): at both sides of each axis; never the largest value. Default: 0.
        dilation (int or tuple): the distance of neighbouring elements in a window. Default: 1.
        return_indices (bool): whether to return, too, where the maxima are, counted in C order over (H, W).
        ceil_mode (bool): whether the output's sizes are rounded up. Default: False.

    Returns:
        Tensor of shape (N, C, H', W'), or with `return_indices` a tuple of that and an Int64 Tensor.

    Example:
        >>> print(ops.max_pool2d(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), 2))
        [[[[4.]]]]
    """
    return _max(2, "max_pool2d", x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def max_pool3d(
    x: TensorLike,
    kernel_size: Axes,
    stride: Axes | None = None,
    padding: Axes = 0,
    dilation: Axes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The largest value of each window of an input (N, C, D, H, W); see `max_pool2d`."""
    return _max(3, "max_pool3d", x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def _lp(n, who, x, norm_type, kernel_size, stride, ceil_mode):
    check_tensor(x, "x", (n + 1, n + 2) if n == 1 else (n + 2,), who)
    check_number(norm_type, "norm_type", who)
    check_value(norm_type, norm_type != 0, "not be 0", "norm_type", who)
    kernel = n_ints(kernel_size, n, "kernel_size", who)
    stride = kernel if stride is None else n_ints(stride, n, "stride", who)
    pads = counted = ((0, 0),) * n
    if ceil_mode:
        pads = ceil_pads(x.shape[x.ndim - n :], kernel, stride, pads)
    return apply(LP_POOL, (x,), (freeze(float(norm_type)), kernel, stride, pads, counted))


def lp_pool1d(x: Tensor, norm_type: float, kernel_size: Axes, stride: int | None = None, ceil_mode: bool = False) -> Tensor:
    """The p-norm of each window of an input (N, C, L) or (C, L): (sum of x^p)^(1/p).

    Args:
        x (Tensor): of shape (N, C, L) or (C, L).
        norm_type (int or float): p; not 0.
        kernel_size (int): the size of the window.
        stride (int, optional): Default: the size of the window.
        ceil_mode (bool): whether the output's size is rounded up. Default: False.

    Example:
        >>> print(ops.lp_pool1d(Tensor([[[3.0, 4.0]]]), 2, 2))
        [[[5.]]]
    """
    return _lp(1, "lp_pool1d", x, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    x: TensorLike,
    norm_type: float,
    kernel_size: Axes,
    stride: Axes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norm of each window of an input (N, C, H, W): (sum of x^p)^(1/p); see `lp_pool1d`."""
    return _lp(2, "lp_pool2d", x, norm_type, kernel_size, stride, ceil_mode)


def _adaptive_sizes(output_size, sizes, who):
    """The output's sizes of adaptive pooling: one for all axes or one for each, where None keeps an axis as it is."""
    n = len(sizes)
    values = freeze(output_size)
    values = values if isinstance(values, tuple) else (values,) * n
    fits = all(v is None or type(v) is int for v in values)
    check_kind(output_size, fits, f"be an int or {n} ints or None", "output_size", who)
    if len(values) != n or any(v is not None and v <= 0 for v in values):
        raise ValueError(f"For '{who}', 'output_size' should be a positive int or {n} of them or None, but got {output_size}.")
    return tuple([s if v is None else v for v, s in zip(values, sizes)])


def _adaptive_1d(op, input, output_size, who):
    check_tensor(input, "input", (3,), who)
    check_int(output_size, "output_size", who)
    (out,) = _adaptive_sizes(output_size, input.shape[2:], who)
    check_value(out, not input.shape[2] % out, f"divide the input's last axis, {input.shape[2]}", "output_size", who)
    return apply(op, (input,), ((out,),))


def adaptive_avg_pool1d(input: Tensor, output_size: int) -> Tensor:
    """The means of `output_size` equal parts of the last axis of an input (N, C, L).

    Args:
        input (Tensor): of shape (N, C, L).
        output_size (int): has to divide L.

    Example:
        >>> print(ops.adaptive_avg_pool1d(Tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2))
        [[[1.5 3.5]]]
    """
    return _adaptive_1d(ADAPTIVE_AVG_POOL, input, output_size, "adaptive_avg_pool1d")


def _adaptive(op, n, input, output_size, who):
    check_tensor(input, "input", (n + 1, n + 2), who)
    return apply(op, (input,), (_adaptive_sizes(output_size, input.shape[-n:], who),))


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of windows, chosen so that the output has `output_size`, of an input (N, C, H, W) or (C, H, W).

    Args:
        input (Tensor): of shape (N, C, H, W) or (C, H, W).
        output_size (int or tuple): for both axes, or (height, width); None keeps an axis as it is.

    Example:
        >>> ops.adaptive_avg_pool2d(ops.ones((1, 2, 7, 8)), (3, None)).shape
        (1, 2, 3, 8)
    """
    return _adaptive(ADAPTIVE_AVG_POOL, 2, input, output_size, "adaptive_avg_pool2d")


def adaptive_avg_pool2d_ext(input: TensorLike, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The same as `adaptive_avg_pool2d`."""
    return _adaptive(ADAPTIVE_AVG_POOL, 2, input, output_size, "adaptive_avg_pool2d_ext")


def adaptive_avg_pool3d(input: TensorLike, output_size: int | Sequence[int | None] | None) -> Tensor:
    """The means of windows, chosen so that the output has `output_size`, of an input (N, C, D, H, W) or (C, D, H, W)."""
    return _adaptive(ADAPTIVE_AVG_POOL, 3, input, output_size, "adaptive_avg_pool3d")


def adaptive_max_pool1d(input: Tensor, output_size: int) -> Tensor:
    """The maxima of `output_size` equal parts of the last axis of an input (N, C, L).

    Args:
        input (Tensor): of shape (N, C, L).
        output_size (int): has to divide L.
    """
    return _adaptive_1d(ADAPTIVE_MAX_POOL, input, output_size, "adaptive_max_pool1d")[0]


def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> Tensor:
    """The maxima of windows, chosen so that the output has `output_size`, of an input (N, C, H, W) or (C, H, W).

    Args:
        input (Tensor): of shape (N, C, H, W) or (C, H, W).
        output_size (int or tuple): for both axes, or (height, width); None keeps an axis as it is.
        return_indices (bool): whether to return, too, where the maxima are, counted in C order over (H, W), as Int64.

    Example:
        >>> print(ops.adaptive_max_pool2d(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), (1, 2)))
        [[[[3. 4.]]]]
    """
    out = _adaptive(ADAPTIVE_MAX_POOL, 2, input, output_size, "adaptive_max_pool2d")
    return out if return_indices else out[0]


def adaptive_max_pool3d(
    input: TensorLike, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> tuple[Any | Tensor, Tensor | Any] | Tensor:
    """The maxima of windows, chosen so that the output has `output_size`, of an input (N, C, D, H, W) or (C, D, H, W).

    With `return_indices`, also where they are, counted in C order over (D, H, W), as Int32.
    """
    out, index = _adaptive(ADAPTIVE_MAX_POOL, 3, input, output_size, "adaptive_max_pool3d")
    return (out, index.int()) if return_indices else out


# ---- back to where the largest were, and windows at random places


class _Unpooling(Protocol):
    def __call__(
        self, x: TensorLike, indices: TensorLike, kernel_size: Axes, stride: Axes | None = None, padding: Axes = 0,
        output_size: Axes | None = None,
    ) -> Tensor: ...  # fmt: skip


def _unpool(n: int, sizes: str) -> _Unpooling:
    who = f"max_unpool{n}d"

    def call(
        x: TensorLike, indices: TensorLike, kernel_size: Axes, stride: Axes | None = None, padding: Axes = 0,
        output_size: Axes | None = None,
    ) -> Tensor:  # fmt: skip
        check_tensor(x, "x", (n + 1, n + 2), who)
        check_kind(indices, isinstance(indices, Tensor) and indices.dtype.kind == "i", "be a Tensor of integers", "indices", who)
        check_value(indices, indices.shape == x.shape, f"have the shape of 'x', {x.shape}", "indices", who)
        kernel = n_ints(kernel_size, n, "kernel_size", who)
        strides = kernel if stride in (None, 0) else n_ints(stride, n, "stride", who)
        pads = n_ints(padding, n, "padding", who, lowest=0)
        found = tuple([(s - 1) * t - 2 * p + k for s, t, p, k in zip(x.shape[x.ndim - n :], strides, pads, kernel)])
        if output_size:
            wanted = freeze(output_size)
            wanted = wanted[len(wanted) - n :] if len(wanted) == x.ndim else wanted
            fits = len(wanted) == n and all(s - t < w < s + t for s, t, w in zip(found, strides, wanted))
            check_value(output_size, fits, f"differ from {found} by less than the stride {strides}", "output_size", who)
            found = wanted
        return apply(MAX_UNPOOL, (x, indices), (found,))

    doc = f"""Zeros with the elements of `x` where max-pooling found them.

    Args:
        x (Tensor): of shape (N, C, {sizes}) or (C, {sizes}).
        indices (Tensor): of the same shape: the numbers that max-pooling returned.
        kernel_size, stride, padding (int or tuple): those of the max-pooling.
        output_size (tuple, optional): the shape of the output, or its last {n} number(s), where several are possible.

    Raises:
        TypeError, ValueError: an argument of a wrong type, shape or value.

    Example:
        >>> out, index = ops.max_pool2d(Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), 2, return_indices=True)
        >>> print(ops.max_unpool2d(out, index, 2))
        [[[[0. 0.]
           [0. 4.]]]]
    """
    return titled(call, who, doc)


max_unpool1d: _Unpooling = _unpool(1, "L")
max_unpool2d: _Unpooling = _unpool(2, "H, W")
max_unpool3d: _Unpooling = _unpool(3, "D, H, W")


def _fractional(n, who, input, kernel_size, output_size, output_ratio, return_indices, samples):
    check_tensor(input, "input", (n + 1, n + 2), who)
    kernel = n_ints(kernel_size, n, "kernel_size", who)
    check_one_given(("output_size", "output_ratio"), (output_size, output_ratio), who)
    sizes = input.shape[-n:]
    if output_size is None:
        ratios = freeze(output_ratio)
        ratios = ratios if isinstance(ratios, tuple) else (ratios,) * n
        check_value(output_ratio, all(0 < r < 1 for r in ratios), "be in (0, 1)", "output_ratio", who)
        output_size = tuple([int(s * r) for s, r in zip(sizes, ratios)])
    outs = n_ints(output_size, n, "output_size", who)
    if samples is None:
        key = jax.random.wrap_key_data(default_generator.next_key())
        samples = jax.random.uniform(key, (*input.shape[:-n], n), input._value.dtype)
    out = apply(FRACTIONAL_MAX_POOL, (input, samples), (kernel, outs))
    return out if return_indices else out[0]


def fractional_max_pool2d(
    input: Tensor, kernel_size: Axes, output_size: int | Sequence[int | None] | None = None,
    output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The maxima of windows that begin at random places, of an input (N, C, H, W) or (C, H, W).

    Args:
        input (Tensor): of shape (N, C, H, W) or (C, H, W).
        kernel_size (int or tuple): the window: for both axes, or (height, width).
        output_size (int or tuple, optional): the output's sizes.
        output_ratio (float or tuple, optional): the output's sizes as a share of the input's.
        return_indices (bool): whether to return, too, where the maxima are, counted in C order over (H, W), as Int64.
        _random_samples (Tensor, optional): replaces the random numbers; of shape (N, C, 2) in [0, 1).

    Raises:
        ValueError: none or both of size and ratio are given, or the windows don't fit.

    Example:
        >>> ops.fractional_max_pool2d(ops.ones((1, 2, 7, 8)), 2, output_size=(3, 4)).shape
        (1, 2, 3, 4)
    """
    who = "fractional_max_pool2d"
    return _fractional(2, who, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


def fractional_max_pool3d(
    input: TensorLike, kernel_size: Axes, output_size: int | Sequence[int | None] | None = None,
    output_ratio: float | Sequence[float] | None = None, return_indices: bool = False, _random_samples: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The maxima of windows that begin at random places, of an input (N, C, D, H, W); see `fractional_max_pool2d`."""
    who = "fractional_max_pool3d"
    return _fractional(3, who, input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
