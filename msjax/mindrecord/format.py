"""The format of MindRecord files, as files that MindSpore writes show it.

A file has a header, whose first 8 bytes are the length of the JSON text that follows, and pages of one size. Rows lie in two kinds of pages:
what JSON can say in RAW_DATA, as msgpack; bytes and arrays in BLOB_DATA. Both begin with their length in 8 bytes. A SQLite file
beside it, with ``.db`` added to the name, has a table INDEXES, which says where each row lies, with the values of indexed fields. Integers
of the format are little-endian, but those within blobs are big-endian.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msjax.core.base.errors import describe

VERSION = "3.0"
HEADER_SIZE, PAGE_SIZE = 1 << 24, 1 << 25
TYPES = ("int32", "int64", "float32", "float64", "string", "bytes")
_COMPRESSED = ("int32", "int64")
_WIDTHS = tuple(np.dtype(f"<i{n}") for n in (1, 2, 4, 8))  # by their code


def is_blob(field: dict[str, Any]) -> bool:
    """Whether a field of a schema lies in blobs: bytes and arrays do."""
    return field["type"] == "bytes" or "shape" in field


def encoded(value: Any, field: dict[str, Any], name: str) -> bytes:
    """A value of a blob field as bytes; TypeError or ValueError if it doesn't fit the schema."""
    kind = field["type"]
    if kind == "bytes":
        if not isinstance(value, (bytes, bytearray)):
            raise TypeError(f"Field {name!r} should be bytes, but got {describe(value)}.")
        return bytes(value)
    array = np.asarray(value)
    if array.dtype != np.dtype(kind):
        raise TypeError(f"Field {name!r} should be an array of {kind}, but got {describe(value)}.")
    try:
        array = array.reshape(field["shape"])
    except ValueError:
        raise ValueError(f"Field {name!r} should have shape {field['shape']}, but got shape {array.shape}.") from None
    flat = np.ascontiguousarray(array).ravel()
    if kind not in _COMPRESSED:
        return flat.astype(flat.dtype.newbyteorder("<")).tobytes()
    wide = flat.astype(np.int64)
    codes = np.zeros(len(flat), np.uint8)
    for code in (1, 2, 3):
        limits = np.iinfo(_WIDTHS[code - 1])
        codes[(wide < limits.min) | (wide > limits.max)] = code
    padded = np.zeros(-(-len(codes) // 4) * 4, np.uint8)
    padded[: len(codes)] = codes
    by_four = padded.reshape(-1, 4)
    packed = (by_four[:, 0] << 6 | by_four[:, 1] << 4 | by_four[:, 2] << 2 | by_four[:, 3]).astype(np.uint8)
    body = b"".join(value.astype(_WIDTHS[code]).tobytes() for value, code in zip(wide, codes))
    return len(flat).to_bytes(4, "big") + packed.tobytes() + body


def decoded(data: bytes, field: dict[str, Any]) -> Any:
    """The value of a blob field from its bytes: bytes, or an array."""
    kind = field["type"]
    if kind == "bytes":
        return bytes(data)
    if kind not in _COMPRESSED:
        return np.frombuffer(data, np.dtype(kind).newbyteorder("<")).astype(kind).reshape(field["shape"])
    count = int.from_bytes(data[:4], "big")
    packed = np.frombuffer(data, np.uint8, -(-count // 4), 4)
    codes = np.stack([packed >> shift & 3 for shift in (6, 4, 2, 0)], 1).ravel()[:count]
    ends = np.cumsum(1 << codes.astype(np.int64)) + 4 + len(packed)
    values = np.empty(count, np.int64)
    for code, kind_of_code in enumerate(_WIDTHS):
        at = np.flatnonzero(codes == code)
        if len(at):
            starts = ends[at] - (1 << code)
            bytes_of = np.frombuffer(data, np.uint8)[starts[:, None] + np.arange(1 << code)]
            values[at] = np.ascontiguousarray(bytes_of).view(kind_of_code).ravel()
    return values.astype(kind).reshape(field["shape"])


def joined(parts: list[bytes]) -> bytes:
    """The blobs of a row as one: a single one is itself, several have their lengths in front, none is four zeros."""
    if len(parts) == 1:
        return parts[0]
    return b"".join(len(part).to_bytes(8, "big") + part for part in parts) or bytes(4)


def separated(data: bytes, count: int) -> list[bytes]:
    """The blobs of a row."""
    if count == 1:
        return [data]
    parts, at = [], 0
    for _ in range(count):
        size = int.from_bytes(data[at : at + 8], "big")
        parts.append(data[at + 8 : at + 8 + size])
        at += 8 + size
    return parts


def with_length(data: bytes) -> bytes:
    """A row as it lies in a page."""
    return len(data).to_bytes(8, "little") + data
