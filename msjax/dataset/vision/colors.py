"""Transforms of an image's colours by given amounts. Those of brightness, contrast, hue and the like need Pillow."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msjax.core.base.checks import check_int, check_number, check_value, is_number
from msjax.dataset.checks import check_data, check_numbers
from msjax.dataset.values import is_pil
from msjax.dataset.vision.image import ImageLike, ImageTransform, pillow, through_pil

__all__ = [
    "AdjustBrightness", "AdjustContrast", "AdjustGamma", "AdjustHue", "AdjustSaturation", "AdjustSharpness", "AutoContrast",
    "Equalize", "GaussianBlur", "Invert", "Posterize", "Solarize",
]  # fmt: skip


def adjust(image: ImageLike, kind: str, factor: float, who: str) -> ImageLike:
    """The image with one of Pillow's enhancements: "Brightness", "Contrast", "Color" (saturation) or "Sharpness".

    Of arrays, all but "Sharpness" are rounded and not cut, and floats stay floats, as in OpenCV.
    """
    if not is_pil(image) and kind in _DULL:
        return _blend(image, _DULL[kind](image), factor)
    pillow()
    from PIL import ImageEnhance

    return through_pil(lambda pil: getattr(ImageEnhance, kind)(pil).enhance(factor), image, who)


def _grey(image):
    """The brightness of each pixel, with one channel; rounded for integers."""
    if image.ndim == 2 or image.shape[2] < 3:
        return image
    grey = image[..., :3].astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32)
    return (np.rint(grey) if image.dtype.kind in "iu" else grey)[..., None]


def _mean(grey, kind):
    mean = grey.mean(dtype=np.float64)
    return np.float32(np.floor(mean + 0.5) if kind in "iu" else mean)


# What an enhancement with the factor 0 leaves of an array.
_DULL = {
    "Brightness": lambda image: np.float32(0),
    "Contrast": lambda image: _mean(_grey(image), image.dtype.kind),
    "Color": _grey,
}


def _blend(image, dull, factor):
    made = dull + np.float32(factor) * (image.astype(np.float32) - dull)
    if image.dtype.kind in "iu":
        limits = np.iinfo(image.dtype)
        made = np.clip(np.rint(made), limits.min, limits.max)
    return made.astype(image.dtype)


def shift_hue(image: ImageLike, amount: float, who: str) -> ImageLike:
    """The image with hues moved by a share of the circle of colours."""

    def shift(pil):
        if pil.mode != "RGB":
            return pil
        hue, saturation, value = pil.convert("HSV").split()
        hue = hue.point([(level + round(amount * 255)) % 256 for level in range(256)])
        return pillow().merge("HSV", (hue, saturation, value)).convert("RGB")

    return through_pil(shift, image, who)


class _Adjust(ImageTransform):
    """One of Pillow's enhancements by a given factor."""

    _kind = _name = ""

    def __init__(self, factor: Any):
        setattr(self, self._name, check_number(factor, self._name, type(self).__name__, low=0))

    def _apply(self, image: ImageLike):
        return adjust(image, self._kind, getattr(self, self._name), type(self).__name__)


class AdjustBrightness(_Adjust):
    """Brighter or darker: a `brightness_factor` of 0 is black, and 1 leaves the image as it is.

    Example:
        >>> vision.AdjustBrightness(0.5)(np.full((1, 1, 3), 100, np.uint8))
        array([[[50, 50, 50]]], dtype=uint8)
    """

    _kind, _name = "Brightness", "brightness_factor"

    def __init__(self, brightness_factor: float):
        super().__init__(brightness_factor)


class AdjustContrast(_Adjust):
    """More or less contrast: a `contrast_factor` of 0 is grey, and 1 leaves the image as it is.

    Example:
        >>> vision.AdjustContrast(1.0)(np.full((1, 1, 3), 100, np.uint8))
        array([[[100, 100, 100]]], dtype=uint8)
    """

    _kind, _name = "Contrast", "contrast_factor"

    def __init__(self, contrast_factor: float):
        super().__init__(contrast_factor)


class AdjustSaturation(_Adjust):
    """More or less colour: a `saturation_factor` of 0 is grey, and 1 leaves the image as it is.

    Example:
        >>> vision.AdjustSaturation(0.0)(np.array([[[255, 0, 0]]], np.uint8))
        array([[[76, 76, 76]]], dtype=uint8)
    """

    _kind, _name = "Color", "saturation_factor"

    def __init__(self, saturation_factor: float):
        super().__init__(saturation_factor)


