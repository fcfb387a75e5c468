"""Windows of images, as channels."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.common.typing import TensorLike
from msjax.core.base.typing import JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.nn_func.sliding import out_sizes, pad_spatial, same_pads, steps


@operator(name="ExtractImagePatches", int_grad=True)
def extract_image_patches(
    x: TensorLike, kernel: tuple[int, ...], stride: tuple[int, ...], rates: tuple[int, ...], same: bool
) -> JaxArray:
    """(N, C, H, W) to (N, elements of a window * C, H', W')."""
    pads = same_pads(x.shape[2:], kernel, stride, rates) if same else ((0, 0), (0, 0))
    if min(out_sizes(x.shape[2:], kernel, stride, pads, rates)) <= 0:
        raise ValueError(f"the window {kernel} is larger than the image, whose shape is {x.shape}.")
    taps = [pad_spatial(x, pads)]
    for i, (k, s, d) in enumerate(zip(kernel, stride, rates)):
        taps = [piece for tap in taps for piece in steps(tap, 2 + i, k, s, d)]
    return jnp.concatenate(taps, 1)
