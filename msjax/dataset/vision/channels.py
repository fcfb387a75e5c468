"""Transforms of an image's channels: grey, other orders, hue and saturation."""

from __future__ import annotations

from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_int, check_one_of
from msjax.dataset.checks import check_data, check_enum
from msjax.dataset.vision.enums import ConvertMode
from msjax.dataset.vision.image import ImageTransform

__all__ = ["ConvertColor", "Grayscale", "HsvToRgb", "RgbToHsv"]


class Grayscale(ImageTransform):
    """A Pillow image without colours, with `num_output_channels`, 1 or 3. Default: 1.

    Raises:
        TypeError: an array; see `ConvertColor`.

    Example:
        >>> from PIL import Image
        >>> vision.Grayscale()(Image.new("RGB", (4, 5))).mode
        'L'
    """

    _takes = ("pil",)

    def __init__(self, num_output_channels: int = 1):
        self.num_output_channels: int = check_int(num_output_channels, "num_output_channels", "Grayscale")
        check_one_of(num_output_channels, (1, 3), "num_output_channels", "Grayscale")

    def _apply(self, image):
        grey = image.convert("L")
        return grey if self.num_output_channels == 1 else grey.convert("RGB")


class ConvertColor(ImageTransform):
    """Another order of channels, with or without alpha, or grey.

    Args:
        convert_mode (ConvertMode): from what into what.

    Raises:
        TypeError: no mode.
        RuntimeError: the image has another number of channels.

    Example:
        >>> vision.ConvertColor(vision.ConvertMode.COLOR_RGB2BGR)(np.array([[[1, 2, 3]]], np.uint8))
        array([[[3, 2, 1]]], dtype=uint8)
    """

    _gives_arrays = True

    def __init__(self, convert_mode: ConvertMode):
        self.convert_mode: Any = check_enum(convert_mode, ConvertMode, "convert_mode", "ConvertColor")

    def _apply(self, image):
        # The names of one value differ, but mean the same change.
        source, target = self.convert_mode.name.removeprefix("COLOR_").split("2")
        if source != "GRAY":
            # A plane counts as one with equal colours, as in MindSpore.
            image = np.stack([image] * 3, -1) if image.ndim == 2 else image
            check_data(image, image.shape[2] == len(source), f"the image should have {len(source)} channels", "ConvertColor")
            planes: dict[str, Any] = {letter: image[..., i] for i, letter in enumerate(source)}
        else:
            grey = image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image
            check_data(image, grey.ndim == 2, "the image should have one channel", "ConvertColor")
            planes = dict.fromkeys("RGB", grey)
        if target == "GRAY":
            return _grey(*(planes[letter] for letter in "RGB"))
        planes.setdefault("A", np.full_like(planes["R"], 255 if image.dtype == np.uint8 else 1))
        return np.stack([planes[letter] for letter in target], -1)


def _grey(red, green, blue):
    if red.dtype != np.uint8:
        return (0.299 * red + 0.587 * green + 0.114 * blue).astype(red.dtype)
    red, green, blue = (plane.astype(np.int32) for plane in (red, green, blue))
    return ((red * 4899 + green * 9617 + blue * 1868 + 8192) >> 14).astype(np.uint8)


class HsvToRgb(ImageTransform):
    """RGB from hue, saturation and value, all in [0, 1].

    Args:
        is_hwc (bool): channels are the last axis; otherwise the one before the last two. Default: False.

    Example:
        >>> vision.HsvToRgb(is_hwc=True)(np.array([[[0.0, 1.0, 1.0]]])).tolist()
        [[[1.0, 0.0, 0.0]]]
    """

    _takes = ("array",)

    def __init__(self, is_hwc: bool = False):
        self.is_hwc: bool = check_bool(is_hwc, "is_hwc", type(self).__name__)

    def _check_array(self, array):
        axis = -1 if self.is_hwc else -3
        fits = array.ndim in (3, 4) and array.shape[axis] == 3
        check_data(array, fits, "the image should have three channels", type(self).__name__)

    def _apply(self, image):
        axis = -1 if self.is_hwc else -3
        planes = np.moveaxis(image.astype(np.float64), axis, 0)
        return np.stack(self._convert(*planes), axis)

    @staticmethod
    def _convert(hue, saturation, value):
        sector = np.floor(hue * 6)
        rest = hue * 6 - sector
        p, q, t = value * (1 - saturation), value * (1 - saturation * rest), value * (1 - saturation * (1 - rest))
        which = sector.astype(int) % 6
        red = np.choose(which, [value, q, p, p, t, value])
        green = np.choose(which, [t, value, value, q, p, p])
        blue = np.choose(which, [p, p, t, value, value, q])
        return red, green, blue


class RgbToHsv(HsvToRgb):
    """Hue, saturation and value, all in [0, 1], from RGB; for the argument, see `HsvToRgb`.

    Example:
        >>> vision.RgbToHsv(is_hwc=True)(np.array([[[1.0, 0.0, 0.0]]])).tolist()
        [[[0.0, 1.0, 1.0]]]
    """

    @staticmethod
    def _convert(red, green, blue):
        value, least = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
        span = value - least
        safe = np.where(span == 0, 1, span)
        hue = np.select(
            [value == red, value == green], [(green - blue) / safe, 2 + (blue - red) / safe], 4 + (red - green) / safe
        )
        return np.where(span == 0, 0, hue / 6 % 1), np.where(value == 0, 0, span / np.where(value == 0, 1, value)), value