class AdjustSharpness(_Adjust):
    """Sharper or softer: a `sharpness_factor` of 0 is blurred, and 1 leaves the image as it is.

    Example:
        >>> vision.AdjustSharpness(2.0)(np.full((3, 3, 3), 100, np.uint8))[1, 1]
        array([100, 100, 100], dtype=uint8)
    """

    _gives_arrays = True

    _kind, _name = "Sharpness", "sharpness_factor"

    def __init__(self, sharpness_factor: float):
        super().__init__(sharpness_factor)


class AdjustHue(ImageTransform):
    """Other hues: `hue_factor` is how far around the circle of colours, in [-0.5, 0.5]; 0 leaves the image as it is.

    Example:
        >>> vision.AdjustHue(0.0)(np.array([[[255, 0, 0]]], np.uint8))
        array([[[255,   0,   0]]], dtype=uint8)
    """

    def __init__(self, hue_factor: float):
        self.hue_factor: Any = check_number(hue_factor, "hue_factor", "AdjustHue", low=-0.5, high=0.5)

    def _apply(self, image: ImageLike):
        return shift_hue(image, self.hue_factor, "AdjustHue")


class AdjustGamma(ImageTransform):
    """Each value v as ``255.999 * gain * (v / 255) ** gamma``, cut to an int of at most 255; a float as ``(gain * v) ** gamma``, cut to 0 to 1.

    Args:
        gamma (float): the exponent, not negative.
        gain (float): the factor. Default: 1.

    Example:
        >>> vision.AdjustGamma(2.0)(np.full((1, 1, 3), 51, np.uint8))
        array([[[10, 10, 10]]], dtype=uint8)
    """

    def __init__(self, gamma: float, gain: float = 1):
        self.gamma: Any = check_number(gamma, "gamma", "AdjustGamma", low=0)
        self.gain: Any = check_number(gain, "gain", "AdjustGamma")

    def _apply(self, image: ImageLike):
        def curve(values):
            if values.dtype.kind not in "iu":
                return np.clip((self.gain * values) ** self.gamma, 0, 1).astype(values.dtype)
            return np.clip(255.999 * self.gain * (values / 255) ** self.gamma, 0, 255).astype(values.dtype)

        return on_array(curve, image)


def on_array(function: Callable[..., Any], image: ImageLike) -> ImageLike:
    """A function of arrays, on one, or on a Pillow image, which it stays."""
    return pillow().fromarray(function(np.array(image))) if is_pil(image) else function(image)


class Invert(ImageTransform):
    """255 less each value.

    Example:
        >>> vision.Invert()(np.full((1, 1, 3), 55, np.uint8))
        array([[[200, 200, 200]]], dtype=uint8)
    """

    def _apply(self, image: ImageLike):
        return on_array(lambda values: (255 - values).astype(values.dtype), image)


class Solarize(ImageTransform):
    """255 less those values that are within bounds.

    Args:
        threshold (float, or tuple or list of two): the least and the largest; a number is the least, and the largest is 255, and so are two
            equal ones.

    Example:
        >>> vision.Solarize(100)(np.array([[[50, 100, 200]]], np.uint8))
        array([[[ 50, 155,  55]]], dtype=uint8)
    """

    _gives_arrays = True

    def __init__(self, threshold: float | Sequence[int]):
        bounds = (threshold, threshold) if is_number(threshold) else threshold
        low, high = bounds = check_numbers(bounds, "threshold", "Solarize", 2, 0, 255)
        check_value(bounds, low <= high, "not fall", "threshold", "Solarize")
        self.threshold: tuple[Any, ...] = (low, 255 if low == high else high)

    def _apply(self, image: ImageLike):
        low, high = self.threshold
        return on_array(lambda v: np.where((v >= low) & (v <= high), 255 - v, v).astype(v.dtype), image)


