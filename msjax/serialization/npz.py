"""numpy's .npz files, without pickled objects. bfloat16 is stored as uint16 and listed in a separate entry."""

from __future__ import annotations

import io
import json
import math
import tokenize
import zipfile
import zlib
from typing import Any

import ml_dtypes
import numpy as np

from msjax.common import dtype as mstype
from msjax.serialization.files import CorruptCheckpoint

_SPECIAL = "__msjax__"


def write(file: Any, entries: dict[str, Any], crc_check: bool = False) -> None:
    """Write numpy arrays and str, by name, to a binary file; zip has checksums of its own."""
    special = {}
    arrays = {}
    for name, data in entries.items():
        if "\0" in name:
            raise ValueError(f"For 'save_checkpoint', a name in an npz file can't contain a NUL character, but got {name!r}.")
        if isinstance(data, str):
            special[name] = "str"
            arrays[name] = np.frombuffer(data.encode(), np.uint8)
        elif data.dtype == ml_dtypes.bfloat16:
            special[name] = "bfloat16"
            arrays[name] = data.view(np.uint16)
        else:
            arrays[name] = data
    if _SPECIAL in arrays:
        raise ValueError(f"For 'save_checkpoint', {_SPECIAL!r} can't be the name of a Parameter in an npz file.")
    if special:
        arrays[_SPECIAL] = np.frombuffer(json.dumps(special).encode(), np.uint8)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, data in arrays.items():
            with archive.open(name + ".npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(data).reshape(data.shape), allow_pickle=False)


def read(data: memoryview, crc_check: bool = False) -> dict[str, Any]:
    """The numpy arrays and str of a file, by name.

    Args:
        data (memoryview): the file.

    Raises:
        CorruptCheckpoint: it is no npz file, or an array doesn't fit.
    """
    arrays = {}
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # zipfile does not notice when a damaged directory hides some entries.
            if _counted(data) not in (len(archive.infolist()), 0xFFFF):
                raise CorruptCheckpoint("its directory has another number of entries than it says")
            _check_overlap(archive.infolist())
            for info in archive.infolist():
                name = info.filename.removesuffix(".npy")
                if name in arrays:
                    raise CorruptCheckpoint(f"there are two entries {name!r}")
                # Deflate compresses at most 1032-fold: a larger size in the directory is wrong.
                if info.file_size > 1032 * info.compress_size + 64 or info.compress_size > len(data):
                    raise CorruptCheckpoint(f"the size of {name!r} in its directory is impossible")
                if info.flag_bits & 1:
                    raise CorruptCheckpoint(f"the entry {name!r} is encrypted")
                with archive.open(info) as member:
                    arrays[name] = _array(name, member, info.file_size)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        NotImplementedError,
        ValueError,
        OverflowError,
        RuntimeError,
    ) as error:
        raise CorruptCheckpoint(str(error)[:120] or type(error).__name__) from error
    special = _special(arrays.pop(_SPECIAL, None))
    for name, kind in special.items():
        if name not in arrays or kind not in ("str", "bfloat16"):
            raise CorruptCheckpoint("its list of special entries is wrong")
        own = arrays[name]
        if own.dtype != (np.uint8 if kind == "str" else np.uint16):
            raise CorruptCheckpoint(f"the entry {name!r} is of type {own.dtype}")
        arrays[name] = _text(own) if kind == "str" else own.view(ml_dtypes.bfloat16)
    return arrays


def _check_overlap(entries):
    """Raise if two entries share bytes: a small file could claim any amount of data that way."""
    end, before = 0, None
    for info in sorted(entries, key=lambda info: info.header_offset):
        if info.header_offset < end:
            raise CorruptCheckpoint(f"the entries {before!r} and {info.filename!r} overlap")
        # A local header has 30 bytes, and the name.
        end, before = info.header_offset + 30 + len(info.filename) + info.compress_size, info.filename


def _counted(data) -> int:
    """The number of entries according to the end record of a zip file; 0xFFFF if a zip64 record has it."""
    end = bytes(data[-65557:])
    at = end.rfind(b"PK\5\6")
    return int.from_bytes(end[at + 10 : at + 12], "little")


def _array(name, member, size) -> np.ndarray:
    """An array from a binary file of a size: what its header says is compared with the size before the rest is read."""
    try:
        version = np.lib.format.read_magic(member)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, fortran, dtype = read_header(member)
    except (ValueError, KeyError, TypeError, SyntaxError, tokenize.TokenError, RecursionError, MemoryError) as error:
        raise CorruptCheckpoint(f"the header of {name!r} can't be read: {str(error)[:80]}") from error
    if dtype.hasobject or not mstype.has_counterpart(dtype.newbyteorder("=")):
        raise CorruptCheckpoint(f"the tensor {name!r} is of type {dtype}, which there is not")
    there = size - member.tell()
    if any(not isinstance(d, int) or not 0 <= d < 2**47 for d in shape) or there != math.prod(shape) * dtype.itemsize:
        raise CorruptCheckpoint(f"the tensor {name!r} of shape {shape} and type {dtype} has {there} bytes")
    if len(shape) > 32 or (0 in shape and any(d >= 2**31 for d in shape)):
        raise CorruptCheckpoint(f"the tensor {name!r} has an impossible shape")
    body = member.read(there + 1)  # at the end the checksum is compared
    if len(body) != there:
        raise CorruptCheckpoint(f"the tensor {name!r} has {len(body)} bytes of {there}")
    return np.frombuffer(body, dtype).reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("="))


def _special(array) -> dict[str, Any]:
    if array is None:
        return {}
    try:
        special = json.loads(array.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise CorruptCheckpoint(f"its list of special entries can't be read: {str(error)[:80]}") from error
    if not isinstance(special, dict):
        raise CorruptCheckpoint("its list of special entries is none")
    return special


def _text(array) -> str:
    try:
        return array.tobytes().decode()
    except UnicodeDecodeError as error:
        raise CorruptCheckpoint(f"a text can't be read: {error}") from error
