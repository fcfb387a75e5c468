"""Files that are there whole or not at all: what is written lies beside the file until it is complete, and replaces it then."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import Any


class FileBeside:
    """A file beside another one, which it replaces, or makes, once it is complete. It has a name of its own; a killed process leaves it there.

    Through a symbolic link, the file that it names is written, and the link stays.

    Attributes:
        file: the binary file to write to.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._target = os.path.realpath(path)
        folder, name = os.path.split(self._target)
        self._path = os.path.join(folder, f".{name[:50]}.msjax-{secrets.token_hex(8)}.tmp")
        # Mode "x" takes the permissions that the process's umask allows, and refuses a file that is there.
        self.file: Any = open(self._path, "xb")

    def complete(self) -> None:
        """Bring what was written to the disk."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def replace(self) -> None:
        """Take the place of the other file; one that is to outlive a crash of the machine is complete."""
        self.file.close()
        os.replace(self._path, self._target)

    def drop(self, error: BaseException) -> None:
        """Remove it, after an error, which names the file; it may have taken the other's place already."""
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = self._target
        with contextlib.suppress(OSError):
            self.file.close()  # what was not written yet may not fit on the disk
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], lasting: bool = True) -> Iterator[Any]:
    """A binary file to write to; it replaces the one at `path` when the block ends without an error.

    Whatever goes wrong before that leaves the old file as it was. What is `lasting` is brought to the disk, and outlives a crash of the machine.
    """
    beside = FileBeside(path)
    try:
        yield beside.file
        if lasting:
            beside.complete()
        beside.replace()
    except BaseException as error:
        beside.drop(error)
        raise
    if lasting:
        sync_folder(os.path.dirname(os.path.realpath(path)))


def sync_folder(folder: str) -> None:
    """Bring a folder to the disk, so that new names survive a crash; skipped where folders can't be opened."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
