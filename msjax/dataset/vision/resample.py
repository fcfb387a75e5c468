"""Resizing of arrays the way OpenCV does it, in numpy: no antialiasing, centres of pixels at halves, edges repeated."""

from __future__ import annotations

import functools

import numpy as np

from msjax.dataset.vision.enums import Inter
from msjax.typing import TensorLike

# OpenCV weighs bytes with whole numbers of this scale.
_BITS = 11


def resize_array(array: TensorLike, height: int, width: int, interpolation: Inter) -> np.ndarray:
    """An image (height x width, or with channels) in another size.

    Args:
        array (numpy.ndarray): the image.
        height, width (int): the new size.
        interpolation (Inter): NEAREST, LINEAR, CUBIC or AREA.
    """
    if array.shape[:2] == (height, width):
        return array.copy()
    if interpolation is Inter.NEAREST:
        rows, columns = _nearest(array.shape[0], height), _nearest(array.shape[1], width)
        return array[rows[:, None], columns]
    # OpenCV averages where both sides are halved, and interpolates where an area would have to grow.
    halved = array.shape[:2] == (2 * height, 2 * width)
    shrinks = height <= array.shape[0] and width <= array.shape[1]
    if (interpolation is Inter.AREA and shrinks) or (interpolation is Inter.LINEAR and halved):
        return _like(_areas(array, height, width), array.dtype)
    cubic = interpolation is Inter.CUBIC
    y, x = _taps(array.shape[0], height, cubic), _taps(array.shape[1], width, cubic)
    if array.dtype == np.uint8 and not cubic:
        return _linear_of_bytes(array, y, x)
    working = array.astype(np.float64 if array.dtype == np.float64 else np.float32, copy=False)
    return _like(_weigh(_weigh(working, *x, axis=1), *y, axis=0), array.dtype)


@functools.lru_cache(64)
def _nearest(old, new):
    return np.minimum(np.arange(new) * old // new, old - 1)


@functools.lru_cache(64)
def _taps(old, new, cubic):
    """For each new position the old ones that it is made of, and their weights: two arrays of (positions, taps)."""
    centre = (np.arange(new) + 0.5) * (old / new) - 0.5
    first = np.floor(centre)
    offset = (centre - first)[:, None]
    if cubic:
        distance = np.abs(offset - np.arange(-1, 3))
        near, a = distance <= 1, -0.75
        weights = np.where(
            near, (a + 2) * distance**3 - (a + 3) * distance**2 + 1, a * (distance**3 - 5 * distance**2 + 8 * distance - 4)
        )
        taps = first[:, None] + np.arange(-1, 3)
    else:
        weights = np.concatenate([1 - offset, offset], 1)
        taps = first[:, None] + np.arange(2)
    return np.clip(taps, 0, old - 1).astype(np.intp), weights


def _weigh(array, taps, weights, axis):
    total = 0
    for k in range(taps.shape[1]):
        shape = [1] * array.ndim
        shape[axis] = -1
        total = total + array.take(taps[:, k], axis) * weights[:, k].reshape(shape).astype(array.dtype)
    return total


def _linear_of_bytes(array, y, x):
    extra = (1,) * (array.ndim - 2)
    (rows, row_weights), (columns, column_weights) = y, x
    a = np.rint(column_weights * 2**_BITS).astype(np.int32).reshape(1, -1, 2, *extra)
    b = np.rint(row_weights * 2**_BITS).astype(np.int32).reshape(-1, 1, 2, *extra)
    wide = array.astype(np.int32)
    across = wide[:, columns[:, 0]] * a[:, :, 0] + wide[:, columns[:, 1]] * a[:, :, 1]
    across >>= 4
    down = ((b[:, :, 0] * across[rows[:, 0]]) >> 16) + ((b[:, :, 1] * across[rows[:, 1]]) >> 16)
    return ((down + 2) >> 2).astype(np.uint8)


@functools.lru_cache(64)
def _shares(old, new):
    """A matrix of (new, old) with the share of each old pixel in each new one."""
    edges = np.arange(new + 1) * (old / new)
    left, right = edges[:-1, None], edges[1:, None]
    pixels = np.arange(old)
    return np.clip(np.minimum(right, pixels + 1) - np.maximum(left, pixels), 0, None) * (new / old)


def _areas(array, height, width):
    down = np.tensordot(_shares(array.shape[0], height), array.astype(np.float64), (1, 0))
    return np.moveaxis(np.tensordot(_shares(array.shape[1], width), down, (1, 1)), 0, 1)


def _like(values, dtype):
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        # Sums of shares may be a rounding error below the half that is rounded up.
        values = np.clip(np.floor(values + 0.5 + 1e-9), limits.min, limits.max)
    return values.astype(dtype)
