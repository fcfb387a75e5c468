"""Text of a Tensor, character by character as MindSpore prints it."""

from __future__ import annotations

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
    if kind == "repr":
        return format_repr(array, mstype.from_np(array.dtype).name)
    if kind == "numpy" and array.size and array.dtype != ml_dtypes.bfloat16:
        with np.printoptions(legacy="1.25"):
            return _in_head(array, mstype.from_np(array.dtype).name, np.array2string(array, separator=", "))
    if kind == "numpy":
        return value_text(value, "repr")
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


def format_repr(array: np.ndarray, dtype_name: str, head: str = "Tensor") -> str:
    """The text of a Tensor inside a tuple, or of ``repr(tensor)``."""
    if array.size == 0:
        body = ""
    elif array.ndim == 0:
        body = _Elements(array).form(array[()])
    elif array.ndim == 1:
        body = _vector(array, _Elements(array))
    else:
        body = _matrix(array, _Elements(array), 1)
    return _in_head(array, dtype_name, body, head)


def _in_head(array, dtype_name, body, head="Tensor"):
    shape = "[" + ", ".join(map(str, array.shape)) + "]"
    break_after_value = "\n" if array.ndim > 1 else " "
    return f"{head}(shape={shape}, dtype={dtype_name}, value={break_after_value}{body})"


class _Elements:
    """Formats the elements of one array so that they line up.

    Attributes:
        form: text of one element.
        width: columns that each element takes.
        per_line: elements of a vector on one line.
    """

    def __init__(self, array: np.ndarray):
        kind = "g" if array.dtype == ml_dtypes.bfloat16 else array.dtype.kind
        self.per_line = 12 if kind in "fgb" else 24
        self.width = 0
        if array.ndim == 0 and kind == "f":
            kind = "g"
        if kind == "f":
            digits = 4 if array.dtype.itemsize == 2 else 8
            self.width = digits + 7
            self.form = lambda v: f"{float(v):.{digits}e}"
        elif kind == "c":
            self.form = lambda v: "%g%+gj" % (v.real, v.imag)
        elif kind == "b":
            self.width = 5 if array.ndim else 0
            self.form = lambda v: str(bool(v))
        else:
            self.form = (lambda v: "%g" % float(v)) if kind == "g" else (lambda v: str(int(v)))
            if array.ndim:
                self.width = max(len(self.form(v)) for v in _shown(array).ravel())

    def __call__(self, value: object) -> str:
        return self.form(value).rjust(self.width)


def _shown(array: np.ndarray) -> np.ndarray:
    """The part of an array that is printed."""
    if array.ndim == 1 and array.size <= _LONGEST:
        return array
    for axis, n in enumerate(array.shape):
        if n > 2 * _EDGE:
            array = np.concatenate([array.take(range(_EDGE), axis), array.take(range(n - _EDGE, n), axis)], axis)
    return array


def _vector(array: np.ndarray, element: _Elements) -> str:
    if array.size > _LONGEST:
        return _cut(array, element)
    words = [element(v) for v in array]
    n = element.per_line
    lines = [", ".join(words[i : i + n]) for i in range(0, len(words), n)]
    # MindSpore breaks the line before the bracket, too, if the last line is full.
    return "[" + ", \n ".join(lines) + ("\n ]" if len(words) % n == 0 else "]")


def _cut(array: np.ndarray, element: _Elements) -> str:
    words = [element(v) for v in (*array[:_EDGE], *array[-_EDGE:])]
    return "[" + ", ".join(words[:_EDGE]) + " ... " + ", ".join(words[_EDGE:]) + "]"


def _matrix(array: np.ndarray, element: _Elements, depth: int) -> str:
    n = len(array)
    if array.ndim == 1:
        return "[" + ", ".join(map(element, array)) + "]" if n <= 2 * _EDGE else _cut(array, element)
    shown = range(n) if n <= 2 * _EDGE else [*range(_EDGE), *range(n - _EDGE, n)]
    rows = [_matrix(array[i], element, depth + 1) for i in shown]
    margin = "\n" + " " * depth
    if n <= 2 * _EDGE:
        return "[" + ("," + margin).join(rows) + "]"
    top, bottom = ("," + margin).join(rows[:_EDGE]), ("," + margin).join(rows[_EDGE:])
    return f"[{top},{margin}...{margin}{bottom}]"
