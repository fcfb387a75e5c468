"""TFRecord files: their records, and the `tf.train.Example` messages in them, read without TensorFlow.

A record is its length (8 bytes, little endian), a masked CRC-32C of these 8 bytes, the data, and a masked CRC-32C of the data. An Example is a
protocol buffer: a map from names to lists of bytes, of float32 or of int64.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

# The numbers of fields and of wire types in protocol buffers.
_VARINT, _FIXED64, _SIZED, _FIXED32 = 0, 1, 2, 5
_BYTES, _FLOATS, _INTS = 1, 2, 3


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
    return _Inflated(path) if compression == "ZLIB" else open(path, "rb")


class _Inflated:
    """A file of one zlib stream, unpacked piece by piece."""

    def __init__(self, path):
        self._file = open(path, "rb")
        self._stream, self._left = zlib.decompressobj(), b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def read(self, size):
        while len(self._left) < size and (piece := self._file.read(1 << 20)):
            try:
                self._left += self._stream.decompress(piece)
            except zlib.error as error:
                raise ValueError(f"{self._file.name} is no zlib stream: {error}") from error
        read, self._left = self._left[:size], self._left[size:]
        return read


def features(example: bytes) -> dict[str, Any]:
    """The lists of an Example by their names: a list of bytes, or an array of float32 or int64."""
    found = {}
    for _, of_example in _fields(example, 1):
        for _, entry in _fields(of_example, 1):
            name = feature = b""
            for number, value in _fields(entry, 1, 2):
                name, feature = (value, feature) if number == 1 else (name, value)
            found[name.decode()] = next((_list(kind, value) for kind, value in _fields(feature, _BYTES, _FLOATS, _INTS)), [])
    return found


def _list(kind, message):
    values = [value for _, value in _fields(message, 1)]
    if kind == _BYTES:
        return values
    data = b"".join(values)  # packed, in one or several fields, or one by one
    return np.frombuffer(data, "<f4") if kind == _FLOATS else _varints(data)


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


def _fields(message: bytes, *numbers: int) -> Iterator[tuple[int, bytes]]:
    """(number, bytes) of the fields of a message that have one of some numbers. Bytes of an integer are those of the varint."""
    at, end = 0, len(message)
    while at < end:
        key, at = _varint(message, at)
        number, wire, start = key >> 3, key & 7, at
        if wire == _SIZED:
            size, start = _varint(message, at)
            at = start + size
        elif wire == _VARINT:
            at = _varint(message, at)[1]
        elif wire in (_FIXED64, _FIXED32):
            at += 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"a field of a protocol buffer has the unknown wire type {wire}")
        if at > end:
            raise ValueError("a field of a protocol buffer is cut")
        if number in numbers:
            yield number, message[start:at]


def _varint(message, at):
    value = shift = 0
    while at < len(message):
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
    raise ValueError("an integer is cut")
