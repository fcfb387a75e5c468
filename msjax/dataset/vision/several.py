"""Transforms that make several images of one: crops from fixed places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msjax.core.base.checks import check_bool
from msjax.dataset.checks import check_size
from msjax.dataset.vision.image import ImageTransform, crop, flip, size_of

__all__ = ["FiveCrop", "TenCrop"]


class FiveCrop(ImageTransform):
    """The four corners and the middle of a Pillow image, as a tuple of five.

    Args:
        size (int, or tuple or list of two): (height, width) of each; an int is both.

    Raises:
        TypeError, ValueError: a wrong argument, no Pillow image, or one that is smaller.

    Example:
        >>> image = vision.ToPIL()(np.arange(9, dtype=np.uint8).reshape(3, 3))
        >>> [int(np.array(part)[0, 0]) for part in vision.FiveCrop(1)(image)]
        [0, 2, 6, 8, 4]
    """

    _takes = ("pil",)

    def __init__(self, size: int | Sequence[int]):
        self.size: Any = check_size(size, "size", type(self).__name__)

    def _apply(self, image):
        (height, width), (whole_height, whole_width) = self.size, size_of(image)
        if height > whole_height or width > whole_width:
            raise ValueError(f"Crop size {(height, width)} is larger than input image size {(whole_height, whole_width)}.")
        bottom, right = whole_height - height, whole_width - width
        places = ((0, 0), (0, right), (bottom, 0), (bottom, right), (round(bottom / 2), round(right / 2)))
        return tuple(crop(image, top, left, height, width) for top, left in places)


class TenCrop(FiveCrop):
    """What `FiveCrop` gives of a Pillow image, then of its mirror image.

    Args:
        size (int, or tuple or list of two): as in `FiveCrop`.
        use_vertical_flip (bool): the mirror image is upside down, instead of left to right. Default: False.

    Example:
        >>> image = vision.ToPIL()(np.arange(9, dtype=np.uint8).reshape(3, 3))
        >>> [int(np.array(part)[0, 0]) for part in vision.TenCrop(1)(image)]
        [0, 2, 6, 8, 4, 2, 0, 8, 6, 4]
    """

    def __init__(self, size: int | Sequence[int], use_vertical_flip: bool = False):
        super().__init__(size)
        self.use_vertical_flip: bool = check_bool(use_vertical_flip, "use_vertical_flip", "TenCrop")

    def _apply(self, image):
        return (*super()._apply(image), *super()._apply(flip(image, not self.use_vertical_flip)))
