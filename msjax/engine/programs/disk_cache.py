"""Compiled programs on disk, so that a script that is started again does not compile them again.

jax stores them, and `programs/store.py` those of operators. This module chooses the folder, sees to it that only the user can write
there, keeps it from growing, and says what is in it.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import math
import os
import platform
import sys
import threading
import time
import warnings
from typing import Any

from msjax.engine.programs.cache_list import CacheList, is_list, is_whole
from msjax.engine.programs.private_folder import NotPrivate, is_temporary, make_private

_ENVIRONMENT = "MSJAX_COMPILE_CACHE"
_OFF = ("0", "off", "no", "false")

# What is in the folder: 3 has programs of jax and of msjax's own `programs/store.py`, which jax does not store as well, and was private
# from the beginning.
_LAYOUT = 3

# The folder that `enable` told jax to use.
_CHOSEN: dict[str, str] = {}
# Folder by folder, what jax has written there.
_LISTS: dict[str, CacheList] = {}
# The folders that there was a warning of.
_REFUSED: set[str] = set()
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
    import jax

    from msjax.core.base import jax_slots

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
            began = time.time() - 1  # the clock of files may be coarse
            atexit.register(lambda: _leave(_CHOSEN["folder"], int(_CHOSEN["limit"]), began))
            _WRITES.watch()
        _CHOSEN.update(folder=chosen, limit=str(limit))
        if chosen not in _LISTS:
            _LISTS[chosen] = CacheList(chosen)
        _LISTS[chosen].verify()
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
        if path not in _REFUSED:
            _REFUSED.add(path)
            warnings.warn(
                f"Compiled programs are not kept on disk, since whoever can write there could have this user run any code: {refusal}. "
                f"Set {_ENVIRONMENT} to a folder of your own, or to 0 to do without.",
                stacklevel=4,
            )
        return ""
    return path


def disable() -> None:
    """Have jax store nothing."""
    import jax

    from msjax.core.base import jax_slots

    jax.config.update("jax_enable_compilation_cache", False)
    jax_slots.forget_cache_folder()


class _Writes(threading.local):
    """Sees to it that what jax writes in a thread is put on the list.

    Attributes:
        now: whether jax is about to write a file, or has just done so.
    """

    now = False
    _watched = False

    def watch(self) -> None:
        """Have jax tell when it compiles."""
        import jax

        if not _Writes._watched:
            _Writes._watched = True
            jax.monitoring.register_event_listener(self._begun)
            jax.monitoring.register_event_duration_secs_listener(self._done)

    def _begun(self, event: str, **_: Any) -> None:
        from msjax.core.base import jax_slots

        if event == jax_slots.CACHE_WRITE:
            self.now = True

    def _done(self, event: str, duration_secs: float, **_: Any) -> None:
        from msjax.core.base import jax_slots

        if self.now and event == jax_slots.COMPILED:
            self.now = False
            chosen = chosen_folder()
            if chosen:
                _LISTS[chosen].add()


_WRITES = _Writes()


def chosen_folder() -> str:
    """The folder that `enable` chose, while jax stores programs there; "" otherwise."""
    if not _CHOSEN:
        return ""
    import jax

    chosen, config = _CHOSEN["folder"], jax.config
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


def _leave(path, limit, began):
    """Leave a folder as the next process wants it."""
    _LISTS[path].add_at_exit()
    trim(path, limit, began)


def trim(path: str, limit: int, since: float = math.inf) -> None:
    """Delete the programs in a folder that were used longest ago until no more than `limit` bytes are left, and what is not whole.

    Args:
        since: when this process began to write there, in seconds: what jax has written from then on is looked at. On a full disk, it
            leaves files behind that have only their beginning.
    """
    found = sorted(files(path))
    total = sum(size for _, size, _ in found)
    now = time.time()
    for used, size, name in found:
        abandoned = is_temporary(name) and now - used > _ABANDONED
        if abandoned or (total > limit and not is_list(name)) or (used >= since and not is_whole(name)):
            with contextlib.suppress(OSError):  # another process has just deleted it
                os.remove(name)
            total -= size
