"""Transforms of an image's size: resizing, cropping, padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_int, check_kind, check_value, is_int
from msjax.dataset.checks import check_data, check_enum, check_range, check_size
from msjax.dataset.run import row_rng
from msjax.dataset.values import is_pil
from msjax.dataset.vision.enums import Border, Inter
from msjax.dataset.vision.image import ImageLike, ImageTransform, crop, decode_image, flip, pad, resize, size_of

__all__ = [
    "CenterCrop", "Crop", "FiveCrop", "Pad", "PadToSize", "RandomCrop", "RandomCropDecodeResize", "RandomResize",
    "RandomResizedCrop", "Resize", "ResizedCrop", "TenCrop",
]  # fmt: skip


def check_padding(padding: int | Sequence[int], who: str) -> tuple[Any, ...]:
    """(left, top, right, bottom) from an int, from (left and right, top and bottom), or from all four."""
    sides: Any = (padding,) * 4 if is_int(padding) else padding
    should = "be an int, or a tuple or list of two or four"
    check_kind(sides, isinstance(sides, (tuple, list)) and all(map(is_int, sides)), should, "padding", who)
    check_value(sides, len(sides) in (2, 4), should, "padding", who)
    return tuple(check_int(side, "padding", who, low=0) for side in (sides if len(sides) == 4 else tuple(sides) * 2))


def check_fill(value: int | tuple[int, ...], who: str) -> Any:
    """The value, if it is an int from 0 to 255, or a tuple of them, one for each channel."""
    for one in value if isinstance(value, tuple) else (value,):
        check_int(one, "fill_value", who, low=0, high=255)
    return value


class Resize(ImageTransform):
    """Another size.

    Args:
        size (int, or tuple or list of two): (height, width); an int is that of the shorter side, and the other is in proportion.
        interpolation (Inter): Default: `Inter.LINEAR`. Arrays are resized as OpenCV does, without antialiasing;
            Pillow images, and with `Inter.PILCUBIC` and `Inter.ANTIALIAS` arrays, too, as Pillow does.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: an array that is no image.

    Example:
        >>> vision.Resize(4)(np.zeros((2, 3, 3), np.uint8)).shape
        (4, 6, 3)
    """

    _takes_pixels = True

    def __init__(self, size: int | Sequence[int], interpolation: Inter = Inter.LINEAR):
        who = type(self).__name__
        self.size: Any = check_size(size, "size", who, square=False)
        self.interpolation: Any = check_enum(interpolation, Inter, "interpolation", who)

    def _apply(self, image):
        return resize(image, *target_size(self.size, image), self.interpolation, type(self).__name__)


def target_size(size: int | Sequence[int], image: ImageLike) -> tuple[int, int]:
    """(height, width) from both, or from the shorter side and the image's proportions."""
    if not is_int(size):
        return size
    height, width = size_of(image)
    if height < width:
        return size, int(size * width / height)
    return int(size * height / width), size


class RandomResize(Resize):
    """`Resize` to a `size`, as there, with a way to interpolate by chance.

    Example:
        >>> vision.RandomResize(4)(np.zeros((2, 3, 3), np.uint8)).shape
        (4, 6, 3)
    """

    def __init__(self, size: int | Sequence[int]):
        super().__init__(size)

    def _apply(self, image):
        kinds = (Inter.NEAREST, Inter.LINEAR, Inter.CUBIC, Inter.AREA)
        kind = kinds[int(row_rng().integers(len(kinds)))]
        return resize(image, *target_size(self.size, image), kind, "RandomResize")


class CenterCrop(ImageTransform):
    """The middle of an image, of `size`, (height, width), an int for both; where the image is too small, zeros stand around it.

    Example:
        >>> vision.CenterCrop(2)(np.arange(16).reshape(4, 4))
        array([[ 5,  6],
               [ 9, 10]])
    """

    _takes_pixels = True

    def __init__(self, size: int | Sequence[int]):
        self.size: Any = check_size(size, "size", "CenterCrop")

    def _apply(self, image):
        height, width = self.size
        extra_height, extra_width = (max(0, new - old) for new, old in zip(self.size, size_of(image)))
        if extra_height or extra_width:
            top, left = extra_height // 2, extra_width // 2
            image = pad(image, left, top, extra_width - left, extra_height - top, 0, Border.CONSTANT)
        top, left = ((old - new) / 2 for old, new in zip(size_of(image), self.size))
        # As in MindSpore, a half is cut for arrays and rounded to the even neighbour for PIL images.
        whole = round if is_pil(image) else int
        return crop(image, whole(top), whole(left), height, width)


