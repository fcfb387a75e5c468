"""Data of a page as text: JSON in which arrays are compressed bytes, and in which nothing can end the script element that it stands in."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np

from msjax.core.page.columns import Array

# Codes of what is no finite number in an array of bytes; the others are levels between the least and the largest of a row.
_MISSING, _ZERO, _INFINITE, _FIRST = 0, 1, 2, 3
_LEVELS = 255 - _FIRST
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def as_json(data: Any, levels: bool = False) -> str:
    """The text of containers of numbers, strings and arrays; see `decoded`. With `levels`, each number of an array of float32 with rows may
    become one of 252 levels of its row: of the logarithm, where none is negative."""
    return json.dumps(_encoded(data, levels), separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


def _encoded(value, levels):
    if isinstance(value, dict):
        return {str(key): _encoded(v, levels) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(v, levels) for v in value]
    if isinstance(value, np.ndarray):
        return _of_levels(value) if levels and value.ndim >= 2 and value.size and value.dtype == np.float32 else _packed(value)
    if isinstance(value, (np.generic, float)):
        number = value.item() if isinstance(value, np.generic) else value
        # JSON has no such numbers.
        return number if not isinstance(number, float) or np.isfinite(number) else {"$": str(number)}
    return value


def _packed(array: Array) -> dict[str, Any]:
    kind = {"u": "u1", "i": "i4", "b": "u1"}.get(array.dtype.kind, "f4")
    kept = np.ascontiguousarray(array, np.dtype(kind).newbyteorder("<"))
    return {"$": kind, "shape": list(array.shape), "data": base64.b64encode(zlib.compress(kept.tobytes(), 1)).decode()}


def _of_levels(whole: Array) -> dict[str, Any]:
    array = whole.reshape(-1, whole.shape[-1])
    log = not (array < 0).any()
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log10(array) if log else array
    finite = np.isfinite(values)
    low = np.where(finite, values, np.inf).min(1, initial=np.inf, keepdims=True)
    high = np.where(finite, values, -np.inf).max(1, initial=-np.inf, keepdims=True)
    low, high = np.where(np.isfinite(low), low, 0), np.where(np.isfinite(high), high, 0)
    place = np.where(finite, values - low, 0) * (_LEVELS / np.where(high > low, high - low, 1))
    codes = np.where(finite, np.rint(place) + _FIRST, _MISSING)
    codes[np.isinf(array)] = _INFINITE
    codes[array == 0] = _ZERO
    codes = codes.reshape(whole.shape)
    return {**_packed(codes.astype(np.uint8)), "$": "levels", "log": log, "low": _packed(low[:, 0]), "high": _packed(high[:, 0])}


def decoded(value: Any) -> Any:
    """What `as_json` has written, with numpy arrays, once ``json.loads`` has read it."""
    if isinstance(value, list):
        return [decoded(v) for v in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("$")
    if kind is None:
        return {key: decoded(v) for key, v in value.items()}
    if "data" not in value:
        return float(kind)
    dtype = np.dtype("u1" if kind == "levels" else kind).newbyteorder("<")
    array = np.frombuffer(zlib.decompress(base64.b64decode(value["data"])), dtype).reshape(value["shape"])
    if kind != "levels":
        return array
    low, high = (decoded(value[end]).reshape(*array.shape[:-1], 1) for end in ("low", "high"))
    numbers = low + (array.astype(np.float32) - _FIRST) * (high - low) / _LEVELS
    numbers = 10**numbers if value["log"] else numbers
    for code, meaning in ((_MISSING, np.nan), (_ZERO, 0), (_INFINITE, np.inf)):
        numbers = np.where(array == code, np.float32(meaning), numbers)
    return numbers.astype(np.float32)
