"""The entry of a program on disk: what a file of the store holds, and how it is written and read."""

from __future__ import annotations

import os
import pickle
import threading
import zlib
from typing import Any, NamedTuple


class StoreEntry(NamedTuple):
    """The content of a file.

    Attributes:
        results: what says how the program's results are made. Of a program without equations, the positions of the operands that it
            returns; of a function with metadata, the stored part of that; of any other one, the structure of its results.
        payload: the executable; None for a program without equations.
    """

    results: Any
    payload: bytes | None


def read_entry(path: str) -> StoreEntry:
    """The entry in a file.

    Raises:
        FileNotFoundError: there is none.
        Exception: of any kind, if the file is damaged.
    """
    with open(path, "rb") as file:
        return StoreEntry(*pickle.loads(zlib.decompress(file.read())))


def write_entry(path: str, entry: StoreEntry) -> None:
    """Write an entry as a file that other processes see only when it is whole.

    Raises:
        OSError: it can't be written.
    """
    data = zlib.compress(pickle.dumps(tuple(entry)), 1)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    beside = f"{path}.{os.getpid()}.{threading.get_ident()}"
    with open(beside, "wb") as file:
        file.write(data)
    os.replace(beside, path)