class Crop(ImageTransform):
    """A window of an image.

    Args:
        coordinates (tuple or list): (top, left).
        size (int, or tuple or list of two): (height, width).

    Raises:
        RuntimeError: the window is not within the image.

    Example:
        >>> vision.Crop((0, 1), 2)(np.arange(9).reshape(3, 3))
        array([[1, 2],
               [4, 5]])
    """

    _gives_arrays = True
    _takes_pixels = True

    def __init__(self, coordinates: Sequence[Any], size: int | Sequence[int]):
        fits = isinstance(coordinates, (tuple, list)) and len(coordinates) == 2
        check_kind(coordinates, fits, "be a tuple or list of two ints", "coordinates", "Crop")
        self.coordinates: tuple[int, ...] = tuple(check_int(c, "coordinates", "Crop", low=0) for c in coordinates)
        self.size: Any = check_size(size, "size", "Crop")

    def _apply(self, image):
        for start, wanted, there in zip(self.coordinates, self.size, size_of(image)):
            if start + wanted > there:
                raise RuntimeError(
                    f"Crop: a window of {self.size} at {self.coordinates} is not within an image of {size_of(image)}."
                )
        return crop(image, *self.coordinates, *self.size)


class RandomCrop(ImageTransform):
    """A window of an image, somewhere.

    Args:
        size (int, or tuple or list of two): (height, width).
        padding (int, or tuple or list of two or four, optional): a margin that is added before, as in `Pad`.
        pad_if_needed (bool): add a margin where the image is too small. Default: False.
        fill_value, padding_mode: as in `Pad`.

    Raises:
        RuntimeError: the image is too small.

    Example:
        >>> vision.RandomCrop((2, 3), padding=1)(np.zeros((4, 4, 3), np.uint8)).shape
        (2, 3, 3)
    """

    _takes_pixels = True

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill_value: int | tuple[int, ...] = 0,
        padding_mode: Border = Border.CONSTANT,
    ):
        who = type(self).__name__
        self.size: Any = check_size(size, "size", who)
        self.padding: tuple[Any, ...] | None = None if padding is None else check_padding(padding, who)
        self.pad_if_needed: bool = check_bool(pad_if_needed, "pad_if_needed", who)
        self.fill_value: Any = check_fill(fill_value, who)
        self.padding_mode: Any = check_enum(padding_mode, Border, "padding_mode", who)

    def _apply(self, image):
        height, width = self.size
        if self.padding is not None:
            image = pad(image, *self.padding, self.fill_value, self.padding_mode)
        if self.pad_if_needed:
            tall, wide = (max(0, new - old) for new, old in zip(self.size, size_of(image)))
            image = pad(image, wide, tall, wide, tall, self.fill_value, self.padding_mode)
        old_height, old_width = size_of(image)
        if height > old_height or width > old_width:
            raise RuntimeError(f"RandomCrop: the image of {size_of(image)} is smaller than the window of {self.size}.")
        rng = row_rng()
        top, left = int(rng.integers(old_height - height + 1)), int(rng.integers(old_width - width + 1))
        return crop(image, top, left, height, width)


class RandomResizedCrop(ImageTransform):
    """A window of an image with an area and proportions by chance, in a given size.

    Args:
        size (int, or tuple or list of two): (height, width) of the result.
        scale (list or tuple of two): the least and the largest share of the image's area. Default: (0.08, 1.0).
        ratio (list or tuple of two): the least and the largest width for a height of 1. Default: (3/4, 4/3).
        interpolation (Inter): as in `Resize`. Default: `Inter.BILINEAR`.
        max_attempts (int): after so many windows that don't fit the middle is taken. Default: 10.

    Example:
        >>> vision.RandomResizedCrop(5)(np.zeros((8, 9, 3), np.uint8)).shape
        (5, 5, 3)
    """

    _takes_pixels = True

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3 / 4, 4 / 3),
        interpolation: Inter = Inter.BILINEAR,
        max_attempts: int = 10,
    ):
        who = type(self).__name__
        self.size: Any = check_size(size, "size", who)
        self.scale: tuple[Any, ...] = check_range(scale, "scale", who, low=0)
        self.ratio: tuple[Any, ...] = check_range(ratio, "ratio", who, low=0)
        if not self.scale[1] or not self.ratio[0]:
            raise ValueError(f"For '{who}', 'scale' and 'ratio' should be positive, but got {self.scale} and {self.ratio}.")
        self.interpolation: Any = check_enum(interpolation, Inter, "interpolation", who)
        self.max_attempts: int = check_int(max_attempts, "max_attempts", who, low=1)

    def _apply(self, image):
        window = random_window(*size_of(image), self.scale, self.ratio, self.max_attempts)
        return resize(crop(image, *window), *self.size, self.interpolation, type(self).__name__)


def random_window(height: int, width: int, scale: Sequence[float], ratio: Sequence[float], attempts: int) -> tuple[Any, ...]:
    """(top, left, height, width) of a window with a share of the area and proportions by chance."""
    rng = row_rng()
    for _ in range(attempts):
        area = height * width * rng.uniform(scale[0], scale[1])
        aspect = math.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1])))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return int(rng.integers(height - h + 1)), int(rng.integers(width - w + 1)), h, w
    aspect = min(max(width / height, ratio[0]), ratio[1])
    w, h = min(width, round(height * aspect)), min(height, round(width / aspect))
    return (height - h) // 2, (width - w) // 2, max(h, 1), max(w, 1)


