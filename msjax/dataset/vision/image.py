"""What transforms of images share: arrays and Pillow images, and operations that both know."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_str
from msjax.core.base.errors import describe
from msjax.dataset.checks import check_data
from msjax.dataset.run import row_rng
from msjax.dataset.transforms.base import Transform
from msjax.dataset.values import is_pil
from msjax.dataset.vision.enums import Border, Inter
from msjax.dataset.vision.pixels import Pixels, tight
from msjax.dataset.vision.resample import resize_array

if TYPE_CHECKING:
    from PIL import Image

# An image as an array (height, width[, channels]), a Pillow image, or pixels on their way between transforms.
ImageLike: TypeAlias = "np.ndarray | Image.Image | Pixels"


class ImageTransform(Transform):
    """The base of transforms of images: arrays of height x width (x channels), or Pillow images.

    A transform defines `_apply` of an image. Several images are transformed one by one, with the same random numbers.
    """

    # The kinds of images it takes: "array", "pil" or both.
    _takes = ("array", "pil")
    # Whether an array comes of a Pillow image, too, as in MindSpore where C++ does the work.
    _gives_arrays = False
    # Whether `_apply` goes on with `Pixels`, which the transform before may leave; others get an array.
    _takes_pixels = False

    def __call__(self, *images: Any) -> Any:
        result = self.loosely(*images)
        return tuple(map(tight, result)) if type(result) is tuple else tight(result)

    def loosely(self, *images: Any) -> Any:
        """What a call gives, for another transform of images: perhaps `Pixels`, which need not be an array yet."""
        if not images:
            raise RuntimeError(f"{type(self).__name__} should be called with an image, but got none.")
        images = [self._converted(image) for image in images]  # pyright: ignore[reportAssignmentType]
        for image in images:
            if type(image) is not Pixels:
                self._check(image)
        if len(images) == 1:
            return self._apply(images[0])
        generator = row_rng().bit_generator
        state, results = generator.state, []
        for image in images:
            generator.state = state
            results.append(self._apply(image))
        return tuple(results)

    def _converted(self, image):
        if type(image) is Pixels:
            return image if self._takes_pixels else image.array()
        if isinstance(image, Tensor):
            return image.asnumpy()
        return np.array(image) if self._gives_arrays and is_pil(image) else image

    def device(self, device_target: str = "CPU") -> Self:
        """Accepted for compatibility with MindSpore: transforms run on the CPU.

        Args:
            device_target (str): "CPU".

        Raises:
            TypeError, ValueError: another device.
        """
        if check_str(device_target, "device_target", "device") != "CPU":
            raise ValueError(f"For 'device', 'device_target' should be 'CPU', where transforms run, but got {device_target!r}.")
        return self

    def _check(self, image):
        kind = "array" if isinstance(image, np.ndarray) else "pil" if is_pil(image) else None
        if kind not in self._takes:
            named = {"array": "a numpy array", "pil": "a PIL image"}
            expected = " or ".join(named[kind] for kind in self._takes)
            raise TypeError(f"{type(self).__name__}: the image should be {expected}, but got {describe(image)}.")
        if kind == "array":
            self._check_array(image)

    def _check_array(self, array):
        """RuntimeError for an array that is no image: by default it has two axes, or three with channels at the end."""
        fits = array.ndim in (2, 3) and array.dtype.kind in "biuf" and array.size
        should = "the image should have numbers and the axes (height, width) or (height, width, channels)"
        check_data(array, fits, should, type(self).__name__)


def pillow() -> Any:
    """Pillow's module Image."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError(
            "Decoding, and changing the colours and angles of images, needs Pillow: pip install 'msjax[data]'"
        ) from error
    return Image


def file_bytes(path: str, decrypt: Callable[[str], bytes] | None = None) -> np.ndarray:
    """The bytes of a file, as uint8."""
    if decrypt is None:
        return np.fromfile(path, np.uint8)
    content = decrypt(path)
    if not isinstance(content, bytes):
        raise RuntimeError(f"The return value of the decrypt function is not of type bytes: {describe(content)}.")
    return np.frombuffer(content, np.uint8).copy()


def decode_image(content: bytes | np.ndarray, to_pil: bool = False) -> Any:
    """An RGB image from the bytes of a file: `Pixels`, or a Pillow image."""
    try:
        image = pillow().open(io.BytesIO(bytes(content)))
        image.load()
        # A copy of an image that a file was opened as is a plain one.
        image = image.convert("RGB") if to_pil or image.mode != "RGB" else image
    except (OSError, ValueError, SyntaxError) as error:
        raise (ValueError if to_pil else RuntimeError)(f"Decode: the bytes could not be decoded: {error}") from error
    return image if to_pil else Pixels.of_pil(image)


