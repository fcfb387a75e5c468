"""Reading and writing whole files: a temporary file is written, then replaces the old one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from msjax.core.base.whole_files import whole_file


class CorruptCheckpoint(ValueError):
    """The content of a checkpoint, or of another file, is not what its format says; the text says what is wrong."""


@contextlib.contextmanager
def reading(path: str) -> Iterator[Any]:
    """The content of a file as a memoryview."""
    if not os.path.isfile(path):
        raise ValueError(f"For 'load_checkpoint', there is no file {os.path.realpath(path)}.")
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise ValueError(f"For 'load_checkpoint', the file {path} can't be read: {error}") from error
    try:
        yield memoryview(content)
    except CorruptCheckpoint as error:
        raise ValueError(f"For 'load_checkpoint', the file {path} is damaged or no checkpoint: {error}") from error


@contextlib.contextmanager
def writing(path: str) -> Iterator[Any]:
    """A binary file to write to; it replaces `path` when the block ends without an error.

    Whatever goes wrong before that leaves the old file as it was.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(f"For 'save_checkpoint', {path} is a directory; give the name of a file.")
    with whole_file(path) as file:
        yield file