class Posterize(ImageTransform):
    """Only the first `bits` bits of each value, from 0 to 8.

    Example:
        >>> vision.Posterize(1)(np.array([[[50, 128, 200]]], np.uint8))
        array([[[  0, 128, 128]]], dtype=uint8)
    """

    _gives_arrays = True

    def __init__(self, bits: int):
        self.bits: int = check_int(bits, "bits", "Posterize", low=0, high=8)

    def _apply(self, image: ImageLike):
        mask = 256 - 2 ** (8 - self.bits)
        return on_array(lambda values: (values.astype(np.uint8) & np.uint8(mask)).astype(values.dtype), image)


class AutoContrast(ImageTransform):
    """Each channel stretched from its darkest to its brightest value.

    Args:
        cutoff (float): the percentage of the darkest and brightest pixels that don't count, in [0, 50). Default: 0.0.
        ignore (int or list of int, optional): values that don't count.

    Example:
        >>> vision.AutoContrast()(np.array([[100, 150]], np.uint8))
        array([[  0, 255]], dtype=uint8)
    """

    def __init__(self, cutoff: float = 0.0, ignore: int | list[int] | None = None):
        self.cutoff: Any = check_number(cutoff, "cutoff", "AutoContrast", low=0, below=50)
        self.ignore = ignore

    def _apply(self, image: ImageLike):
        pillow()
        from PIL import ImageOps

        return through_pil(lambda pil: ImageOps.autocontrast(pil, self.cutoff, self.ignore), image, "AutoContrast")


class Equalize(ImageTransform):
    """Each channel with its values spread evenly: arrays of uint8 as OpenCV does it, Pillow images as Pillow does.

    Raises:
        RuntimeError: an array of another type.

    Example:
        >>> vision.Equalize()(np.array([[7, 8, 9]], np.uint8))
        array([[  0, 128, 255]], dtype=uint8)
    """

    def _apply(self, image: Any):
        if is_pil(image):
            from PIL import ImageOps

            return ImageOps.equalize(image)
        check_data(image, image.dtype == np.uint8, "the image should be of type uint8", "Equalize")
        channels = image.reshape(*image.shape[:2], -1)
        return np.stack([_equalized(channels[..., i]) for i in range(channels.shape[2])], -1).reshape(image.shape)


def _equalized(channel):
    counts = np.bincount(channel.reshape(-1), minlength=256)
    least = int(channel.min())
    others = channel.size - counts[least]
    if not others:
        return channel
    counts[least] = 0
    return np.rint(np.cumsum(counts) * np.float32(255 / others)).astype(np.uint8)[channel]


class GaussianBlur(ImageTransform):
    """Blurred with a Gaussian.

    Args:
        kernel_size (int, or tuple or list of two): its width and height, odd.
        sigma (float, or tuple or list of two, optional): its deviations. Default: from the size.

    Example:
        >>> vision.GaussianBlur(3)(np.full((4, 4, 3), 9, np.uint8))[0, 0]
        array([9, 9, 9], dtype=uint8)
    """

    _gives_arrays = True

    def __init__(self, kernel_size: int | Sequence[int], sigma: float | Sequence[float] | None = None):
        sizes = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
        self.kernel_size: tuple[int, ...] = tuple(check_int(size, "kernel_size", "GaussianBlur", low=1) for size in sizes)
        fits = all(size % 2 != 0 for size in self.kernel_size) and len(self.kernel_size) == 2
        check_value(kernel_size, fits, "be odd, for one or two sides", "kernel_size", "GaussianBlur")
        sigmas = (sigma, sigma) if sigma is None or is_number(sigma) else check_numbers(sigma, "sigma", "GaussianBlur", 2)
        self.sigma: tuple[float | Sequence[float], ...] = tuple(
            s or ((size - 1) * 0.5 - 1) * 0.3 + 0.8 for s, size in zip(sigmas, self.kernel_size)
        )

    def _apply(self, image: ImageLike):
        return on_array(self._blur, image)

    def _blur(self, array):
        result = array.astype(np.float64)
        for axis, size, sigma in zip((1, 0), self.kernel_size, self.sigma):
            reach = size // 2
            weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
            widths = [(reach, reach) if i == axis else (0, 0) for i in range(array.ndim)]
            padded = np.pad(result, widths, "reflect" if array.shape[axis] > reach else "edge")
            length = array.shape[axis]
            shifted = [w * padded.take(range(k, k + length), axis) for k, w in enumerate(weights / weights.sum())]
            result = functools.reduce(np.add, shifted)
        return (np.rint(result) if array.dtype.kind in "iu" else result).astype(array.dtype)
