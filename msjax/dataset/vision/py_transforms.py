"""MindSpore 1's transforms of Pillow images; where they differ from `msjax.dataset.vision`, the defaults are others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msjax.core.base.lazy import on_first_use
from msjax.dataset import vision
from msjax.dataset.vision import *  # pyright: ignore[reportAssignmentType]

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(
        __name__,
        {"[A-Z]*": "a function of a numpy array can be given to map in its place."},
        elsewhere="msjax.dataset.vision",
    )


class Decode(vision.Decode):
    """`vision.Decode` into a Pillow image.

    Example:
        >>> from msjax.dataset.vision import py_transforms
        >>> py_transforms.Decode().to_pil
        True
    """

    def __init__(self):
        super().__init__(to_pil=True)


class Normalize(vision.Normalize):
    """`vision.Normalize` by a `mean` and `std` for each channel, of an image with channels in front.

    Example:
        >>> from msjax.dataset.vision import py_transforms
        >>> py_transforms.Normalize([0.5], [0.5]).is_hwc
        False
    """

    def __init__(self, mean: Sequence[Any], std: Sequence[Any]):
        super().__init__(mean, std, is_hwc=False)


class Cutout(vision.CutOut):
    """`vision.CutOut` of `num_patches` squares of the side `length`, of an image with channels in front.

    Example:
        >>> from msjax.dataset.vision import py_transforms
        >>> py_transforms.Cutout(4).is_hwc
        False
    """

    def __init__(self, length: int, num_patches: int = 1):
        super().__init__(length, num_patches, is_hwc=False)
