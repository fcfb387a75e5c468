"""The digest of the sources that programs are made of: the content of msjax's, jax's and numpy's files.

Hashing them takes a tenth of a second. So the digest is remembered in the store, under what the file system says of each file: size, times, and
the number and time of its change, which no tool sets. A file system that has no such times, as those of images, is read each time.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import struct
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from msjax.engine.programs.store_entry import DamagedEntry, StoreEntry, read_entry, write_entry

_IMPORTED = time.time_ns()
# Packages, and the folders in them that don't matter.
_PACKAGES = {
    "msjax": (),
    "jax": ("experimental", "tools", "_src/pallas", "_src/mosaic", "_src/internal_test_util", "_src/export"),
    "numpy": (
        "f2py",
        "ma",
        "polynomial",
        "random",
        "testing",
        "typing",
        "tests",
        "_core/tests",
        "lib/tests",
        "linalg/tests",
        "fft/tests",
    ),
    "ml_dtypes": (),
    "flax": ("linen", "training", "metrics", "testing", "experimental", "nnx/nn"),
    "opt_einsum": ("tests",),
}
# A file that was changed so many nanoseconds ago could be changed again without another time of its change.
_RECENT = 2_000_000_000


class _File(NamedTuple):
    path: str
    name: str
    status: os.stat_result
    # The compiled file that Python may load instead of it; None if it is newer than the last change of the source.
    compiled: str | None


def sources_digest(folder: str) -> str | None:
    """The digest of the sources; None if one of them was changed since this process began, which may have imported the earlier one.

    Args:
        folder: of the store.
    """
    try:
        files = [file for package, without in _PACKAGES.items() for file in _files_of(package, without)]
        now = time.time_ns()
        newest = max(max(file.status.st_mtime_ns, file.status.st_ctime_ns) for file in files)
        if newest > _IMPORTED:
            return None
        if newest > now - _RECENT or any(file.status.st_ctime_ns % 1_000_000_000 == 0 for file in files):
            return _content_digest(files)
        seen = [(file.path, *_seen(file.status), file.compiled and _seen(os.stat(file.compiled))) for file in files]
        path = os.path.join(folder, f"msjax-sources-{hashlib.sha256(repr(seen).encode()).hexdigest()}")
        return _remembered(path) or _remember(path, _content_digest(files))
    except OSError:
        return None


def _seen(status):
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _remembered(path):
    with contextlib.suppress(OSError, DamagedEntry):
        found = read_entry(path).results
        return found if isinstance(found, str) else None


def _remember(path, digest):
    with contextlib.suppress(OSError):
        write_entry(path, StoreEntry(digest, None))
    return digest


def _content_digest(files):
    digest = hashlib.sha256()
    for file in files:
        for path in (file.path, file.compiled):
            content = b""
            if path is not None:
                with open(path, "rb") as opened:
                    content = opened.read()
            if path == file.compiled and content and not _is_accepted(content, file.status):
                content = b""
            digest.update(f"{file.name} {len(content)}\n".encode())
            digest.update(content)
    return digest.hexdigest()


def _is_accepted(compiled, status):
    """Whether Python loads a compiled file in place of a source, though that has been changed since: it looks at time and size only."""
    if len(compiled) < 16:
        return False
    flags, time_or_hash, size = struct.unpack_from("<III", compiled, 4)
    return flags in (1, 3) or (
        flags == 0 and (time_or_hash, size) == (int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    )


def _files_of(package, without):
    module = sys.modules.get(package)
    spec = importlib.util.find_spec(package) if module is None else module.__spec__
    for folder in (spec.submodule_search_locations if spec is not None else None) or ():
        yield from _files_in(folder, "", package, without)


def _files_in(folder: str, inner: str, package: str, without: tuple[str, ...]) -> Iterator[_File]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    compiled = {}
    # Where Python has compiled files, and how it calls them: both depend on its options.
    cached, name = os.path.split(importlib.util.cache_from_source(os.path.join(folder, "x.py")))
    tag = name.removeprefix("x")
    with contextlib.suppress(OSError), os.scandir(cached) as found:
        compiled = {entry.name.removesuffix(tag): entry for entry in found if entry.name.endswith(tag)}
    for entry in entries:
        name = f"{inner}{entry.name}"
        if entry.name.endswith(".py"):
            status = entry.stat()
            other = compiled.get(entry.name[:-3])
            older = None if other is None or other.stat().st_mtime_ns > status.st_ctime_ns else other.path
            yield _File(entry.path, f"{package}/{name}", status, older)
        elif entry.is_dir() and entry.name != "__pycache__" and name not in without:
            yield from _files_in(entry.path, f"{name}/", package, without)
