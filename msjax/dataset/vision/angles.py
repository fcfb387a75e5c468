"""Transforms of an image's direction: mirrored, turned, skewed. Turning and skewing need Pillow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msjax.core.base.checks import check_bool, check_number, check_value, is_number
from msjax.dataset.checks import check_enum, check_numbers, check_range
from msjax.dataset.run import row_rng
from msjax.dataset.vision.enums import Inter
from msjax.dataset.vision.image import ImageLike, ImageTransform, flip, pillow, resampling, size_of, through_pil
from msjax.dataset.vision.sizes import check_fill

__all__ = [
    "Affine", "HorizontalFlip", "RandomAffine", "RandomHorizontalFlip", "RandomRotation", "RandomVerticalFlip", "Rotate",
    "VerticalFlip",
]  # fmt: skip


class HorizontalFlip(ImageTransform):
    """The image mirrored from left to right.

    Example:
        >>> vision.HorizontalFlip()(np.array([[1, 2]]))
        array([[2, 1]])
    """

    _gives_arrays = True
    _takes_pixels = True

    _horizontally = True

    def _check_array(self, array):
        if array.ndim < 2 or array.dtype.kind not in "biuf":
            super()._check_array(array)

    def _apply(self, image: ImageLike):
        return flip(image, self._horizontally)


class VerticalFlip(HorizontalFlip):
    """The image mirrored from top to bottom.

    Example:
        >>> vision.VerticalFlip()(np.array([[1], [2]]))
        array([[2],
               [1]])
    """

    _horizontally = False


class RandomHorizontalFlip(HorizontalFlip):
    """The image, or with the probability `prob`, by default 0.5, the image mirrored from left to right.

    Raises:
        TypeError, ValueError: no number in [0, 1].

    Example:
        >>> vision.RandomHorizontalFlip(1.0)(np.array([[1, 2]]))
        array([[2, 1]])
    """

    _gives_arrays = False

    def __init__(self, prob: float = 0.5):
        self.prob: Any = check_number(prob, "prob", type(self).__name__, low=0, high=1)

    def _apply(self, image: ImageLike):
        return flip(image, self._horizontally) if row_rng().random() < self.prob else image


class RandomVerticalFlip(RandomHorizontalFlip):
    """The image, or with the probability `prob`, by default 0.5, the image mirrored from top to bottom.

    Example:
        >>> vision.RandomVerticalFlip(0.0)(np.array([[1], [2]]))
        array([[1],
               [2]])
    """

    _horizontally = False


class Rotate(ImageTransform):
    """The image turned to the left.

    Args:
        degrees (float): the angle.
        resample (Inter): as in `Resize`. Default: `Inter.NEAREST`.
        expand (bool): let the image grow, so that nothing is cut off. Default: False.
        center (tuple or list of two, optional): (x, y) of the point that stays. Default: the middle.
        fill_value (int or tuple): what stands in the corners. Default: 0.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> vision.Rotate(90, expand=True)(np.array([[1, 2]], np.uint8))
        array([[2],
               [1]], dtype=uint8)
    """

    _gives_arrays = True

    def __init__(
        self,
        degrees: float,
        resample: Inter = Inter.NEAREST,
        expand: bool = False,
        center: Sequence[int] | None = None,
        fill_value: int | tuple[int, ...] = 0,
    ):
        self._check_settings(resample, expand, center, fill_value)
        self.degrees: Any = check_number(degrees, "degrees", "Rotate")

    def _check_settings(self, resample, expand, center, fill_value):
        who = type(self).__name__
        self.resample: Any = check_enum(resample, Inter, "resample", who)
        self.expand: bool = check_bool(expand, "expand", who)
        self.center: tuple[Any, ...] | None = None if center is None else check_numbers(center, "center", who, 2)
        self.fill_value: Any = check_fill(fill_value, who)

    def _angle(self):
        return self.degrees

    def _apply(self, image: ImageLike):
        angle, kind = self._angle(), rotating(self.resample)

        def turn(pil):
            return pil.rotate(angle, kind, self.expand, self.center, fillcolor=fill_for(pil, self.fill_value))

        return through_pil(turn, image, type(self).__name__)


def rotating(interpolation: Any) -> Any:
    """Pillow's filter for turning, which knows three."""
    return resampling(interpolation if interpolation in (Inter.NEAREST, Inter.BICUBIC, Inter.PILCUBIC) else Inter.BILINEAR)


def fill_for(pil: Any, fill: Any) -> Any:
    """A colour that fits the image's mode."""
    bands = len(pil.getbands())
    if bands == 1:
        return fill if isinstance(fill, int) else fill[0]
    return (fill,) * bands if isinstance(fill, int) else tuple(fill)


class RandomRotation(Rotate):
    """The image turned by an angle by chance.

    Args:
        degrees (float, or tuple or list of two): the least and the largest angle; a number x is (-x, x).
        resample, expand, center, fill_value: as in `Rotate`.

    Example:
        >>> vision.RandomRotation(10)(np.zeros((5, 4, 3), np.uint8)).shape
        (5, 4, 3)
    """

    _gives_arrays = False

    def __init__(
        self,
        degrees: float | Sequence[int],
        resample: Any = Inter.NEAREST,
        expand: bool = False,
        center: Any = None,
        fill_value: int = 0,
    ):
        self._check_settings(resample, expand, center, fill_value)
        self.degrees: Any = check_degrees(degrees, "RandomRotation")

    def _angle(self):
        return float(row_rng().uniform(*self.degrees))


def check_degrees(degrees: Any, who: Any) -> Any:
    """(least, largest) angle; a number x, not negative, is (-x, x)."""
    if is_number(degrees):
        x = check_number(degrees, "degrees", who, low=0)
        return -x, x
    return check_range(degrees, "degrees", who)