def as_pil(array: np.ndarray, who: str) -> Any:
    """A Pillow image of an array: uint8 with 1, 3 or 4 channels or none, or a float plane."""
    squeezed = array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array
    try:
        return pillow().fromarray(np.ascontiguousarray(squeezed))
    except (TypeError, KeyError, ValueError) as error:
        raise RuntimeError(f"{who}: no PIL image can be made of {describe(array)}: {error}") from error


def through_pil(function: Callable[..., Any], image: Any, who: str) -> ImageLike:
    """A function of Pillow images, on one, or on an array, of which the type and the axes stay."""
    if is_pil(image):
        return function(image)
    try:
        if image.dtype == np.uint8:
            check_data(image, image.ndim != 3 or image.shape[2] in (1, 3, 4), "the image should have 1, 3 or 4 channels", who)
            result = np.array(function(as_pil(image, who)))
            return result[..., None] if image.ndim == 3 and result.ndim == 2 else result
        planes = image.astype(np.float32)[..., None] if image.ndim == 2 else image.astype(np.float32)
        done = [np.array(function(as_pil(planes[..., i], who))) for i in range(planes.shape[-1])]
        return (done[0] if image.ndim == 2 else np.stack(done, -1)).astype(image.dtype)
    except (OSError, ValueError) as error:
        raise RuntimeError(f"{who}: Pillow can't do this to {describe(image)}: {error}") from error


def size_of(image: Any) -> tuple[Any, ...]:
    """(height, width)."""
    return image.size[::-1] if is_pil(image) else image.shape[:2]


def crop(image: Any, top: int, left: int, height: int, width: int) -> ImageLike:
    """A window of an image."""
    if is_pil(image):
        return image.crop((left, top, left + width, top + height))
    if type(image) is Pixels:
        return image.crop(top, left, height, width)
    return np.ascontiguousarray(image[top : top + height, left : left + width])


def resize(image: Any, height: int, width: int, interpolation: Inter, who: str) -> ImageLike:
    """An image in another size: by Pillow for its images and filters, otherwise as OpenCV does."""
    if type(image) is Pixels:
        resized = image.resize(height, width, interpolation)
        if resized is not None:
            return resized
        image = image.array()
    if interpolation is Inter.ANTIALIAS and not is_pil(image):
        raise TypeError(f"{who}: Inter.ANTIALIAS is for PIL images, but got {describe(image)}.")
    if interpolation in (Inter.AREA, Inter.PILCUBIC) and is_pil(image):
        raise TypeError(f"{who}: Inter.{interpolation.name} is for arrays, but got {describe(image)}.")
    if interpolation is Inter.PILCUBIC or is_pil(image):
        return through_pil(lambda pil: pil.resize((width, height), resampling(interpolation)), image, who)
    return resize_array(image, height, width, interpolation)


def resampling(interpolation: Inter) -> Any:
    """Pillow's filter for a way to interpolate."""
    kinds = pillow().Resampling
    names = {Inter.NEAREST: "NEAREST", Inter.ANTIALIAS: "LANCZOS", Inter.BILINEAR: "BILINEAR", Inter.AREA: "BOX"}
    return kinds[names.get(interpolation, "BICUBIC")]


def pad(image: Any, left: int, top: int, right: int, bottom: int, fill: int | tuple[int, ...], mode: Border) -> ImageLike:
    """An image with a margin."""
    image = tight(image)
    if is_pil(image):
        fromarray = pillow().fromarray
        # A palette's numbers are no colours.
        image = image.convert("RGB") if image.mode == "P" else image
        return fromarray(pad(np.array(image), left, top, right, bottom, fill, mode))
    if mode is not Border.CONSTANT:
        widths = [(top, bottom), (left, right)] + [(0, 0)] * (image.ndim - 2)
        return np.pad(image, widths, mode.value)
    height, width = image.shape[:2]
    value = fill if isinstance(fill, int) else fill[0] if image.ndim == 2 else np.resize(fill, image.shape[2])
    result = np.empty((height + top + bottom, width + left + right, *image.shape[2:]), image.dtype)
    result[...] = value
    result[top : top + height, left : left + width] = image
    return result


def flip(image: Any, horizontally: bool) -> ImageLike:
    """An image mirrored from left to right, or from top to bottom."""
    if type(image) is Pixels:
        return image.flip(horizontally)
    if is_pil(image):
        kinds = pillow().Transpose
        return image.transpose(kinds.FLIP_LEFT_RIGHT if horizontally else kinds.FLIP_TOP_BOTTOM)
    if horizontally and image.ndim > 2 and image.flags.c_contiguous and image.size:
        # Whole pixels are copied faster than their channels one by one.
        pixels = image.view(np.dtype((np.void, image.itemsize * image.shape[-1])))
        return np.ascontiguousarray(pixels[..., ::-1, :]).view(image.dtype)
    axis = (1 if image.ndim == 2 else -2) if horizontally else (0 if image.ndim == 2 else -3)
    return np.ascontiguousarray(np.flip(image, axis))
