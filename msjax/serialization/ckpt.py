"""MindSpore's .ckpt files: a protocol buffer message.

    message Checkpoint { repeated Value value = 1; }
    message Value { string tag = 1; TensorProto tensor = 2; }
    message TensorProto { repeated int64 dims = 1; string tensor_type = 2; bytes tensor_content = 3; }

A tensor of more than 512 MiB is split into several values of the same tag, one after the other, each with all the dims. A file
may end in "crc_num" and the CRC-32 of all before it, in ten bytes.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from msjax.common import dtype as mstype
from msjax.serialization import wire
from msjax.serialization.files import CorruptCheckpoint

SLICE_BYTES = 512 * 1024 * 1024
_CRC_MARK = b"crc_num"
_CRC_BYTES = 10
_TYPES = {t.name: t.np.newbyteorder("<") for t in mstype.all_types}  # pyright: ignore[reportOptionalMemberAccess]
_MAX_AXES = 32


def write(file: Any, entries: dict[str, Any], crc_check: bool = False) -> None:
    """Write a checkpoint."""
    crc = 0
    for name, data in entries.items():
        for chunk in _value(name, data):
            file.write(chunk)
            if crc_check:
                crc = zlib.crc32(chunk, crc)
    if crc_check:
        file.write(_CRC_MARK + crc.to_bytes(_CRC_BYTES, "big"))


def _value(name, data):
    """The parts of the file that hold one entry."""
    tag = name.encode()
    tag = wire.header(1, len(tag)) + tag
    if isinstance(data, str):
        # As numpy keeps a str: four bytes a character.
        kind, dims, content = b"str", [0], memoryview(data.encode("utf-32-le"))
    else:
        kind = mstype.from_np(data.dtype).name.encode()
        dims = data.shape
        content = np.ascontiguousarray(data).reshape(-1).view(np.uint8).data if data.size else memoryview(b"")
    head = b"".join(wire.key(1, wire.VARINT) + wire.varint(d) for d in dims) + wire.header(2, len(kind)) + kind
    for start in range(0, max(len(content), 1), SLICE_BYTES):
        part = content[start : start + SLICE_BYTES]
        content_head = wire.header(3, len(part))
        tensor_length = len(head) + len(content_head) + len(part)
        tensor_head = wire.header(2, tensor_length)
        yield wire.header(1, len(tag) + len(tensor_head) + tensor_length) + tag + tensor_head + head + content_head
        yield part


def read(data: memoryview, crc_check: bool = False) -> dict[str, Any]:
    """The entries of a checkpoint: numpy arrays or str by name."""
    data = _without_crc(data, crc_check)
    entries, parts = {}, {}
    last = None
    for number, kind, value in wire.fields(data):
        if number != 1 or kind != wire.BYTES:
            raise CorruptCheckpoint(f"it has a field {number} of kind {kind}")
        name, dims, type_name, content = _read_value(value)
        if name in parts and (name != last or parts[name][:2] != (dims, type_name)):
            raise CorruptCheckpoint(f"there are two entries {name!r}")
        parts.setdefault(name, (dims, type_name, []))[2].append(content)
        last = name
    for name, (dims, type_name, contents) in parts.items():
        content = contents[0] if len(contents) == 1 else b"".join(contents)
        entries[name] = _entry(name, dims, type_name, content)
    return entries


def _without_crc(data, crc_check):
    end = len(data) - _CRC_BYTES - len(_CRC_MARK)
    if end < 0 or data[end : end + len(_CRC_MARK)] != _CRC_MARK:
        if crc_check:
            raise CorruptCheckpoint("it has no checksum; it can be loaded with crc_check=False")
        return data
    if crc_check and zlib.crc32(data[:end]) != int.from_bytes(data[-_CRC_BYTES:], "big"):
        raise CorruptCheckpoint("its checksum is another one")
    return data[:end]


def _read_value(data):
    name = tensor = None
    for number, kind, value in wire.fields(data):
        if number == 3:
            raise CorruptCheckpoint("it holds a hash table (MapParameter), which msjax doesn't offer")
        if number not in (1, 2) or kind != wire.BYTES:
            raise CorruptCheckpoint(f"an entry has a field {number} of kind {kind}")
        if number == 1:
            name = _text(value)
        else:
            tensor = value
    if name is None or tensor is None:
        raise CorruptCheckpoint("an entry has no name or no tensor")
    dims, type_name, content = [], None, memoryview(b"")
    for number, kind, value in wire.fields(tensor):
        if number == 1 and kind == wire.VARINT:
            dims.append(value)
        elif number == 1 and kind == wire.BYTES:
            at = 0
            while at < len(value):
                dim, at = wire.read_varint(value, at)
                dims.append(dim)
        elif number == 2 and kind == wire.BYTES:
            type_name = _text(value)
        elif number == 3 and kind == wire.BYTES:
            content = value
        else:
            raise CorruptCheckpoint(f"the tensor of {name!r} has a field {number} of kind {kind}")
    return name, tuple(dims), type_name, content


def _text(value, encoding="utf-8", what="a name is no UTF-8") -> str:
    try:
        return str(value, encoding)
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(f"{what}: {error}") from error


def _entry(name, dims, type_name, content):
    if type_name == "str":
        return _text(content, "utf-32-le", f"the text {name!r} can't be read").rstrip("\0")
    dtype = _TYPES.get(type_name)
    if dtype is None:
        raise CorruptCheckpoint(f"the tensor {name!r} is of type {type_name!r}, which there is not")
    return array(name, dims, dtype, content)


def array(name: str, dims: Sequence[int], dtype: np.dtype[Any], content: bytes | memoryview) -> np.ndarray:
    """The bytes as an array, without a copy; an error if their length does not fit shape and type."""
    # Real tensors stay within these bounds; numpy's and XLA's are narrower.
    if len(dims) > _MAX_AXES or any(not 0 <= d < 2**47 for d in dims):
        raise CorruptCheckpoint(f"the tensor {name!r} has an impossible shape")
    if len(content) != math.prod(dims) * dtype.itemsize:
        raise CorruptCheckpoint(f"the tensor {name!r} of shape {dims} and type {dtype} has {len(content)} bytes")
    if 0 in dims and any(d >= 2**31 for d in dims):
        raise CorruptCheckpoint(f"the tensor {name!r} has an impossible shape")
    if dtype.kind == "b" and bytes(content).strip(b"\0\1"):
        raise CorruptCheckpoint(f"the Bool tensor {name!r} has values other than 0 and 1")
    return np.frombuffer(content, dtype).reshape(dims)
