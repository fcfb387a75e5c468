"""Resizing of arrays the way OpenCV does it, in numpy: no antialiasing, centres of pixels at halves, edges repeated."""

from __future__ import annotations

import functools
import math
import threading

import numpy as np

from msjax.dataset.vision.enums import Inter

# OpenCV weighs bytes with whole numbers of this scale.
_BITS = 11
# How many numbers an intermediate array of bytes' interpolation holds at most, so that it stays in the cache.
_BLOCK = 2**18


def resize_array(array: np.ndarray, height: int, width: int, interpolation: Inter) -> np.ndarray:
    """An image (height x width, or with channels) in another size."""
    if array.shape[:2] == (height, width):
        return array.copy()
    if interpolation is Inter.NEAREST:
        rows, columns = _nearest(array.shape[0], height), _nearest(array.shape[1], width)
        return array[rows[:, None], columns]
    # OpenCV averages where both sides are halved, and interpolates where an area would have to grow.
    halved = array.shape[:2] == (2 * height, 2 * width)
    shrinks = height <= array.shape[0] and width <= array.shape[1]
    if (interpolation is Inter.AREA and shrinks) or (interpolation is Inter.LINEAR and halved):
        down = np.tensordot(_shares(array.shape[0], height), array.astype(np.float64), (1, 0))
        across = np.tensordot(_shares(array.shape[1], width), down, (1, 1))
        return _like(np.moveaxis(across, 0, 1), array.dtype, up=halved)
    if array.dtype == np.uint8 and interpolation is not Inter.CUBIC:
        return _linear_of_bytes(array, height, width, interpolation)
    y, x = _taps(array.shape[0], height, interpolation), _taps(array.shape[1], width, interpolation)
    if array.dtype == np.uint8:
        y, x = ((taps, np.rint(weights * 2**_BITS) / 2**_BITS) for taps, weights in (y, x))
    working = array.astype(np.float64 if array.dtype in (np.float64, np.uint8) else np.float32, copy=False)
    return _like(_weigh(_weigh(working, *x, axis=1), *y, axis=0), array.dtype)


