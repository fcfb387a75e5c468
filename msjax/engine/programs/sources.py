"""The digest of msjax's files, of which programs are made.

Hashing them takes a twentieth of a second. So the digest is remembered in the store, under what the file system says of each file: size, times,
and the number and time of its change, which no tool sets. A file system that has no such times, as those of images, is read each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path

from msjax.engine.programs.store_entry import DamagedEntry, StoreEntry, read_entry, write_entry

_IMPORTED = time.time_ns()
_FOLDER = Path(__file__).parents[2]
# A file that was changed so many nanoseconds ago could be changed again without another time of its change.
_RECENT = 2_000_000_000


def sources_digest(folder: str) -> str | None:
    """The digest of msjax's files; None if one of them was changed since this process began, which may have imported the earlier one.

    Args:
        folder: of the store.
    """
    try:
        files = [(path, path.stat()) for path in sorted(_FOLDER.rglob("*.py"))]
        now = time.time_ns()
        newest = max(max(status.st_mtime_ns, status.st_ctime_ns) for _, status in files)
        if newest > _IMPORTED:
            return None
        if newest > now - _RECENT or any(status.st_ctime_ns % 1_000_000_000 == 0 for _, status in files):
            return _content_digest(files)
        seen = [(str(path), s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for path, s in files]
        known = os.path.join(folder, f"msjax-sources-{hashlib.sha256(repr(seen).encode()).hexdigest()}")
        with contextlib.suppress(OSError, DamagedEntry):
            found = read_entry(known).results
            if isinstance(found, str):
                return found
        digest = _content_digest(files)
        with contextlib.suppress(OSError):
            write_entry(known, StoreEntry(digest, None))
        return digest
    except OSError:
        return None


def _content_digest(files):
    digest = hashlib.sha256()
    for path, status in files:
        digest.update(f"{path.relative_to(_FOLDER)} {status.st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
