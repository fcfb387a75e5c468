"""Transforms of an image's colours by chance, and parts of images erased or mixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msjax.checks import check_bool, check_int, check_number, is_number
from msjax.dataset.checks import check_enum, check_numbers, check_range
from msjax.dataset.run import row_rng
from msjax.dataset.transforms.base import Transform
from msjax.dataset.vision.colors import AutoContrast, Equalize, Invert, Posterize, Solarize, adjust, shift_hue
from msjax.dataset.vision.enums import ImageBatchFormat
from msjax.dataset.vision.image import ImageTransform, size_of
from msjax.dataset.vision.sizes import random_window
from msjax.errors import describe


class RandomColorAdjust(ImageTransform):
    """Brightness, contrast, saturation and hue by chance. Needs Pillow.

    Args:
        brightness, contrast, saturation (float, or tuple or list of two): the least and the largest factor; a number x is from
            ``max(0, 1 - x)`` to ``1 + x``. Default: (1, 1).
        hue (float, or tuple or list of two): the least and the largest move around the circle of colours, in [-0.5, 0.5]; a number
            x is (-x, x). Default: (0, 0).

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> vision.RandomColorAdjust(brightness=(0.5, 0.5))(np.full((1, 1, 3), 100, np.uint8))
        array([[[50, 50, 50]]], dtype=uint8)
    """

    def __init__(
        self,
        brightness: float | Sequence[int] = (1, 1),
        contrast: float | Sequence[int] = (1, 1),
        saturation: float | Sequence[int] = (1, 1),
        hue: float | Sequence[int] = (0, 0),
    ):
        who = "RandomColorAdjust"
        self.brightness = self._factors(brightness, "brightness")
        self.contrast = self._factors(contrast, "contrast")
        self.saturation = self._factors(saturation, "saturation")
        if is_number(hue):
            hue = check_number(hue, "hue", who, low=0, high=0.5)
            hue = (-hue, hue)  # pyright: ignore[reportAssignmentType]
        self.hue = check_range(hue, "hue", who, -0.5, 0.5)

    @staticmethod
    def _factors(value, name):
        if is_number(value):
            value = check_number(value, name, "RandomColorAdjust", low=0)
            return max(0, 1 - value), 1 + value
        return check_range(value, name, "RandomColorAdjust", low=0)

    def _apply(self, image):
        rng = row_rng()
        steps = [("Brightness", self.brightness), ("Contrast", self.contrast), ("Color", self.saturation), ("Hue", self.hue)]
        for at in rng.permutation(len(steps)):
            kind, bounds = steps[at]
            amount = float(rng.uniform(*bounds))
            if kind == "Hue" and amount:
                image = shift_hue(image, amount, "RandomColorAdjust")
            elif kind != "Hue" and amount != 1:
                image = adjust(image, kind, amount, "RandomColorAdjust")
        return image


class RandomColor(ImageTransform):
    """More or less colour, by chance. Needs Pillow.

    Args:
        degrees (tuple or list of two): the least and the largest factor; 0 is grey, 1 leaves the image. Default: (0.1, 1.9).

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> vision.RandomColor((0.0, 0.0))(np.array([[[255, 0, 0]]], np.uint8))
        array([[[76, 76, 76]]], dtype=uint8)
    """

    _kind = "Color"

    def __init__(self, degrees: Sequence[int] = (0.1, 1.9)):
        self.degrees = check_range(degrees, "degrees", type(self).__name__, low=0)

    def _apply(self, image):
        return adjust(image, self._kind, float(row_rng().uniform(*self.degrees)), type(self).__name__)


class RandomSharpness(RandomColor):
    """Sharper or softer, by chance. Needs Pillow.

    Args:
        degrees (tuple or list of two): the least and the largest factor; 0 is blurred, 1 leaves the image. Default: (0.1, 1.9).

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> vision.RandomSharpness()(np.full((3, 3, 3), 9, np.uint8))[1, 1]
        array([9, 9, 9], dtype=uint8)
    """

    _kind = "Sharpness"


class _Sometimes(ImageTransform):
    """Another transform, by chance."""

    _other: type[Any]

    def __init__(self, prob: Any = 0.5, *settings: Any):
        self.prob = check_number(prob, "prob", type(self).__name__, low=0, high=1)
        self._transform = self._other(*settings)

    def _apply(self, image):
        return self._transform._apply(image) if row_rng().random() < self.prob else image


class RandomInvert(_Sometimes):
    """`Invert`, by chance.

    Args:
        prob (float): the probability. Default: 0.5.

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> vision.RandomInvert(1.0)(np.array([[5]], np.uint8))
        array([[250]], dtype=uint8)
    """

    _other = Invert


class RandomEqualize(_Sometimes):
    """`Equalize`, by chance.

    Args:
        prob (float): the probability. Default: 0.5.

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> vision.RandomEqualize(0.0)(np.array([[5]], np.uint8))
        array([[5]], dtype=uint8)
    """

    _other = Equalize


class RandomAutoContrast(_Sometimes):
    """`AutoContrast`, by chance.

    Args:
        cutoff, ignore: as in `AutoContrast`.
        prob (float): the probability. Default: 0.5.

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> vision.RandomAutoContrast(prob=1.0)(np.array([[100, 150]], np.uint8))
        array([[  0, 255]], dtype=uint8)
    """

    _other = AutoContrast

    def __init__(self, cutoff: float = 0.0, ignore: Any = None, prob: float = 0.5):
        super().__init__(prob, cutoff, ignore)


class RandomGrayscale(ImageTransform):
    """A Pillow image without colours, by chance; its mode stays.

    Args:
        prob (float): the probability. Default: 0.1.

    Example:
        >>> from PIL import Image
        >>> from msjax.dataset import vision
        >>> vision.RandomGrayscale(1.0)(Image.new("RGB", (1, 1), "red")).getpixel((0, 0))
        (76, 76, 76)
    """

    _takes = ("pil",)

    def __init__(self, prob: float = 0.1):
        self.prob = check_number(prob, "prob", "RandomGrayscale", low=0, high=1)

    def _apply(self, image):
        return image.convert("L").convert(image.mode) if row_rng().random() < self.prob else image


class RandomPosterize(ImageTransform):
    """`Posterize` with a number of bits by chance.

    Args:
        bits (int, or tuple or list of two): the least and the largest number. Default: (8, 8).

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> vision.RandomPosterize((1, 1))(np.array([[200]], np.uint8))
        array([[128]], dtype=uint8)
    """

    def __init__(self, bits: int | Sequence[int] = (8, 8)):
        self.bits = check_range((bits, bits) if is_number(bits) else bits, "bits", "RandomPosterize", 1, 8)

    def _apply(self, image):
        low, high = self.bits
        return Posterize(int(row_rng().integers(low, high + 1)))._apply(image)


class RandomSolarize(ImageTransform):
    """`Solarize` with bounds by chance.

    Args:
        threshold (tuple or list of two): what both bounds are between. Default: (0, 255).

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> vision.RandomSolarize((10, 10))(np.array([[10, 20]], np.uint8))
        array([[245,  20]], dtype=uint8)
    """

    def __init__(self, threshold: Sequence[int] = (0, 255)):
        self.threshold = check_range(threshold, "threshold", "RandomSolarize", 0, 255)

    def _apply(self, image):
        low, high = self.threshold
        return Solarize(sorted(int(v) for v in row_rng().integers(low, high + 1, 2)))._apply(image)


class RandomErasing(ImageTransform):
    """A rectangle of an image with channels in front is overwritten, by chance.

    Args:
        prob (float): the probability. Default: 0.5.
        scale (list or tuple of two): the least and the largest share of the area. Default: (0.02, 0.33).
        ratio (list or tuple of two): the least and the largest width for a height of 1. Default: (0.3, 3.3).
        value (int, tuple of int or "random"): what is written, or a value for each channel. Default: 0.
        inplace (bool): write into the given array. Default: False.
        max_attempts (int): after so many rectangles that don't fit it gives up. Default: 10.

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> bool((vision.RandomErasing(1.0)(np.ones((3, 8, 8))) == 0).any())
        True
    """

    _takes = ("array",)

    def __init__(
        self,
        prob: float = 0.5,
        scale: Sequence[int] = (0.02, 0.33),
        ratio: Sequence[int] = (0.3, 3.3),
        value: int | tuple[int, ...] | str = 0,
        inplace: bool = False,
        max_attempts: int = 10,
    ):
        who = "RandomErasing"
        self.prob = check_number(prob, "prob", who, low=0, high=1)
        self.scale, self.ratio = check_range(scale, "scale", who, low=0), check_range(ratio, "ratio", who, low=0)
        if value != "random":
            value = check_numbers((value,) if is_number(value) else value, "value", who, low=0, high=255)
        self.value = value
        self.inplace: bool = check_bool(inplace, "inplace", who)
        self.max_attempts: int = check_int(max_attempts, "max_attempts", who, low=1)

    def _check_array(self, array):
        if array.ndim != 3:
            raise RuntimeError(
                f"RandomErasing: the image should have the axes (channels, height, width), but got {describe(array)}."
            )

    def _apply(self, image):
        rng = row_rng()
        if rng.random() >= self.prob:
            return image
        channels, height, width = image.shape
        top, left, tall, wide = random_window(height, width, self.scale, self.ratio, self.max_attempts)
        value = rng.standard_normal((channels, tall, wide)) if self.value == "random" else np.reshape(self.value, (-1, 1, 1))
        if value.shape[0] not in (1, channels):
            raise RuntimeError(f"RandomErasing: 'value' is for {value.shape[0]} channels, but the image has {channels}.")
        result = image if self.inplace else image.copy()
        result[:, top : top + tall, left : left + wide] = value
        return result


class CutOut(ImageTransform):
    """Squares of an image set to zero.

    Args:
        length (int): the side of a square; at the edges less of it is seen.
        num_patches (int): how many. Default: 1.
        is_hwc (bool): channels are the last axis; otherwise the first. Default: True.

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> bool((vision.CutOut(4)(np.ones((8, 8, 3))) == 0).any())
        True
    """

    _takes = ("array",)

    def __init__(self, length: int, num_patches: int = 1, is_hwc: bool = True):
        self.length: int = check_int(length, "length", "CutOut", low=1)
        self.num_patches: int = check_int(num_patches, "num_patches", "CutOut", low=1)
        self.is_hwc: bool = check_bool(is_hwc, "is_hwc", "CutOut")

    def _apply(self, image):
        rng, result, half = row_rng(), image.copy(), self.length // 2
        view = result if self.is_hwc or image.ndim == 2 else result.transpose(1, 2, 0)
        height, width = size_of(view)
        for _ in range(self.num_patches):
            y, x = int(rng.integers(height)) - half, int(rng.integers(width)) - half
            view[max(y, 0) : max(y + self.length, 0), max(x, 0) : max(x + self.length, 0)] = 0
        return result


class _MixedBatch(Transform):
    """The base of transforms of a batch of images and its one-hot labels: each image is mixed with another one of the batch."""

    alpha = 1.0

    def _check(self, images, labels):
        who = type(self).__name__
        if images.ndim != 4 or labels.ndim not in (2, 3) or len(images) != len(labels):
            raise RuntimeError(
                f"{who}: it takes a batch of images (four axes) and their one-hot labels (two or three axes), but got "
                f"{describe(images)} and {describe(labels)}."
            )

    def _mix_labels(self, labels, others, share):
        share = np.reshape(share, (-1,) + (1,) * (labels.ndim - 1))
        return (share * labels + (1 - share) * labels[others]).astype(np.float32)


class MixUpBatch(_MixedBatch):
    """Each image of a batch mixed with another one, and their labels. For `map` after `batch`.

    Args:
        alpha (float): of the beta distribution that the shares are drawn from. Default: 1.0.

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> images, labels = vision.MixUpBatch()(np.ones((2, 3, 3, 1), np.float32), np.eye(2))
        >>> images.shape, labels.sum(1)
        ((2, 3, 3, 1), array([1., 1.], dtype=float32))
    """

    def __init__(self, alpha: float = 1.0):
        self.alpha = check_number(alpha, "alpha", "MixUpBatch", above=0)

    def _apply(self, images, labels):
        self._check(images, labels)
        rng = row_rng()
        others, share = rng.permutation(len(images)), rng.beta(self.alpha, self.alpha)
        mixed = share * images + (1 - share) * images[others]
        return mixed.astype(images.dtype), self._mix_labels(labels, others, share)


class CutMixBatch(_MixedBatch):
    """Each image of a batch with a rectangle of another one, and their labels mixed. For `map` after `batch`.

    Args:
        image_batch_format (ImageBatchFormat): the layout of the batch.
        alpha (float): of the beta distribution that the areas are drawn from. Default: 1.0.
        prob (float): the probability of each image. Default: 1.0.

    Example:
        >>> import numpy as np
        >>> from msjax.dataset import vision
        >>> cut = vision.CutMixBatch(vision.ImageBatchFormat.NHWC)
        >>> images, labels = cut(np.ones((2, 3, 3, 1), np.float32), np.eye(2))
        >>> images.shape, labels.shape
        ((2, 3, 3, 1), (2, 2))
    """

    def __init__(self, image_batch_format: ImageBatchFormat, alpha: float = 1.0, prob: float = 1.0):
        self.image_batch_format = check_enum(image_batch_format, ImageBatchFormat, "image_batch_format", "CutMixBatch")
        self.alpha = check_number(alpha, "alpha", "CutMixBatch", above=0)
        self.prob = check_number(prob, "prob", "CutMixBatch", low=0, high=1)

    def _apply(self, images, labels):
        self._check(images, labels)
        rng, result = row_rng(), images.copy()
        forwards = self.image_batch_format is ImageBatchFormat.NHWC
        view, source = (a if forwards else a.transpose(0, 2, 3, 1) for a in (result, images))
        count, height, width = view.shape[:3]
        others, shares = rng.permutation(count), np.ones(count)
        for i in range(count):
            if rng.random() >= self.prob:
                continue
            side = np.sqrt(1 - rng.beta(self.alpha, self.alpha))
            y, x = rng.integers(height), rng.integers(width)
            top, bottom = np.clip([y - side * height / 2, y + side * height / 2], 0, height).astype(int)
            left, right = np.clip([x - side * width / 2, x + side * width / 2], 0, width).astype(int)
            view[i, top:bottom, left:right] = source[others[i], top:bottom, left:right]
            shares[i] = 1 - (bottom - top) * (right - left) / (height * width)
        return result, self._mix_labels(labels, others, shares)
