"""Layers for images: resizing, rearranging pixels, similarity measures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_float, check_kind, check_number, check_positive_int, check_rank, check_value
from msjax.core.base.errors import describe
from msjax.nn.cell.base import Cell
from msjax.nn.function_layer import Layer, OfX
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func import joining
from msjax.ops.function.image_func import pixels, resizing
from msjax.ops.function.image_func.pixels import extract_image_patches
from msjax.ops.function.math_func import arithmetic, elementary, elementwise, reduction
from msjax.ops.function.nn_func import convolution, pooling

__all__ = [
    "CentralCrop", "ChannelShuffle", "ImageGradients", "MSSSIM", "PSNR", "PixelShuffle", "PixelUnshuffle", "SSIM", "Unfold",
    "Upsample",
]  # fmt: skip


class Upsample(OfX, of=resizing.interpolate):
    """Example:
    >>> print(nn.Upsample(size=4)(Tensor([[[1.0, 2.0]]])))
    [[[1. 1. 2. 2.]]]
    """

    size: int | tuple[int, ...] | None = None
    scale_factor: float | tuple[float, ...] | None = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None


# fmt: off
class PixelShuffle(Layer, of=pixels.pixel_shuffle): upscale_factor: int
class PixelUnshuffle(Layer, of=pixels.pixel_unshuffle): downscale_factor: int
class ChannelShuffle(OfX, of=pixels.channel_shuffle, groups=check_positive_int): groups: int
# fmt: on


class CentralCrop(Layer, central_fraction=partial(check_float, above=0, high=1)):
    """The middle of images.

    Args:
        central_fraction (float): the share of height and width, in (0, 1].

    Inputs:
        - **image** (Tensor) - of shape (C, H, W) or (N, C, H, W).

    Raises:
        TypeError, ValueError: a wrong type or value.
    """

    central_fraction: float

    def construct(self, image: Tensor) -> Tensor:
        check_rank(image, (3, 4), "the image", "CentralCrop")
        top, left = (int((n - n * self.central_fraction) / 2) for n in image.shape[-2:])
        height, width = image.shape[-2:]
        return image[..., top : height - top, left : width - left]


class ImageGradients(Cell):
    """The differences of neighbouring elements along height and width, zero in the last row and column.

    Inputs:
        - **images** (Tensor) - of shape (N, C, H, W).

    Outputs:
        A tuple of two Tensors of the same shape: along height, along width.
    """

    def construct(self, images: Tensor) -> tuple[Tensor, Tensor]:
        if images.ndim != 4:
            raise ValueError(f"For 'ImageGradients', the images should have 4 axes, but their shape is {images.shape}.")
        return _image_gradients(images)


@operator(name="ImageGradients", int_grad=True)
def _image_gradients(x):
    return (
        jnp.pad(x[:, :, 1:] - x[:, :, :-1], ((0, 0), (0, 0), (0, 1), (0, 0))),
        jnp.pad(x[..., 1:] - x[..., :-1], ((0, 0), (0, 0), (0, 0), (0, 1))),
    )


class Unfold(Cell):
    """The windows of images as channels.

    Args:
        ksizes, strides, rates (tuple or list): [1, height, width, 1]: the window, the distance of windows, and that of
            neighbouring elements in one.
        padding (str): "valid" (the default) or "same".

    Inputs:
        - **input_x** (Tensor) - of shape (N, C, H, W).

    Outputs:
        Tensor, of shape (N, height * width * C, H', W').
    """

    def __init__(self, ksizes: Sequence[int], strides: Sequence[int], rates: Sequence[Any], padding: str = "valid"):
        super().__init__()
        windows = []
        for name, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            check_kind(value, isinstance(value, (tuple, list)), "be a tuple or list", name, "Unfold")
            check_value(value, len(value) == 4 and value[0] == 1 and value[3] == 1, "be [1, height, width, 1]", name, "Unfold")
            windows.append(tuple(value[1:3]))
        check_value(padding, padding.lower() in ("valid", "same"), "be 'valid' or 'same'", "padding", "Unfold")
        self._windows = windows
        self._same = padding.lower() == "same"

    def construct(self, input_x: TensorLike) -> Tensor:
        return extract_image_patches(input_x, *self._windows, self._same)


# ---- similarity


def _pair(img1, img2, who):
    if img1.ndim != 4 or img1.shape != img2.shape or img1.dtype != img2.dtype:
        raise ValueError(
            f"For '{who}', both images should have one shape (N, C, H, W) and dtype, but got {describe(img1)} and {describe(img2)}."
        )


class PSNR(Cell):
    """The peak signal-to-noise ratio of images, in decibels: 10 log10(max_val ** 2 / mean squared difference).

    Args:
        max_val (int or float): the largest possible value. Default: 1.0.

    Inputs:
        - **img1**, **img2** (Tensor) - of shape (N, C, H, W).

    Outputs:
        Tensor, of shape (N,).
    """

    def __init__(self, max_val: float = 1.0):
        super().__init__()
        self.max_val: float = float(check_number(max_val, "max_val", "PSNR", above=0))

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _pair(img1, img2, "PSNR")
        mse = reduction.mean(elementary.square(img1 - img2), (-3, -2, -1))
        return elementary.log(self.max_val**2 / mse) * float(10 / np.log(10))


class _Similarity(Cell):
    """Base of SSIM and MSSSIM: local means under a Gaussian window."""

    def __init__(
        self, max_val: float = 1.0, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03
    ):
        super().__init__()
        who = type(self).__name__
        self.max_val: float = float(check_number(max_val, "max_val", who, above=0))
        self.filter_size: int = check_positive_int(filter_size, "filter_size", who)
        for name, value in (("filter_sigma", filter_sigma), ("k1", k1), ("k2", k2)):
            check_float(value, name, who, above=0)
        self.filter_sigma = filter_sigma
        self._c1, self._c2 = (k1 * self.max_val) ** 2, (k2 * self.max_val) ** 2
        at = np.arange(filter_size) - (filter_size - 1) / 2
        line = np.exp(-0.5 * (at / filter_sigma) ** 2)
        self._window = np.outer(line, line) / line.sum() ** 2

    def _terms(self, a, b):
        """The mean luminance and contrast terms of each image's channels (N, C)."""
        channels = a.shape[1]
        if min(a.shape[2:]) < self.filter_size:
            raise ValueError(
                f"For '{type(self).__name__}', images should be as large as the window of size {self.filter_size}, but their shape is {a.shape}."
            )
        window = Tensor(np.tile(self._window, (channels, 1, 1, 1)).astype(np.float32)).astype(a.dtype)

        def mean(x):
            return convolution.conv2d(x, window, groups=channels)

        ma, mb = mean(a), mean(b)
        ab, aa, bb = ma * mb, ma * ma, mb * mb
        spread = mean(a * a + b * b) - aa - bb
        common = mean(a * b) - ab
        contrast = (2 * common + self._c2) / (spread + self._c2)
        luminance = (2 * ab + self._c1) / (aa + bb + self._c1)
        return reduction.mean(luminance * contrast, (-2, -1)), reduction.mean(contrast, (-2, -1))


