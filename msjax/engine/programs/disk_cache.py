"""Compiled programs on disk, so that a script that is started again does not compile them again.

jax stores them, and `programs/store.py` those of operators. This module chooses the folder, sees to it that only the user can write there, as a
program runs its files as code, keeps it from growing, and says what is in it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import platform
import stat
import sys
import time
import warnings
from typing import Any, BinaryIO

import jax

from msjax.core.base import jax_slots

_ENVIRONMENT = "MSJAX_COMPILE_CACHE"
_OFF = ("0", "off", "no", "false")

# What is in the folder: 3 has programs of jax and of msjax's own `programs/store.py`, which jax does not store as well, and was private
# from the beginning.
_LAYOUT = 3

# The folder that `enable` told jax to use, and the limit on its bytes.
_CHOSEN: dict[str, Any] = {}
# A file that was to be renamed when it was whole, and has not been touched for so many seconds, belongs to no process any more.
_ABANDONED = 3600.0


def is_off() -> bool:
    """Whether the environment variable MSJAX_COMPILE_CACHE switches the cache off that commands use by default."""
    return os.environ.get(_ENVIRONMENT, "").lower() in _OFF


def folder(path: str = "") -> str:
    """The folder of this kind of machine: programs for other processors would not run here. "" for a user without a home.

    Args:
        path: the folder that holds it; by default that of MSJAX_COMPILE_CACHE, or ``msjax`` in the user's cache directory.
    """
    if not path:
        path = os.environ.get(_ENVIRONMENT, "")
        path = "" if is_off() or path.lower() in ("1", "on", "yes", "true") else path
    if not path:
        home = os.path.expanduser("~")
        default = os.path.join(home, "AppData", "Local") if sys.platform == "win32" else os.path.join(home, ".cache")
        given = [os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("LOCALAPPDATA", ""), default]
        # A relative one would be another folder wherever the program is started.
        path = next((os.path.join(each, "msjax") for each in given if os.path.isabs(each)), "")
        if not path:
            return ""
    return os.path.join(path, f"{platform.machine()}-{hashlib.sha256(f'{_LAYOUT} {processor()}'.encode()).hexdigest()[:12]}")


def processor() -> str:
    """A text that is different for processors with other instructions."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith(("flags", "Features")):
                return line
    return platform.processor()


def enable(path: str = "", limit: int = 1 << 30) -> None:
    """Have jax store compiled programs, unless jax was already told to store them elsewhere.

    Where somebody else could write to the folder, nothing is stored or read, and one warning says so.

    Args:
        path: as for `folder`.
        limit: when the process exits, the oldest programs are deleted until no more bytes than this are left.
    """
    present = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    ours = bool(path) or present in (None, _CHOSEN.get("folder"))
    chosen = _private(folder(path)) if ours else ""
    if ours and not chosen:
        jax.config.update("jax_compilation_cache_dir", None)
        jax_slots.forget_cache_folder()
        return
    jax.config.update("jax_enable_compilation_cache", True)
    if ours:
        if not _CHOSEN:
            atexit.register(lambda: trim(_CHOSEN["folder"], _CHOSEN["limit"]))
        _CHOSEN.update(folder=chosen, limit=limit)
        jax.config.update("jax_compilation_cache_dir", chosen)
    # The programs of operators are many and small; jax's defaults would not store them.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    jax_slots.forget_cache_folder()
    # A damaged file, or one that another process is writing: the program is compiled, and that is all.
    warnings.filterwarnings("ignore", message="Error (reading|writing) persistent compilation cache entry")


def _private(path):
    """The absolute path of a folder in which only the user can write; "" after a warning if that can't be had."""
    try:
        if not path:
            raise NotPrivate("this user has no home")
        path = os.path.abspath(path)
        make_private(path)
    except NotPrivate as refusal:
        _warn(str(refusal))
        return ""
    return path


@functools.cache
def _warn(refusal):
    warnings.warn(
        f"Compiled programs are not kept on disk, since whoever can write there could have this user run any code: {refusal}. "
        f"Set {_ENVIRONMENT} to a folder of your own, or to 0 to do without.",
        stacklevel=5,
    )


def disable() -> None:
    """Have jax store nothing."""
    jax.config.update("jax_enable_compilation_cache", False)
    jax_slots.forget_cache_folder()


def chosen_folder() -> str:
    """The folder that `enable` chose, while jax stores programs there; "" otherwise."""
    chosen, config = _CHOSEN.get("folder", ""), jax.config
    on = config.jax_enable_compilation_cache and config.jax_compilation_cache_dir == chosen  # pyright: ignore[reportAttributeAccessIssue]
    return chosen if on else ""


def files(path: str) -> list[tuple[float, int, str]]:
    """(time of the last use as far as the file system knows it, size in bytes, path) of the programs in a folder."""
    found = []
    with contextlib.suppress(FileNotFoundError), os.scandir(path) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):  # another process has just deleted it
                status = entry.stat()
                if entry.is_file():
                    found.append((max(status.st_atime, status.st_mtime), status.st_size, entry.path))
    return found


def trim(path: str, limit: int) -> None:
    """Delete the programs in a folder that were used longest ago until no more than `limit` bytes are left, and what is not whole."""
    found = sorted(files(path))
    total = sum(size for _, size, _ in found)
    now = time.time()
    for used, size, name in found:
        if total > limit or (name.endswith(".tmp") and now - used > _ABANDONED):
            with contextlib.suppress(OSError):  # another process has just deleted it
                os.remove(name)
            total -= size


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
