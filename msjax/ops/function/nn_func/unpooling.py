"""Unpooling, and fractional pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import jax

from msjax.common.random import default_generator
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_kind, check_one_given, check_value
from msjax.core.base.typing import Axes
from msjax.engine.autograd.op import apply
from msjax.ops.dispatch.docs import titled
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.nn_func.pooling import check_tensor
from msjax.ops.function.nn_func.pooling_kernels import FRACTIONAL_MAX_POOL, MAX_UNPOOL
from msjax.ops.function.nn_func.sliding import n_ints

__all__ = ["fractional_max_pool2d", "fractional_max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d"]


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
