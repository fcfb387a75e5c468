"""Reading and writing whole files: a temporary file is written, then replaces the old one."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import Any


class CorruptCheckpoint(Exception):
    """A checkpoint's content is not what its format says; the text says what is wrong."""


@contextlib.contextmanager
def reading(path: str) -> Iterator[Any]:
    """The content of a file as a memoryview.

    Raises:
        ValueError: the file doesn't exist, can't be read, or what is read from it in the block is `CorruptCheckpoint`.
    """
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
    # Through a symbolic link, the file that it names is written, and the link stays.
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if os.path.isdir(path):
        raise IsADirectoryError(f"For 'save_checkpoint', {path} is a directory; give the name of a file.")
    aside = os.path.join(folder, f".{os.path.basename(target)[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        # Mode "x" takes the permissions that the process's umask allows, and refuses a file that is there.
        with open(aside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
        raise
    _sync_folder(folder)


def _sync_folder(folder):
    """Flush the folder, so that the new name survives a crash; skipped where folders can't be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
