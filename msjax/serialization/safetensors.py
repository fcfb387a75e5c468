"""The safetensors format: eight bytes of the header's length, the header in JSON, and the data."""

from __future__ import annotations

import json
import zlib
from typing import Any

import ml_dtypes
import numpy as np

from msjax.serialization.ckpt import array
from msjax.serialization.files import CorruptCheckpoint

_TYPES = {
    "BOOL": np.bool_, "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64, "U8": np.uint8, "U16": np.uint16,
    "U32": np.uint32, "U64": np.uint64, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64,
    "C64": np.complex64,
}  # fmt: skip
_TYPES = {name: np.dtype(t).newbyteorder("<") for name, t in _TYPES.items()}
_NAMES = {np.dtype(t.type): name for name, t in _TYPES.items()}
_MAX_HEADER = 100_000_000


def write(file: Any, entries: dict[str, Any], crc_check: bool = False) -> None:
    """Write numpy arrays, by name, to a binary file."""
    described, order, at = {}, [], 0
    for name, data in sorted(entries.items(), key=lambda item: (isinstance(item[1], str) or -item[1].dtype.itemsize, item[0])):
        if isinstance(data, str) or data.dtype not in _NAMES:
            what = "a str" if isinstance(data, str) else f"of type {data.dtype}"
            raise ValueError(
                f"For 'save_checkpoint', a safetensors file can't hold {name!r}, which is {what}; use format='ckpt'."
            )
        order.append(np.ascontiguousarray(data))
        described[name] = {"dtype": _NAMES[data.dtype], "shape": list(data.shape), "data_offsets": [at, at + data.nbytes]}
        at += data.nbytes
    metadata = {"format": "ms"}
    if crc_check:
        metadata["crc_num"] = str(_crc(entries))
        metadata["header_crc_num"] = str(_header_crc(described))
    head = json.dumps({"__metadata__": metadata, **described}, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    file.write(len(head).to_bytes(8, "little") + head)
    for data in order:
        file.write(data.tobytes())


def _header_crc(described) -> int:
    """The checksum of types, shapes and offsets, which MindSpore's checksum omits."""
    return zlib.crc32(json.dumps(described, sort_keys=True).encode())


def _crc(entries) -> int:
    """MindSpore's checksum: of names and data, ordered by name."""
    crc = 0
    for name in sorted(entries):
        data = entries[name]
        # MindSpore calls bytes() on each array, which gives that many zeros for a 0-d integer.
        number = int(data) if data.ndim == 0 and data.dtype.kind in "iu" else -1
        content = bytes(number) if 0 <= number < 2**24 else data.tobytes()
        crc = zlib.crc32(content, zlib.crc32(name.encode(), crc))
    return crc


def read(data: memoryview, crc_check: bool = False) -> dict[str, Any]:
    """The numpy arrays of a file, by name; with `crc_check`, the checksum is compared."""
    if len(data) < 8:
        raise CorruptCheckpoint("it is too short")
    length = int.from_bytes(data[:8], "little")
    if length > min(_MAX_HEADER, len(data) - 8):
        raise CorruptCheckpoint(f"its header is said to have {length} bytes")
    header = _header(bytes(data[8 : 8 + length]))
    content = data[8 + length :]
    metadata = header.pop("__metadata__", {})
    entries, spans = {}, []
    for name, entry in header.items():
        dtype, shape, (start, end) = _described(name, entry)
        if not 0 <= start <= end <= len(content):
            raise CorruptCheckpoint(f"the tensor {name!r} reaches beyond the data")
        spans.append((start, end))
        entries[name] = array(name, shape, dtype, content[start:end])
    spans.sort()
    if any(a[1] != b[0] for a, b in zip([(0, 0), *spans], [*spans, (len(content), len(content))])):
        raise CorruptCheckpoint("its tensors overlap or leave gaps")
    if crc_check:
        if not isinstance(metadata, dict) or "crc_num" not in metadata:
            raise CorruptCheckpoint("it has no checksum; it can be loaded with crc_check=False")
        for name, checksum in (("crc_num", lambda: _crc(entries)), ("header_crc_num", lambda: _header_crc(header))):
            if name in metadata and metadata[name] != str(checksum()):
                raise CorruptCheckpoint("its checksum is another one")
    return entries


def _header(text: bytes) -> dict[str, Any]:
    def once(pairs):
        found = dict(pairs)
        if len(found) != len(pairs):
            raise CorruptCheckpoint("its header has a name twice")
        return found

    try:
        header = json.loads(text.decode(), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise CorruptCheckpoint(f"its header is no JSON: {str(error)[:80]}") from error
    if not isinstance(header, dict):
        raise CorruptCheckpoint("its header is no JSON object")
    return header


def _described(name, entry):
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise CorruptCheckpoint(f"its header describes {name!r} wrongly")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    numbers = [*shape, *offsets] if isinstance(shape, list) and isinstance(offsets, list) else [None]
    if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in numbers) or len(offsets) != 2:
        raise CorruptCheckpoint(f"its header describes the shape or place of {name!r} wrongly")
    if not isinstance(dtype, str) or dtype not in _TYPES:
        raise CorruptCheckpoint(f"the tensor {name!r} is of type {dtype!r}, which there is not")
    return _TYPES[dtype], tuple(shape), offsets
