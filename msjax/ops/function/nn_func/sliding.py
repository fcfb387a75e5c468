"""Sizes and padding of sliding windows, shared by convolution and pooling."""

from __future__ import annotations

from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from msjax.common.typing import Shape, TensorLike
from msjax.core.base.checks import check_ints, check_rank, check_value
from msjax.core.base.typing import JaxArray, PadWidths
from msjax.ops.dispatch.operator import freeze

# A number for each axis of a window.
Ints: TypeAlias = tuple[int, ...]


def n_ints(value: Shape, n: int, name: str, who: str, lowest: int = 1) -> tuple[Any, ...]:
    """A tuple of n ints of at least `lowest`, from one int or n of them; see `check_ints`."""
    return check_ints(freeze(value), n, name, who, low=lowest)


def same_pads(sizes: Ints, kernel: Ints, stride: Ints, dilation: Ints | None = None) -> PadWidths:
    """The padding pairs for MindSpore's pad_mode "same": the output has size ceil(size / stride)."""
    dilation = dilation or (1,) * len(kernel)
    totals = [max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0) for n, k, s, d in zip(sizes, kernel, stride, dilation)]
    return tuple([(total // 2, total - total // 2) for total in totals])


def pads_and_sizes(
    sizes: Ints, kernel: Ints, stride: Ints, pads: PadWidths | str, dilation: Ints | None = None
) -> tuple[PadWidths, Ints]:
    """The padding pairs, where `pads` may also be "same", and the sizes of the output."""
    if isinstance(pads, str):
        pads = same_pads(sizes, kernel, stride, dilation)
    out = out_sizes(sizes, kernel, stride, pads, dilation)
    if min(out) <= 0:
        raise ValueError(f"the window {kernel} is larger than the padded input, whose last axes have the sizes {sizes}.")
    return pads, out


def pads_of_pool(x: TensorLike, kernel: Ints, stride: Ints, pads: PadWidths | str, dilation: Ints | None = None) -> PadWidths:
    """The padding pairs of pooling x, after checks of its shape."""
    n = len(kernel)
    check_rank(x, (n + 1, n + 2), "the input")
    return pads_and_sizes(x.shape[x.ndim - n :], kernel, stride, pads, dilation)[0]


def pads_of_max_pool(x: TensorLike, kernel: Ints, stride: Ints, pads: PadWidths | str, dilation: Ints) -> PadWidths:
    """The same for a maximum, whose windows may not lie in the padding alone."""
    pads = pads_of_pool(x, kernel, stride, pads, dilation)
    for k, d, p in zip(kernel, dilation, pads):
        check_value(pads, max(p) <= ((k - 1) * d + 1) // 2 or p[0] != p[1], f"be at most half of the window, {kernel}", "padding")
    return pads


def ceil_pads(sizes: Ints, kernel: Ints, stride: Ints, pads: PadWidths, dilation: Ints | None = None) -> PadWidths:
    """Pads with more at the end, so that the output's size is rounded up; no window begins in the added part."""
    dilation = dilation or (1,) * len(kernel)
    grown = []
    for size, k, s, (before, after), d in zip(sizes, kernel, stride, pads, dilation):
        span = (k - 1) * d + 1
        out = -(-(size + before + after - span) // s) + 1
        if (out - 1) * s >= size + before:
            out -= 1
        grown.append((before, max((out - 1) * s + span - size - before, after)))
    return tuple(grown)


def out_sizes(sizes: Ints, kernel: Ints, stride: Ints, pads: PadWidths, dilation: Ints | None = None) -> Ints:
    """How many windows fit on each axis."""
    dilation = dilation or (1,) * len(kernel)
    return tuple([(n + sum(p) - (k - 1) * d - 1) // s + 1 for n, k, s, p, d in zip(sizes, kernel, stride, pads, dilation)])


def pad_spatial(x: TensorLike, pads: PadWidths, first: int = 2, fill: float = 0) -> JaxArray:
    """x with its axes from `first` on padded by pairs; negative ones cut off."""
    if all(tuple(p) == (0, 0) for p in pads):
        return x
    widths = [(0, 0, 0)] * first + [(*p, 0) for p in pads]
    widths += [(0, 0, 0)] * (x.ndim - len(widths))
    return jax.lax.pad(x, jnp.asarray(fill, x.dtype), widths)


def steps(x: TensorLike, axis: int, kernel: int, stride: int, dilation: int = 1) -> list[JaxArray]:
    """For each position in a window along `axis`, the elements that windows have there."""
    count = (x.shape[axis] - (kernel - 1) * dilation - 1) // stride + 1
    starts = [i * dilation for i in range(kernel)]
    return [jax.lax.slice_in_dim(x, i, i + (count - 1) * stride + 1, stride, axis) for i in starts]


def shifted(x: TensorLike, kernel: Ints, stride: Ints, padding: PadWidths, dilation: Ints, first: int) -> list[JaxArray]:
    """The padded input at each position in a window, in C order; its spatial axes begin at `first`."""
    taps = [pad_spatial(x, padding, first)]
    for i, (k, s, d) in enumerate(zip(kernel, stride, dilation)):
        taps = [piece for tap in taps for piece in steps(tap, first + i, k, s, d)]
    return taps
