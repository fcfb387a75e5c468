"""The wire format of protocol buffers, which checkpoints and TFRecord files use.

A message is a row of fields; a field is a key, (number << 3) | kind, and a varint (kind 0), a length and bytes (kind 2), or 8 or 4 bytes (kinds 1 and 5).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msjax.serialization.files import CorruptCheckpoint

VARINT, BYTES = 0, 2
_FIXED = {1: 8, 5: 4}  # kinds of fields of so many bytes


def varint(value: int) -> bytes:
    """A number as a varint; negative ones as 64-bit two's complement."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def key(number: int, kind: int) -> bytes:
    """The key of a field."""
    return varint(number << 3 | kind)


def header(number: int, length: int) -> bytes:
    """The bytes before the `length` bytes of a field."""
    return key(number, BYTES) + varint(length)


def read_varint(data: Any, at: int) -> tuple[int, int]:
    """(number, position after it)."""
    value = shift = 0
    while True:
        if at >= len(data):
            raise CorruptCheckpoint("it ends in the middle of a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7
        if shift > 63:
            raise CorruptCheckpoint("a number has more than ten bytes")


def fields(data: Any) -> Iterator[Any]:
    """(number, kind, value) of each field of a message: an int for a varint, else a part of the data."""
    at = 0
    while at < len(data):
        number, at = read_varint(data, at)
        number, kind = number >> 3, number & 7
        if kind == VARINT:
            value, at = read_varint(data, at)
        elif kind == BYTES or kind in _FIXED:
            length, at = (_FIXED[kind], at) if kind in _FIXED else read_varint(data, at)
            if length > len(data) - at:
                raise CorruptCheckpoint(f"a field of {length} bytes has only {len(data) - at} left: it is cut")
            value = data[at : at + length]
            at += length
        else:
            raise CorruptCheckpoint(f"field {number} is of the unknown kind {kind}")
        yield number, kind, value
