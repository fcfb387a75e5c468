"""RGB images between two transforms of one chain, which need not be arrays there."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from msjax.dataset.vision.enums import Inter
from msjax.dataset.vision.resample import linear_of_pixels, linear_taps


class Pixels:
    """An RGB image of uint8 that the next transform goes on with.

    Its pixels have four bytes, the last of which means nothing, as Pillow has them: they are copied as a whole. Cropping and
    mirroring only choose among them. A change of size waits until pixels are asked for, and then makes only those that are left.

    Args:
        data (numpy.ndarray): the pixels, uint32, of (height, width).
        rows, columns (tuple, optional): a change of size that waits, as `linear_taps` gives it.
    """

    __slots__ = ("columns", "data", "rows")

    def __init__(self, data: np.ndarray, rows: tuple[np.ndarray, ...] | None = None, columns: Any = None):
        self.data, self.rows, self.columns = data, rows, columns

    @classmethod
    def of_pil(cls, image: Any) -> Self:
        """Those of a Pillow image in the mode RGB."""
        width, height = image.size
        return cls(np.frombuffer(image.tobytes("raw", "RGBX"), np.uint32).reshape(height, width))

    @property
    def shape(self) -> tuple[int, ...]:
        """(height, width, 3)."""
        return (*self.data.shape, 3) if self.rows is None else (len(self.rows[0]), len(self.columns[0]), 3)

    def crop(self, top: int, left: int, height: int, width: int) -> Pixels:
        """A window."""
        return self._chosen(slice(top, top + height), slice(left, left + width))

    def flip(self, horizontally: bool) -> Pixels:
        """Mirrored from left to right, or from top to bottom."""
        whole, mirrored = slice(None), slice(None, None, -1)
        return self._chosen(whole, mirrored) if horizontally else self._chosen(mirrored, whole)

    def _chosen(self, down, across):
        if self.rows is None:
            return Pixels(self.data[down, across])
        return Pixels(self.data, tuple(a[down] for a in self.rows), tuple(a[across] for a in self.columns))

    def resize(self, height: int, width: int, interpolation: Inter) -> Pixels | None:
        """Another size; None where an array is needed for that."""
        old_height, old_width, _ = self.shape
        halved = (old_height, old_width) == (2 * height, 2 * width)
        if interpolation is not Inter.LINEAR or halved or (old_height, old_width) == (height, width):
            return None
        return Pixels(self.pixels(), linear_taps(old_height, height), linear_taps(old_width, width))

    def pixels(self) -> np.ndarray:
        """The pixels as uint32, of (height, width)."""
        return self.data if self.rows is None else linear_of_pixels(self.data, self.rows, self.columns)

    def array(self) -> np.ndarray:
        """The image as uint8, of (height, width, 3)."""
        four = np.ascontiguousarray(self.pixels())[..., None].view(np.uint8)
        return np.array(four[..., :3], order="C")


def tight(value: Any) -> Any:
    """The value, as an array if it is `Pixels`."""
    return value.array() if type(value) is Pixels else value
