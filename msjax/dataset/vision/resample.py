"""Resizing of arrays the way OpenCV does it, in numpy: no antialiasing, centres of pixels at halves, edges repeated."""

from __future__ import annotations

import functools

import numpy as np

from msjax.dataset.vision.enums import Inter
from msjax.typing import TensorLike

# OpenCV weighs bytes with whole numbers of this scale.
_BITS = 11
# How many numbers an intermediate array of bytes' interpolation holds at most.
_BLOCK = 2**15


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
    height, width = array.shape[:2]
    channels = array.size // (height * width)
    (rows, row_weights), (columns, column_weights) = y, x
    across_at = (columns[:, :, None] * channels + np.arange(channels)).transpose(1, 0, 2).reshape(2, -1)
    across_by = np.repeat(_whole(column_weights).T, channels, axis=1)
    down_by = _whole(row_weights)[:, :, None]
    flat = array.reshape(height, -1)
    made = np.empty((len(rows), across_at.shape[1]), np.uint8)
    # Several rows at a time, so that intermediate arrays stay in the cache, and their memory is not given back each time.
    step = max(1, _BLOCK // made.shape[1])
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        top, bottom = rows[block].T
        needed = flat[top[0] : bottom[-1] + 1]
        across = np.multiply(needed[:, across_at[0]], across_by[0], dtype=np.int32)
        across += np.multiply(needed[:, across_at[1]], across_by[1], dtype=np.int32)
        across >>= 4
        down = across[top - top[0]]
        down *= down_by[block, 0]
        down >>= 16
        below = across[bottom - top[0]]
        below *= down_by[block, 1]
        below >>= 16
        down += below
        down += 2
        down >>= 2
        made[block] = down
    return made.reshape(len(rows), len(columns), *array.shape[2:])


def _whole(weights):
    return np.rint(weights * 2**_BITS).astype(np.int32)


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