@functools.lru_cache(64)
def _nearest(old, new):
    return np.minimum(np.arange(new) * old // new, old - 1)


@functools.lru_cache(64)
def _taps(old, new, interpolation):
    """For each new position the old ones that it is made of, and their weights: two arrays of (positions, taps)."""
    if interpolation is Inter.AREA:
        # A new pixel that lies within an old one has its value; one across the edge of two has a part of both.
        first = np.floor(np.arange(new) * (old / new))
        offset = np.clip(np.arange(1, new + 1) - (first + 1) * (new / old), 0, None)[:, None] % 1
    else:
        centre = (np.arange(new) + 0.5) * (old / new) - 0.5
        first = np.floor(centre)
        offset = (centre - first)[:, None]
    if interpolation is Inter.CUBIC:
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


def _linear_of_bytes(array, height, width, interpolation):
    rows, columns = (linear_taps(*sides, interpolation) for sides in zip(array.shape, (height, width)))
    channels = array.shape[2] if array.ndim == 3 else 1
    if channels > 4:
        return np.stack([_linear_of_bytes(array[..., i], height, width, interpolation) for i in range(channels)], -1)
    if channels == 3:
        pixels = np.empty((*array.shape[:2], 4), np.uint8)
        for i in range(3):  # faster than all three at once
            pixels[..., i] = array[..., i]
    else:
        pixels = np.ascontiguousarray(array).reshape(*array.shape[:2], channels)
    pixels = pixels.view(f"u{pixels.shape[2]}")[..., 0]
    made = linear_of_pixels(pixels, rows, columns)[..., None].view(np.uint8)[..., :channels]
    return np.ascontiguousarray(made).reshape(height, width, *array.shape[2:])


@functools.lru_cache(64)
def linear_taps(old: int, new: int, interpolation: Inter = Inter.LINEAR) -> tuple[np.ndarray, ...]:
    """For each new position along an axis: the two old ones beside it, and the weights of both, of `2**_BITS`."""
    taps, weights = _taps(old, new, interpolation)
    first, second = np.ascontiguousarray(taps.T)
    near, far = np.rint(weights.T * 2**_BITS).astype(np.int32)
    return first, second, near, far


def linear_of_pixels(pixels: np.ndarray, rows: tuple[np.ndarray, ...], columns: tuple[np.ndarray, ...]) -> np.ndarray:
    """An image in another size, with the whole numbers that OpenCV calculates with.

    Args:
        pixels (numpy.ndarray): of (height, width), each an unsigned integer of as many bytes as there are channels.
        rows, columns (tuple): what `linear_taps` gives, or the same part of all its arrays.
    """
    channels = pixels.itemsize
    left, right, _, right_by = columns
    # The weight in units of 16, and what is left of it: so all products across fit into 16 bits.
    right_by = np.repeat(right_by, channels).astype(np.int16)
    sixteens, rest = right_by >> 4, right_by & 15
    width = len(left) * channels
    result = np.empty((len(rows[0]), len(left)), pixels.dtype)
    made = result.view(np.uint8)
    step = max(1, _BLOCK // width)
    for start in range(0, len(made), step):
        above, below, above_by, below_by = (a[start : start + step] for a in rows)
        first = min(above[0], above[-1])
        needed = pixels[first : max(below[0], below[-1]) + 1]
        # A pixel is its left neighbour, and a share of the difference to the right one.
        near, far = (_scratch(i, (len(needed), len(left)), pixels.dtype) for i in range(2))
        needed.take(left, 1, near, "clip")
        needed.take(right, 1, far, "clip")
        shape = len(needed), width
        # numpy casts between arrays faster than within an operation.
        across, difference, part = (_scratch(i, shape, np.int16) for i in (2, 3, 4))
        np.copyto(across, near.view(np.uint8))
        np.copyto(difference, far.view(np.uint8))
        difference -= across
        across *= 2 ** (_BITS - 4)
        across += np.multiply(difference, sixteens, part)
        np.multiply(difference, rest, part)
        part >>= 4
        across += part
        shape = len(above), width
        lines = _scratch(5, shape, np.int16)
        total, part = (_scratch(i, shape, np.int32) for i in (6, 7))
        for at, by, out in ((above, above_by, total), (below, below_by, part)):
            np.copyto(out, across.take(at - first, 0, lines, "clip"))
            out *= by[:, None]
            out >>= 16
        total += part
        total += 2
        total >>= 2
        made[start : start + step] = total
    return result


class _Scratch(threading.local):
    """Memory for intermediate results of each thread: getting it anew, and giving it back, takes longer than filling it."""

    def __init__(self):
        self.arrays = {}


_SCRATCH = _Scratch()


def _scratch(key, shape, dtype):
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = _SCRATCH.arrays.get(key)
    if memory is None or len(memory) < size:
        memory = _SCRATCH.arrays[key] = np.empty(size, np.uint8)
    return memory[:size].view(dtype).reshape(shape)


@functools.lru_cache(64)
def _shares(old, new):
    """A matrix of (new, old) with the share of each old pixel in each new one."""
    edges = np.arange(new + 1) * (old / new)
    left, right = edges[:-1, None], edges[1:, None]
    pixels = np.arange(old)
    return np.clip(np.minimum(right, pixels + 1) - np.maximum(left, pixels), 0, None) * (new / old)


def _like(values, dtype, up=False):
    """Values in a dtype; integers are the nearest, of two the even one, or the greater one (`up`)."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        # Sums of shares may be a rounding error beside a half.
        values = np.round(values, 5)
        values = np.clip(np.floor(values + 0.5) if up else np.rint(values), limits.min, limits.max)
    return values.astype(dtype)
