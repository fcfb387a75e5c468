"""The entry of a program on disk: what a file of the store holds, and how it is written and read.

A file has a mark, the digest of its key and of all that follows, and, compressed, a text in JSON and the executable as jax has serialized it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import struct
import zlib
from typing import Any

from jax.tree_util import PyTreeDef, default_registry

from msjax.core.base.whole_files import whole_file
from msjax.engine.programs.disk_cache import open_own

_MARK = b"msjax program 3\n"
_DIGEST = hashlib.sha256().digest_size


def read_entry(path: str) -> tuple[Any, bytes]:
    """(results, executable) of the entry in a file, whose name is its key; see `write_entry`.

    Raises:
        FileNotFoundError: there is none.
        NotPrivate: it is another user's, or no file.
        ValueError, zlib.error, struct.error: it was written under another key, or is damaged.
        OSError: it can't be read.
    """
    with open_own(path) as file:
        data = file.read()
    begin = len(_MARK) + _DIGEST
    if data[:begin] != _MARK + _digest(path, memoryview(data)[begin:]):
        raise ValueError("written under another key, or damaged")
    content = zlib.decompress(memoryview(data)[begin:])
    (length,) = struct.unpack_from("<I", content)
    return json.loads(content[4 : 4 + length]), content[4 + length :]


def write_entry(path: str, results: Any, payload: bytes) -> None:
    """Write an entry as a file that other processes see only when it is whole.

    Args:
        path: the file.
        results: what says how the program's results are made, as JSON can hold it: lists, texts, numbers, True, False and None. Of a
            function with metadata, the stored part of that; of any other one, the structure of its results.
        payload: the executable.

    Raises:
        OSError: it can't be written; nothing is left of it.
        TypeError, ValueError: `results` is nothing that JSON can hold.
    """
    text = json.dumps(results, allow_nan=False).encode()
    data = zlib.compress(struct.pack("<I", len(text)) + text + payload, 1)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)  # somebody may have deleted the folder meanwhile
    with whole_file(path, lasting=False) as file:  # one that is lost in a crash is compiled again
        os.chmod(file.name, 0o600)
        file.write(_MARK + _digest(path, data) + data)


def structure_as_data(structure: Any) -> str:
    """A structure of tuples, lists, dicts and None, as JSON can hold it; ValueError if there is something else in it."""
    return base64.b64encode(structure.serialize_using_proto()).decode()


def structure_of_data(data: str) -> Any:
    """The structure that `structure_as_data` was given."""
    return PyTreeDef.deserialize_using_proto(default_registry, base64.b64decode(data, validate=True))


def _digest(path, data):
    digest = hashlib.sha256(os.path.basename(path).encode() + b"\n")
    digest.update(data)
    return digest.digest()