class Affine(ImageTransform):
    """The image turned, moved, scaled and skewed.

    Args:
        degrees (float): the angle, to the right.
        translate (list or tuple of two): how far to the right and down, as shares of width and height, in [-1, 1].
        scale (float): the factor of size.
        shear (float, or list or tuple of two): the angles that x and y are skewed by.
        resample (Inter): as in `Resize`. Default: `Inter.NEAREST`.
        fill_value (int or tuple): what stands where nothing is. Default: 0.

    Example:
        >>> vision.Affine(0, (0.5, 0), 1.0, 0)(np.array([[1, 2]], np.uint8))
        array([[0, 1]], dtype=uint8)
    """

    _gives_arrays = True

    def __init__(
        self,
        degrees: float,
        translate: Sequence[int],
        scale: float,
        shear: float | Sequence[int],
        resample: Inter = Inter.NEAREST,
        fill_value: int | tuple[int, ...] = 0,
    ):
        who = "Affine"
        self.degrees: Any = check_number(degrees, "degrees", who)
        self.translate: tuple[Any, ...] = check_numbers(translate, "translate", who, 2, -1, 1)
        self.scale: Any = check_number(scale, "scale", who, above=0)
        self.shear = (shear, 0) if is_number(shear) else check_numbers(shear, "shear", who, 2)
        self.resample: Any = check_enum(resample, Inter, "resample", who)
        self.fill_value: Any = check_fill(fill_value, who)

    def _apply(self, image: ImageLike):
        return affine(image, self.degrees, self.translate, self.scale, self.shear, self.resample, self.fill_value, "Affine")


class RandomAffine(ImageTransform):
    """The image turned, moved, scaled and skewed by chance.

    Args:
        degrees (float, or tuple or list of two): the least and the largest angle; a number x is (-x, x).
        translate (tuple or list of two or four, optional): the least and the largest move to the right, then down, as shares of
            width and height, in [-1, 1].
        scale (tuple or list of two, optional): the least and the largest factor of size.
        shear (float, or tuple or list of two or four, optional): the least and the largest angle that x, then y is skewed by.
        resample (Inter), fill_value (int or tuple): as in `Affine`.

    Example:
        >>> vision.RandomAffine(10, (-0.1, 0.1), (0.9, 1.1))(np.zeros((5, 4, 3), np.uint8)).shape
        (5, 4, 3)
    """

    def __init__(
        self,
        degrees: float | Sequence[int],
        translate: Any = None,
        scale: Sequence[int] | None = None,
        shear: Any = None,
        resample: Any = Inter.NEAREST,
        fill_value: int = 0,
    ):
        who = "RandomAffine"
        self.degrees: Any = check_degrees(degrees, who)
        self.translate = self._ranges(translate, "translate", low=-1, high=1)
        self.scale = (1, 1) if scale is None else check_range(scale, "scale", who, low=0)
        self.shear = self._ranges((-abs(shear), abs(shear)) if is_number(shear) else shear, "shear")
        self.resample: Any = check_enum(resample, Inter, "resample", who)
        self.fill_value: Any = check_fill(fill_value, who)

    @staticmethod
    def _ranges(values, name, low=None, high=None):
        """Two ranges from one or both; None leaves both at zero."""
        if values is None:
            return (0, 0), (0, 0)
        values = check_numbers(values, name, "RandomAffine", low=low, high=high)
        check_value(values, len(values) in (2, 4), "hold two or four numbers", name, "RandomAffine")
        return values[:2], values[2:] or (0, 0)

    def _apply(self, image: ImageLike):
        rng = row_rng()
        degrees, scale = rng.uniform(*self.degrees), rng.uniform(*self.scale)
        translate, shear = ([rng.uniform(*sorted(r)) for r in ranges] for ranges in (self.translate, self.shear))
        return affine(image, degrees, translate, scale, shear, self.resample, self.fill_value, "RandomAffine")


def affine(
    image: ImageLike, degrees: Any, translate: Any, scale: Any, shear: Any, interpolation: Any, fill: Any, who: Any
) -> ImageLike:
    """The image turned, scaled and skewed around its middle, then moved."""
    height, width = size_of(image)
    turn, skew_x, skew_y = math.radians(degrees), math.radians(shear[0]), math.radians(shear[1])
    # turn . skew_y . skew_x, scaled: from old to new coordinates around the middle.
    a = math.cos(turn - skew_y) / math.cos(skew_y)
    b = -math.cos(turn - skew_y) * math.tan(skew_x) / math.cos(skew_y) - math.sin(turn)
    c = math.sin(turn - skew_y) / math.cos(skew_y)
    d = -math.sin(turn - skew_y) * math.tan(skew_x) / math.cos(skew_y) + math.cos(turn)
    a, b, c, d = (scale * v for v in (a, b, c, d))
    x0, y0 = width / 2, height / 2
    x1, y1 = x0 + translate[0] * width, y0 + translate[1] * height
    determinant = a * d - b * c
    if abs(determinant) < 1e-9:
        raise RuntimeError(f"{who}: an image can't be scaled to nothing.")
    # Pillow asks for the way back, from new to old coordinates.
    a, b, c, d = d / determinant, -b / determinant, -c / determinant, a / determinant
    back = (a, b, x0 - a * x1 - b * y1, c, d, y0 - c * x1 - d * y1)
    kind = rotating(interpolation)

    def change(pil):
        return pil.transform(pil.size, pillow().Transform.AFFINE, back, kind, fillcolor=fill_for(pil, fill))

    return through_pil(change, image, who)
