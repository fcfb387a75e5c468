"""TFRecord files: their records, and the `tf.train.Example` messages in them, read without TensorFlow.

A record is its length (8 bytes, little endian), a masked CRC-32C of these 8 bytes, the data, and a masked CRC-32C of the data. An Example is a
protocol buffer: a map from names to lists of bytes, of float32 or of int64.
"""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

# The numbers of the fields of a list.
_LISTS = _BYTES, _FLOATS, _INTS = 1, 2, 3


def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE = _crc_table()


def masked_crc(data: bytes) -> int:
    """The CRC-32C of some bytes, rotated and added to a constant, as TFRecord files have it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path: str, compression: str) -> Iterator[bytes]:
    """The data of the records of a file, in order. The checksum of each length is checked; that of the data is not, as in MindSpore."""
    with _opened(path, compression) as file:
        while head := file.read(12):
            if len(head) < 12 or struct.unpack("<I", head[8:])[0] != masked_crc(head[:8]):
                raise ValueError(f"{path} is no TFRecord file, or is damaged: the length of a record has another checksum")
            size = struct.unpack("<Q", head[:8])[0]
            data = file.read(size)
            if len(data) < size or len(file.read(4)) < 4:
                raise ValueError(f"{path} ends within a record")
            yield data


def _opened(path, compression) -> IO[bytes]:
    if compression == "GZIP":
        return gzip.open(path, "rb")
    if compression == "ZLIB":
        with open(path, "rb") as file:
            try:
                return io.BytesIO(zlib.decompress(file.read()))
            except zlib.error as error:
                raise ValueError(f"{path} is no zlib stream: {error}") from error
    return open(path, "rb")


def features(example: bytes) -> dict[str, Any]:
    """The lists of an Example by their names: a list of bytes, or an array of float32 or int64."""
    found = {}
    for of_example in _parts(example):
        for entry in _parts(of_example):
            parts: dict[int, bytes] = {number: value for number, _, value in _wire().fields(entry)}
            feature = [*_wire().fields(parts.get(2, b""))]
            found[parts.get(1, b"").decode()] = next((_list(kind, value) for kind, _, value in feature if kind in _LISTS), [])
    return found


def _wire():
    from msjax.serialization import wire  # here, since networks come with it, which other files don't need

    return wire


def _parts(message):
    """The values of the fields of a message whose number is 1."""
    return (value for number, _, value in _wire().fields(message) if number == 1)


def _list(kind, message):
    values = [*_parts(message)]  # packed, in one or several fields, or one by one
    if kind == _INTS:
        single = [np.array([value], np.uint64).view(np.int64) if isinstance(value, int) else _varints(value) for value in values]
        return np.concatenate([np.zeros(0, np.int64), *single])
    return values if kind == _BYTES else np.frombuffer(b"".join(values), "<f4")


def _varints(data):
    """The integers that stand one after the other, 7 bits in a byte, the lowest first."""
    data = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(data < 128)
    if not len(data):
        return np.zeros(0, np.int64)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise ValueError("an integer is cut")
    starts = np.concatenate(([0], ends[:-1] + 1))
    places = np.arange(len(data)) - np.repeat(starts, ends - starts + 1)
    return np.add.reduceat((data & 127).astype(np.uint64) << (7 * places).astype(np.uint64), starts).view(np.int64)
