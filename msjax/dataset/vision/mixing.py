"""Transforms that erase parts of images, or mix the images of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_int, check_number, is_number
from msjax.dataset.checks import check_data, check_enum, check_numbers, check_range
from msjax.dataset.run import row_rng
from msjax.dataset.transforms.base import Transform
from msjax.dataset.vision.enums import ImageBatchFormat
from msjax.dataset.vision.image import ImageTransform, size_of
from msjax.dataset.vision.sizes import random_window

__all__ = ["CutMixBatch", "CutOut", "MixUpBatch", "RandomErasing"]


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
        >>> bool((vision.RandomErasing(1.0)(np.ones((3, 8, 8))) == 0).any())
        True
    """

    _takes = ("array",)

    def __init__(
        self,
        prob: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: int | tuple[int, ...] | str = 0,
        inplace: bool = False,
        max_attempts: int = 10,
    ):
        who = "RandomErasing"
        self.prob: Any = check_number(prob, "prob", who, low=0, high=1)
        self.scale, self.ratio = check_range(scale, "scale", who, low=0), check_range(ratio, "ratio", who, low=0)
        if value != "random":
            value = check_numbers((value,) if is_number(value) else value, "value", who, low=0, high=255)
        self.value = value
        self.inplace: bool = check_bool(inplace, "inplace", who)
        self.max_attempts: int = check_int(max_attempts, "max_attempts", who, low=1)

    def _check_array(self, array):
        check_data(array, array.ndim == 3, "the image should have the axes (channels, height, width)", "RandomErasing")

    def _apply(self, image):
        rng = row_rng()
        if rng.random() >= self.prob:
            return image
        channels, height, width = image.shape
        top, left, tall, wide = random_window(height, width, self.scale, self.ratio, self.max_attempts)
        value = rng.standard_normal((channels, tall, wide)) if self.value == "random" else np.reshape(self.value, (-1, 1, 1))
        check_data(image, value.shape[0] in (1, channels), f"'value' is for {value.shape[0]} channels", "RandomErasing")
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
        >>> bool((vision.CutOut(4)(np.ones((8, 8, 3))) == 0).any())
        True
    """

    _gives_arrays = True

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

    def _check(self, images, labels):
        fits = images.ndim == 4 and labels.ndim in (2, 3) and len(images) == len(labels)
        should = "it takes a batch of images (four axes) and their one-hot labels (two or three axes)"
        check_data((images, labels), fits, should, type(self).__name__)

    def _mix_labels(self, labels, others, share):
        share = np.reshape(share, (-1,) + (1,) * (labels.ndim - 1))
        return (share * labels + (1 - share) * labels[others]).astype(np.float32)


class MixUpBatch(_MixedBatch):
    """Each image of a batch mixed with another one, and their labels, by shares of a beta distribution of `alpha`. For `map` after `batch`.

    Example:
        >>> images, labels = vision.MixUpBatch()(np.ones((2, 3, 3, 1), np.float32), np.eye(2))
        >>> images.shape, labels.sum(1)
        ((2, 3, 3, 1), array([1., 1.], dtype=float32))
    """

    def __init__(self, alpha: float = 1.0):
        self.alpha: Any = check_number(alpha, "alpha", "MixUpBatch", above=0)

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
        >>> cut = vision.CutMixBatch(vision.ImageBatchFormat.NHWC)
        >>> images, labels = cut(np.ones((2, 3, 3, 1), np.float32), np.eye(2))
        >>> images.shape, labels.shape
        ((2, 3, 3, 1), (2, 2))
    """

    def __init__(self, image_batch_format: ImageBatchFormat, alpha: float = 1.0, prob: float = 1.0):
        self.image_batch_format: Any = check_enum(image_batch_format, ImageBatchFormat, "image_batch_format", "CutMixBatch")
        self.alpha: Any = check_number(alpha, "alpha", "CutMixBatch", above=0)
        self.prob: Any = check_number(prob, "prob", "CutMixBatch", low=0, high=1)

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