class SSIM(_Similarity):
    """The structural similarity of images: 1 for equal ones.

    Args:
        max_val (int or float): the largest possible value. Default: 1.0.
        filter_size (int): the size of the Gaussian window. Default: 11.
        filter_sigma (float): its standard deviation. Default: 1.5.
        k1, k2 (float): the constants of the luminance and contrast terms. Default: 0.01 and 0.03.

    Inputs, Outputs:
        As in `PSNR`.
    """

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _pair(img1, img2, "SSIM")
        return reduction.mean(self._terms(img1, img2)[0], -1)


class MSSSIM(_Similarity):
    """The structural similarity of images on several scales, each half as large as the one before.

    Args:
        max_val, filter_size, filter_sigma, k1, k2: as of `SSIM`.
        power_factors (tuple or list of float): the weight of each scale.

    Inputs, Outputs:
        As in `PSNR`.
    """

    def __init__(
        self, max_val: float = 1.0, power_factors: Sequence[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
        filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
    ):  # fmt: skip
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        check_kind(power_factors, isinstance(power_factors, (tuple, list)), "be a tuple or list", "power_factors", "MSSSIM")
        self.power_factors: tuple[float, ...] = tuple(power_factors)

    def construct(self, img1: Tensor, img2: Tensor) -> Tensor:
        _pair(img1, img2, "MSSSIM")
        factors = []
        for i, power in enumerate(self.power_factors):
            if i:
                img1, img2 = pooling.avg_pool2d(img1, 2, 2), pooling.avg_pool2d(img2, 2, 2)
            whole, contrast = self._terms(img1, img2)
            last = i == len(self.power_factors) - 1
            factors.append(arithmetic.pow(elementwise.maximum(whole if last else contrast, 0.0), float(power)))
        return reduction.mean(reduction.prod(joining.stack(factors, -1), -1), -1)
