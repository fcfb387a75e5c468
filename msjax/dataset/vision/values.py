"""Transforms of an image's values, type and layout, and decoding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msjax.common.typing import DTypeLike
from msjax.core.base.checks import check_bool, check_number, check_one_of
from msjax.core.base.errors import describe
from msjax.dataset.checks import check_data, check_numbers
from msjax.dataset.transforms.base import OF_BATCHES
from msjax.dataset.transforms.general import TypeCast
from msjax.dataset.values import is_pil, numpy_dtype
from msjax.dataset.vision.image import ImageTransform, as_pil, decode_image

__all__ = ["Decode", "HWC2CHW", "Normalize", "NormalizePad", "Rescale", "ToNumpy", "ToPIL", "ToTensor", "ToType"]


class Decode(ImageTransform):
    """Decode the bytes of an image file into RGB. Needs Pillow.

    Args:
        to_pil (bool): a Pillow image instead of an array. Default: False.

    Raises:
        TypeError: something else than a vector of bytes.
        RuntimeError: the bytes can't be decoded; with ``to_pil=True`` ValueError.

    Example:
        >>> import io
        >>> from PIL import Image
        >>> file = io.BytesIO()
        >>> Image.new("L", (3, 2), 7).save(file, "PNG")
        >>> vision.Decode()(np.frombuffer(file.getvalue(), np.uint8)).shape
        (2, 3, 3)
    """

    def __init__(self, to_pil: bool = False):
        self.to_pil: bool = check_bool(to_pil, "to_pil", "Decode")

    def _check(self, image):
        if isinstance(image, bytes) and self.to_pil:
            return
        if not isinstance(image, np.ndarray) or image.ndim > 1:
            raise TypeError(f"Decode: the image should be a vector of bytes, but got {describe(image)}.")
        check_data(image, image.dtype == np.uint8 or image.dtype.kind == "S", "the image should be a vector of uint8", "Decode")

    def _apply(self, image):
        return decode_image(image if isinstance(image, bytes) else image.tobytes(), self.to_pil)


class Rescale(ImageTransform):
    """Each value times `rescale`, plus `shift`, as float32.

    Args:
        rescale, shift (float): numbers.

    Raises:
        TypeError: a wrong argument, or no array.

    Example:
        >>> vision.Rescale(0.5, 1.0)(np.array([[2, 4]], np.uint8))
        array([[2., 3.]], dtype=float32)
    """

    _gives_arrays = True

    def __init__(self, rescale: float, shift: float):
        self.rescale: Any = check_number(rescale, "rescale", "Rescale")
        self.shift: Any = check_number(shift, "shift", "Rescale")

    def _check_array(self, array):
        check_data(array, array.dtype.kind in "biuf", "the image should hold numbers", "Rescale")

    def _apply(self, image):
        result = np.multiply(image, np.float32(self.rescale), dtype=np.float32)
        result += np.float32(self.shift)
        return result


class Normalize(ImageTransform):
    """Each channel less its mean, divided by its standard deviation, as float32.

    Args:
        mean (list or tuple): for each channel, or one for all; in [0, 255].
        std (list or tuple): as many, in (0, 255].
        is_hwc (bool): channels are the last axis; otherwise the first. Default: True.

    Raises:
        TypeError, ValueError: a wrong argument.
        RuntimeError: the image has another number of channels.

    Example:
        >>> vision.Normalize([1.0, 2.0], [2.0, 2.0])(np.array([[[3, 4]]], np.uint8))
        array([[[1., 1.]]], dtype=float32)
    """

    _gives_arrays = True

    def __init__(self, mean: Sequence[float], std: Sequence[float], is_hwc: bool = True):
        who = type(self).__name__
        self.mean: tuple[Any, ...] = check_numbers(mean, "mean", who, low=0, high=255)
        self.std: tuple[Any, ...] = check_numbers(std, "std", who, low=0, high=255)
        if not self.mean or len(self.mean) != len(self.std) or 0 in self.std:
            raise ValueError(
                f"For '{who}', 'mean' and 'std' should be equally many, and 'std' not 0, but got mean={self.mean}, std={self.std}."
            )
        self.is_hwc: bool = check_bool(is_hwc, "is_hwc", who)
        self._mean = np.array(self.mean, np.float32)
        self._scale = (1 / np.array(self.std, np.float64)).astype(np.float32)

    def _channels_of(self, image):
        channels = 1 if image.ndim == 2 else image.shape[-1 if self.is_hwc else 0]
        if len(self.mean) not in (1, channels):
            raise RuntimeError(
                f"{type(self).__name__}: 'mean' and 'std' are for {len(self.mean)} channels, but the image has {channels}: "
                f"{describe(image)}."
            )
        return channels

    def _apply(self, image):
        self._channels_of(image)
        shape, mean, scale = image.shape, self._mean, self._scale
        if image.ndim == 3 and not self.is_hwc:
            mean, scale = mean[:, None, None], scale[:, None, None]
        elif len(mean) > 1:
            # numpy is slow where the last axis is short: take rows of pixels as one axis.
            mean, scale = np.tile(mean, shape[1]), np.tile(scale, shape[1])
            image = image.reshape(shape[0], -1)
        result = np.subtract(image, mean, dtype=np.float32)
        result *= scale
        return result.reshape(shape)


class NormalizePad(Normalize):
    """`Normalize`, and one channel of zeros more.

    Args:
        mean, std, is_hwc: as in `Normalize`.
        dtype (str): "float32" or "float16". Default: "float32".

    Example:
        >>> vision.NormalizePad([1.0, 2.0], [2.0, 2.0])(np.array([[[3, 4]]], np.uint8))
        array([[[1., 1., 0.]]], dtype=float32)
    """

    def __init__(self, mean: Sequence[float], std: Sequence[float], dtype: str = "float32", is_hwc: bool = True):
        super().__init__(mean, std, is_hwc)
        self.dtype: str = check_one_of(dtype, ("float32", "float16"), "dtype", "NormalizePad")

    def _apply(self, image):
        result = super()._apply(image if image.ndim == 3 else image[..., None])
        axis = 2 if self.is_hwc else 0
        widths = [(0, 1) if i == axis else (0, 0) for i in range(3)]
        return np.pad(result, widths).astype(self.dtype)


class HWC2CHW(ImageTransform):
    """Channels from the last axis to the first; an image without channels stays.

    Raises:
        RuntimeError: other numbers of axes than two or three.

    Example:
        >>> vision.HWC2CHW()(np.zeros((5, 4, 3))).shape
        (3, 5, 4)
    """

    _gives_arrays = True

    def _apply(self, image):
        return image if image.ndim == 2 else np.ascontiguousarray(image.transpose(2, 0, 1))


class ToTensor(ImageTransform):
    """An image with channels in front and values divided by 255; the result is a numpy array.

    Args:
        output_type: a type such as ``np.float32``, which is the default, or ``ms.float16``.

    Example:
        >>> vision.ToTensor()(np.full((5, 4, 3), 255, np.uint8)).shape
        (3, 5, 4)
    """

    def __init__(self, output_type: DTypeLike = np.float32):
        self.output_type: Any = numpy_dtype(output_type, "output_type", "ToTensor")

    def _check_array(self, array):
        super()._check_array(array)
        fits = array.dtype not in (np.int64, np.uint32, np.uint64)
        check_data(array, fits, "the image should be of a type whose numbers float32 can hold", "ToTensor")

    def _apply(self, image):
        array = np.asarray(image)
        array = array[..., None] if array.ndim == 2 else array
        return np.divide(np.ascontiguousarray(array.transpose(2, 0, 1)), np.float32(255), dtype=np.float32).astype(
            self.output_type, copy=False
        )


class ToPIL(ImageTransform):
    """A Pillow image of an array; a Pillow image stays.

    Raises:
        TypeError: something else.
        ValueError: the array is no image.

    Example:
        >>> vision.ToPIL()(np.zeros((5, 4, 3), np.uint8)).size
        (4, 5)
    """

    def _check_array(self, array):
        if array.ndim not in (2, 3):
            raise ValueError(f"ToPIL: the image should have two or three axes, but got {describe(array)}.")

    def _apply(self, image):
        return image if is_pil(image) else as_pil(image, "ToPIL")


class ToNumpy(ImageTransform):
    """An array of a Pillow image; an array stays.

    Example:
        >>> from PIL import Image
        >>> vision.ToNumpy()(Image.new("RGB", (4, 5))).shape
        (5, 4, 3)
    """

    def _apply(self, image):
        return np.array(image)


class ToType(TypeCast):
    """Cast to another type, `data_type`, as `transforms.TypeCast` does.

    Example:
        >>> vision.ToType(np.float32)(np.array([1]))
        array([1.], dtype=float32)
    """


# ---- several images at once

# Images of so many pixels are normalized one by one, which leaves them in the cache.
_LARGE_IMAGE = 2**13


def _of_images(transform, images):
    transform._check_array(images[0])
    return transform._apply(images)


def _channels_to_front(transform, images):
    transform._check_array(images[0])
    return images if images.ndim == 3 else _in_front(images)


def _in_front(images):
    """(images, channels, height, width) from (images, height, width, channels), contiguous."""
    result = np.empty((len(images), images.shape[3], *images.shape[1:3]), images.dtype)
    for channel in range(images.shape[3]):  # faster than all at once, where the last axis is short
        result[:, channel] = images[..., channel]
    return result


def _normalized(transform, images):
    if not transform.is_hwc or len(transform.mean) == 1:
        transform._check_array(images[0])
        transform._channels_of(images[0])
        shape = (-1,) + (1,) * (images[0].ndim - 1)
        result = np.subtract(images, transform._mean.reshape(shape), dtype=np.float32)
        result *= transform._scale.reshape(shape)
        return result
    channels = normalize_to_channels_in_front(transform, images)
    return channels if images.ndim == 3 else np.ascontiguousarray(channels.transpose(0, 2, 3, 1))


def normalize_to_channels_in_front(normalize: Normalize, images: np.ndarray) -> np.ndarray:
    """What `Normalize` and then `HWC2CHW` make of several images."""
    normalize._check_array(images[0])
    channels = normalize._channels_of(images[0])
    mean, scale = (np.resize(v, channels)[:, None, None] for v in (normalize._mean, normalize._scale))
    planes = images[:, None] if images.ndim == 3 else images.transpose(0, 3, 1, 2)
    result = np.empty(planes.shape, np.float32)
    large = planes.shape[2] * planes.shape[3] > _LARGE_IMAGE
    for some in map(slice, range(len(result)), range(1, len(result) + 1)) if large else (slice(None),):
        for at in range(channels):
            np.subtract(planes[some, at], mean[at], result[some, at], dtype=np.float32)
        result[some] *= scale
    return result[:, 0] if images.ndim == 3 else result


def _to_tensors(transform, images):
    transform._check_array(images[0])
    images = images[..., None] if images.ndim == 3 else images
    result = np.divide(_in_front(images), np.float32(255), dtype=np.float32)
    return result.astype(transform.output_type, copy=False)


OF_BATCHES.update(
    {
        Rescale: _of_images,
        Normalize: _normalized,
        HWC2CHW: _channels_to_front,
        ToTensor: _to_tensors,
        ToType: TypeCast._apply,
    }
)
