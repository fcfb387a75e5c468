"""Folders in which only the user can write, for files that a program runs as code; how such files are read and written."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import BinaryIO

# So many links are followed on the way to a folder.
_MOST_LINKS = 40


# Files that are not whole yet end with this and the numbers of a process and a thread.
TEMPORARY = ".new."


class NotPrivate(Exception):
    """Somebody else can write to a folder, or put another one into its place; or it can't be made. The message says where and why."""


def make_private(path: str) -> None:
    """Make a folder that only the user can read and write, with the folders above it; or check one that is there.

    A folder above it may belong to the user or to the system (the owner of ``/``); others may write there only if it has the sticky bit,
    as ``/tmp`` has. Links are followed, if they lie where nobody else can replace them. Systems without owners of files check nothing.

    Args:
        path: absolute.

    Raises:
        NotPrivate: see there.
    """
    if not hasattr(os, "getuid"):
        os.makedirs(path, exist_ok=True)
        return
    try:
        folder = _walk(path)
        status = os.stat(folder)
    except OSError as error:
        raise NotPrivate(f"{error.filename or path}: {error.strerror}") from None
    if status.st_uid != os.getuid():
        raise NotPrivate(f"{folder} belongs to another user (number {status.st_uid})")
    if status.st_mode & 0o022:
        raise NotPrivate(f"others can write to {folder} (`chmod 700` it)")


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


def write_whole(path: str, data: bytes) -> None:
    """Write a file that other processes see only when it is whole.

    Raises:
        OSError: it can't be written; nothing is left of it.
    """
    beside = f"{path}{TEMPORARY}{os.getpid()}.{os.urandom(4).hex()}"
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)  # somebody may have deleted the folder meanwhile
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with open(os.open(beside, flags, 0o600), "wb") as file:
            file.write(data)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(beside)
        raise


def is_temporary(path: str) -> bool:
    """Whether a file is one that `write_whole` is writing, or was when its process ended."""
    return TEMPORARY in os.path.basename(path)


def _walk(path):
    """Go down to a folder and make what is missing; return its path without links. It may belong to anybody itself."""
    trusted = {os.getuid(), 0, os.stat("/").st_uid}
    here, links = "/", 0
    rest = _parts(path)
    while rest:
        _check_above(here, trusted)
        name = rest.pop(0)
        if name == "..":
            here = os.path.dirname(here)
            continue
        there = os.path.join(here, name)
        # Whoever is quicker, what is there then is looked at.
        with contextlib.suppress(FileExistsError):
            if not os.path.lexists(there):
                os.mkdir(there, 0o700)
        status = os.lstat(there)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if status.st_uid not in trusted or links > _MOST_LINKS:
                raise NotPrivate(f"{there} is a link of another user, or one in a circle")
            target = os.readlink(there)
            rest = _parts(target) + rest
            here = "/" if os.path.isabs(target) else here
            continue
        if not stat.S_ISDIR(status.st_mode):
            raise NotPrivate(f"{there} is no folder")
        here = there
    return here


def _parts(path):
    return [part for part in path.split("/") if part not in ("", ".")]


def _check_above(folder, trusted):
    """Check a folder above the one that is wanted."""
    status = os.stat(folder)
    if status.st_uid not in trusted:
        raise NotPrivate(f"{folder} belongs to another user (number {status.st_uid})")
    if status.st_mode & stat.S_ISVTX:
        return
    if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _is_own_group(status.st_gid)):
        raise NotPrivate(f"others can write to {folder}, and so replace what is in it")


def _is_own_group(gid):
    """Whether a group is the one that many systems make for each user, without further members."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return gid == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
