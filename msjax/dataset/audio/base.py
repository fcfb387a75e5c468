"""The base of transforms of sounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msjax.dataset.transforms.base import Transform


class AudioTransform(Transform):
    """The base of transforms of sounds: of arrays of (..., time), or of (..., frequency, time).

    Numbers are calculated with 64 bits. A result has the input's type where that is float64 (or, of a filter, float16), and is float32
    otherwise. A transform defines `_sound`, of one array of float64.
    """

    # The number of dimensions that an input has at least.
    _least = 1
    _kept: tuple[Any, ...] = (np.float64,)  # the types of an input that its result has, too
    _sound: Callable[[np.ndarray], Any]

    def _apply(self, *arrays: np.ndarray):
        results = tuple(self._one(array) for array in arrays)
        return results if len(results) > 1 else results[0]

    def _one(self, array):
        if array.ndim < self._least or array.dtype.kind not in "fiu":
            shape = "(..., time)" if self._least == 1 else "(..., frequency, time)"
            raise RuntimeError(
                f"{type(self).__name__}: the input should hold numbers, of shape {shape}, but is {array.dtype} of shape {array.shape}."
            )
        kind = array.dtype if array.dtype in self._kept else np.float32
        result = self._sound(array.astype(np.float64))
        if isinstance(result, tuple):
            return tuple(r.astype(kind) for r in result)
        return result if result.dtype.kind == "i" else result.astype(kind)
