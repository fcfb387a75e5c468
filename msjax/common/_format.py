"""Text of a Tensor, character by character as MindSpore prints it."""

from __future__ import annotations

from functools import partial

import ml_dtypes
import numpy as np

from msjax.common import dtype as mstype
from msjax.core.base.typing import JaxArray

_EDGE = 3  # elements shown at each end of an abbreviated axis
_LONGEST = 1000  # longer vectors are abbreviated; in a matrix, every axis longer than two edges


def value_text(value: JaxArray, kind: str, spec: str = "") -> str:
    """The text of a Tensor with this concrete array."""
    array = np.asarray(value)
    if kind == "str":
        return format_str(array)
    if kind != "format":
        shape = "[" + ", ".join(map(str, array.shape)) + "]"
        break_after_value = "\n" if array.ndim > 1 else " "
        body = _body(array, kind == "numpy")
        return f"Tensor(shape={shape}, dtype={mstype.from_np(array.dtype)}, value={break_after_value}{body})"
    if array.size != 1:
        raise ValueError(f"Only a Tensor of one element can be formatted as {spec!r}, but got shape {array.shape}.")
    return format(array.item(), spec)


def format_str(array: np.ndarray) -> str:
    """The text that ``print(tensor)`` shows: numpy's text of the value, by its print options of the moment."""
    if array.size == 0:
        return "[]"
    if array.dtype == ml_dtypes.bfloat16:
        array = array.astype(np.float32)
    if not array.ndim:
        return _scalar(array[()])
    if np.get_printoptions()["legacy"]:
        return str(array)
    # For Float16 and Float32, numpy 2.3 switches to exponents earlier than the numpy that MindSpore uses.
    with np.printoptions(legacy="1.25"):
        return str(array)


def _scalar(value) -> str:
    """The text of a 0-d value: numpy 1's, which numpy 2 changed for large numbers of few digits."""
    if not isinstance(value, np.floating) or not np.isfinite(value):
        return str(value)
    if value == 0 or 1e-4 <= abs(float(value)) < 1e16:
        return np.format_float_positional(value, trim="0")
    return np.format_float_scientific(value, trim="-")


def _body(array, as_numpy):
    """The elements of a Tensor inside a tuple, or of ``repr(tensor)``; in numpy's form if it came from there."""
    if array.size == 0:
        return ""
    if as_numpy and array.dtype != ml_dtypes.bfloat16:
        with np.printoptions(legacy="1.25"):
            return np.array2string(array, separator=", ")
    element = _formatter(array)
    if array.ndim == 0:
        return element(array[()])
    return _vector(array, element) if array.ndim == 1 and array.size <= _LONGEST else _abbreviated(array, element)


def _formatter(array):
    """A function that gives the text of one element, so that all line up."""
    kind = "g" if array.dtype == ml_dtypes.bfloat16 or (array.dtype.kind == "f" and not array.ndim) else array.dtype.kind
    if kind == "f":
        digits = 4 if array.dtype.itemsize == 2 else 8
        return lambda v: f"{float(v):{digits + 7}.{digits}e}"
    if kind == "c":
        return lambda v: "%g%+gj" % (v.real, v.imag)
    if kind == "b":
        return lambda v: str(bool(v)).rjust(5 if array.ndim else 0)
    form = (lambda v: "%g" % float(v)) if kind == "g" else (lambda v: str(int(v)))
    width = max(len(form(v)) for v in _shown(array).ravel()) if array.ndim else 0
    return lambda v: form(v).rjust(width)


def _shown(array: np.ndarray) -> np.ndarray:
    """The part of an array that is printed."""
    if array.ndim == 1 and array.size <= _LONGEST:
        return array
    for axis, n in enumerate(array.shape):
        if n > 2 * _EDGE:
            array = np.concatenate([array.take(range(_EDGE), axis), array.take(range(n - _EDGE, n), axis)], axis)
    return array


def _vector(array, element):
    words = [element(v) for v in array]
    n = 12 if mstype.from_np(array.dtype).kind in "fb" else 24
    lines = [", ".join(words[i : i + n]) for i in range(0, len(words), n)]
    # MindSpore breaks the line before the bracket, too, if the last line is full.
    return "[" + ", \n ".join(lines) + ("\n ]" if len(words) % n == 0 else "]")


def _abbreviated(array, element, depth=1):
    """The text of a long vector, or of a matrix."""
    text, between, gap = element, ", ", " ... "
    if array.ndim > 1:
        margin = "\n" + " " * depth
        text, between, gap = partial(_abbreviated, element=element, depth=depth + 1), "," + margin, f",{margin}...{margin}"
    edges = [array] if len(array) <= 2 * _EDGE else [array[:_EDGE], array[-_EDGE:]]
    return "[" + gap.join(between.join(map(text, edge)) for edge in edges) + "]"
