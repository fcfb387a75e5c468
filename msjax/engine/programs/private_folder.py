"""Folders in which only the user can write, for files that a program runs as code; how such files are read."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import BinaryIO


class NotPrivate(Exception):
    """Somebody else can write to a folder, or it can't be made. The message says where and why."""


def make_private(path: str) -> None:
    """Make a folder that only the user can read and write, with the folders above it; or check one that is there.

    Nobody else can write to the one above it either, unless it has the sticky bit, as ``/tmp`` has. Those further up are not looked at. Systems
    without owners of files check nothing.

    Args:
        path: absolute.

    Raises:
        NotPrivate: see there.
    """
    try:
        _make(os.path.dirname(path))
        above = os.stat(os.path.dirname(os.path.realpath(path)))
        if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
            raise NotPrivate(f"others can write to the folder above {path}, and so replace it")
        _make(path)
        status = os.stat(path)
    except OSError as error:
        raise NotPrivate(f"{error.filename or path}: {error.strerror}") from None
    if not stat.S_ISDIR(status.st_mode):
        raise NotPrivate(f"{path} is no folder")
    if not hasattr(os, "getuid"):
        return
    if status.st_uid != os.getuid():
        raise NotPrivate(f"{path} belongs to another user (number {status.st_uid})")
    if status.st_mode & 0o022:
        raise NotPrivate(f"others can write to {path} (`chmod 700` it)")


def _make(path):
    """Make a folder and those above it: `os.makedirs` gives the mode only to the last one."""
    if not os.path.isdir(os.path.dirname(path)):
        _make(os.path.dirname(path))
    if not os.path.isdir(path):
        with contextlib.suppress(FileExistsError):  # another process was quicker
            os.mkdir(path, 0o700)


def open_own(path: str) -> BinaryIO:
    """Open a file to read it.

    Raises:
        NotPrivate: it is a link or something else that is no file, or another user's.
        OSError: it isn't there, or can't be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = open(os.open(path, flags), "rb")
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode) or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
        file.close()
        raise NotPrivate(f"{path} is no file of this user")
    return file
