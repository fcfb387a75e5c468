"""Values of a row: numpy arrays, dicts of them, and what becomes of them when a program gets a row."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from msjax.common.dtype import Type, string
from msjax.common.tensor import Tensor, of_numpy
from msjax.core.base.errors import describe

_TEXT = ("U", "S")


class FileRow(tuple[Any, ...]):
    """A row with the path of the file that its source read it from, which errors name."""

    file: str

    @classmethod
    def of(cls, values: Iterable[Any], file: str) -> FileRow:
        """The row of some values."""
        row = cls(values)
        row.file = file
        return row


def as_value(value: Any) -> Any:
    """A value of a row: a numpy array (0-dimensional for a scalar), or a dict of values."""
    if type(value) is not np.ndarray:
        if isinstance(value, dict):
            return {key: _within(inner) for key, inner in value.items()}
        if isinstance(value, Tensor):
            value = value.asnumpy()
        try:
            value = np.asarray(value)
        except ValueError as error:
            raise TypeError(f"no array can be made of {describe(value)}: {error}") from error
    kind = value.dtype.kind
    if kind in "OcMm":
        what = describe(value.tolist()) if kind == "O" else f"values of type {value.dtype}"
        raise TypeError(f"no column can hold {what}; numbers, text, bytes, arrays, Tensors and dicts can be in one.")
    if kind in _TEXT and value.ndim and value.size:
        return np.array(value.tolist())  # as wide as its longest item
    return value


def _within(value):
    """A value within a dict, where lists stay lists."""
    return [_within(inner) for inner in value] if isinstance(value, list) else as_value(value)


def owned(value: Any) -> Any:
    """The value in memory of its own, so that what changes a row in place leaves the source as it is."""
    if isinstance(value, dict):
        return {key: owned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [owned(inner) for inner in value]
    return np.array(value, order="C")


class _Scalar(np.ndarray):
    """A 0-dimensional array that widens beside a Python number, as in numpy 1: int32 times 10 is int64.

    MindSpore's programs run with numpy 1; numpy 2 would keep int32, and the types of their columns would differ.
    """

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        arrays = [x for x in inputs if getattr(x, "ndim", 0)]
        inputs = [_as_in_numpy_1(x, arrays) for x in inputs]
        if "out" in options:
            options["out"] = tuple(x.view(np.ndarray) if isinstance(x, _Scalar) else x for x in options["out"])
        return getattr(ufunc, method)(*inputs, **options)


def _as_in_numpy_1(x, arrays):
    """An operand as numpy 1 counts it: a Python number is 64 bits wide among scalars, a scalar has no width beside arrays."""
    if not arrays:
        return np.asarray(x.view(np.ndarray) if isinstance(x, _Scalar) else x)
    if not isinstance(x, _Scalar):
        return x
    x = x.view(np.ndarray)
    for array in arrays:
        same_kind = array.dtype.kind == x.dtype.kind
        fits = same_kind and (array.dtype.kind == "f" or np.iinfo(array.dtype).min <= x <= np.iinfo(array.dtype).max)
        if array.dtype.kind not in "fc" and not fits:
            return x
    return x.item()


# Programs that print the type of what they get should see numpy's.
_Scalar.__name__ = _Scalar.__qualname__ = "ndarray"
_Scalar.__module__ = "numpy"


def for_function(value: Any) -> Any:
    """A value as a function of the user's gets it; see `_Scalar`."""
    if type(value) is np.ndarray and not value.ndim and value.dtype.kind in "iuf" and value.itemsize < 8:
        return value.view(_Scalar)
    return value


def is_text(array: Any) -> bool:
    """Whether an array holds text or bytes."""
    return array.dtype.kind in _TEXT


def same_type(a: np.dtype, b: np.dtype) -> bool:
    """Whether two dtypes are the same; text of any width is."""
    return a == b or (a.kind == b.kind and a.kind in _TEXT)


def to_numpy(value: Any) -> Any:
    """What a program gets of a value with ``output_numpy=True``: contiguous and writeable."""
    if isinstance(value, dict):
        return value
    return np.require(value, requirements=("C", "W"))


def to_tensor(value: Any) -> Any:
    """What a program gets of a value: a Tensor, or a dict of them; text and bytes stay as they are."""
    if isinstance(value, dict):
        return {key: to_tensor(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [to_tensor(inner) for inner in value]
    return value if is_text(value) else of_numpy(Tensor(value))


def shape_and_type(value: Any) -> Any:
    """The shape (a list) and the numpy dtype of a value; of text the dtype has no width."""
    if isinstance(value, dict):
        return [], np.dtype(object)
    return list(value.shape), np.dtype(value.dtype.kind) if is_text(value) else value.dtype


def leading_int(text: str) -> int:
    """The int in front of a text, as C reads it: 1 of "1.7" and of "1e3"."""
    found = re.match(r"\s*[+-]?\d+", text)
    if found is None:
        raise ValueError(f"{text!r} does not begin with an int")
    return int(found.group())


def is_pil(value: object) -> bool:
    """Whether the value is an image of Pillow; Pillow is not imported for that."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(value, module.Image)


def numpy_dtype(value: Any, name: str, who: str) -> Any:
    """The numpy dtype of a msjax type or of what numpy takes for one: float is float64, and not the float32 that it is for Tensors."""
    try:
        found = (str if value is string else value.np) if isinstance(value, Type) else value
        if found is None:
            raise TypeError("arrays can't have this type")
        return np.dtype(found)
    except TypeError as error:
        raise TypeError(f"For '{who}', '{name}' should be a data type, such as ms.float32, but got {describe(value)}.") from error


def pad_to(array: np.ndarray, shape: Sequence[int], value: Any = None) -> np.ndarray:
    """The array in another shape of as many axes: filled up with the value at the end of each axis, or cut."""
    text = is_text(array)
    if value is None:
        value = ("" if array.dtype.kind == "U" else b"") if text else 0
    value = np.asarray(as_value(value))
    if text != is_text(value):
        raise TypeError(f"the value {value.tolist()!r} doesn't fit the type {array.dtype}.")
    dtype = np.result_type(array.dtype, value.dtype) if text else array.dtype
    result = np.full(shape, value.astype(dtype), dtype)
    kept = tuple(slice(0, min(a, b)) for a, b in zip(array.shape, shape))
    result[kept] = array[kept]
    return result
