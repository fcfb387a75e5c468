"""The base of transforms of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool
from msjax.dataset.checks import check_data
from msjax.dataset.transforms.base import Transform
from msjax.dataset.values import as_value


class TextTransform(Transform):
    """The base of transforms of text, which define `_apply` of an array of text.

    Raises:
        RuntimeError: something else than text, or the text can't be transformed.
    """

    def __call__(self, *values: Any) -> Any:
        arrays = [as_value(value) for value in values]
        for array in arrays:
            fits = not isinstance(array, dict) and array.dtype.kind == "U"
            check_data(array, fits, "the input should be text", type(self).__name__)
        return super().__call__(*arrays)

    def _one(self, array) -> str:
        """The text of a scalar; RuntimeError for several."""
        check_data(array, not array.ndim, "the input should be one text", type(self).__name__)
        return str(array)


class Tokenizer(TextTransform):
    """The base of what splits a text; they define `_spans`, a list of (start, end) of the tokens."""

    _spans: Callable[[str], list[tuple[int, int]]]

    def __init__(self, with_offsets: bool = False):
        self.with_offsets: bool = check_bool(with_offsets, "with_offsets", type(self).__name__)

    def _apply(self, array):
        text = self._one(array)
        spans = self._spans(text) or [(0, 0)]
        tokens = np.array([text[start:end] for start, end in spans])
        if not self.with_offsets:
            return tokens
        starts, ends = ([len(text[:at].encode()) for at in ats] for ats in zip(*spans))
        return tokens, np.array(starts, np.uint32), np.array(ends, np.uint32)