class RandomCropDecodeResize(RandomResizedCrop):
    """`Decode`, then `RandomResizedCrop`, whose arguments it has. Needs Pillow.

    Example:
        >>> import io
        >>> from PIL import Image
        >>> file = io.BytesIO()
        >>> Image.new("RGB", (9, 8)).save(file, "PNG")
        >>> vision.RandomCropDecodeResize(5)(np.frombuffer(file.getvalue(), np.uint8)).shape
        (5, 5, 3)
    """

    _takes = ("array",)

    def _check_array(self, array):
        fits = array.ndim == 1 and array.dtype == np.uint8
        check_data(array, fits, "the image should be a vector of uint8", "RandomCropDecodeResize")

    def _apply(self, image):
        return super()._apply(decode_image(image.tobytes()))


class Pad(ImageTransform):
    """A margin around an image.

    Args:
        padding (int, or tuple or list of two or four): on all sides; left and right, then top and bottom; or left, top, right,
            bottom.
        fill_value (int or tuple): the margin's value, or one for each channel. Default: 0.
        padding_mode (Border): what stands in the margin. Default: `Border.CONSTANT`.

    Example:
        >>> vision.Pad((1, 0), fill_value=9)(np.array([[1, 2]]))
        array([[9, 1, 2, 9]])
    """

    def __init__(
        self, padding: int | Sequence[int], fill_value: int | tuple[int, ...] = 0, padding_mode: Border = Border.CONSTANT
    ):
        self.padding: tuple[Any, ...] = check_padding(padding, "Pad")
        self.fill_value: Any = check_fill(fill_value, "Pad")
        self.padding_mode: Any = check_enum(padding_mode, Border, "padding_mode", "Pad")

    def _apply(self, image):
        return pad(image, *self.padding, self.fill_value, self.padding_mode)


class PadToSize(ImageTransform):
    """A margin that gives an image a size.

    Args:
        size (int, or tuple or list of two): (height, width), not below the image's.
        offset (int, or tuple or list of two, optional): how much of the margin is at the top and the left. Default: half.
        fill_value, padding_mode: as in `Pad`.

    Example:
        >>> vision.PadToSize((1, 4))(np.array([[1, 2]]))
        array([[0, 1, 2, 0]])
    """

    _gives_arrays = True

    def __init__(
        self,
        size: int | Sequence[int],
        offset: int | Sequence[int] | None = None,
        fill_value: int = 0,
        padding_mode: Border = Border.CONSTANT,
    ):
        who = "PadToSize"
        self.size: Any = check_size(size, "size", who)
        offsets: Any = (offset, offset) if is_int(offset) else offset
        self.offset: tuple[int, ...] | None = (
            None if offsets is None or not len(offsets) else tuple(check_int(o, "offset", who, low=0) for o in offsets)
        )
        self.fill_value: Any = check_fill(fill_value, who)
        self.padding_mode: Any = check_enum(padding_mode, Border, "padding_mode", who)

    def _apply(self, image):
        extra = [new - old for new, old in zip(self.size, size_of(image))]
        before = [e // 2 for e in extra] if self.offset is None else list(self.offset)
        fits = min(extra) >= 0 and all(b <= e for b, e in zip(before, extra))
        check_data(
            image, fits, f"the image of {size_of(image)} should fit into {self.size} with the offset {before}", "PadToSize"
        )
        (top, left), (tall, wide) = before, extra
        return pad(image, left, top, wide - left, tall - top, self.fill_value, self.padding_mode)


class ResizedCrop(ImageTransform):
    """A window of an image in another size.

    Args:
        top, left, height, width (int): the window.
        size (int, or tuple or list of two): (height, width) of the result.
        interpolation (Inter): as in `Resize`. Default: `Inter.BILINEAR`.

    Example:
        >>> vision.ResizedCrop(0, 0, 2, 2, (4, 5))(np.zeros((3, 3, 3), np.uint8)).shape
        (4, 5, 3)
    """

    _gives_arrays = True
    _takes_pixels = True

    def __init__(
        self, top: int, left: int, height: int, width: int, size: int | Sequence[int], interpolation: Inter = Inter.BILINEAR
    ):
        who = "ResizedCrop"
        self.window: tuple[int, int, int, int] = (
            check_int(top, "top", who, low=0), check_int(left, "left", who, low=0),
            check_int(height, "height", who, low=1), check_int(width, "width", who, low=1),
        )  # fmt: skip
        self.size: Any = check_size(size, "size", who)
        self.interpolation: Any = check_enum(interpolation, Inter, "interpolation", who)

    def _apply(self, image):
        top, left, height, width = self.window
        fits = top + height <= size_of(image)[0] and left + width <= size_of(image)[1]
        check_data(image, fits, f"the window {self.window} should be within the image of {size_of(image)}", "ResizedCrop")
        return resize(crop(image, *self.window), *self.size, self.interpolation, "ResizedCrop")


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
