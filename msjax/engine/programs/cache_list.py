"""The list of the programs that jax has stored in a folder: the digest of each one's name and content.

jax believes whatever it finds under a name. So before it looks into the folder, files that are not on the list, or are not what was
written under their name, are deleted. A line is written as soon as jax has written a file. Each process writes a list of its own;
the next ones read them all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import zlib
from collections.abc import Iterable, Iterator

from msjax.engine.programs.private_folder import NotPrivate, is_temporary, open_own, write_whole

_PREFIX = "msjax-written-"
# What the names of jax's files end with.
_SUFFIX = "-cache"
# With more lists than these, they are written anew as one.
_MOST_LISTS = 8

# What the file system says of a file: inode, size, and the times of its last change and of that of its state, which no tool sets.
Seen = tuple[int, int, int, int]


def is_list(path: str) -> bool:
    """Whether a file is a list."""
    return os.path.basename(path).startswith(_PREFIX)


class CacheList:
    """The list of the programs that jax has stored in a folder.

    Args:
        folder: one in which only the user can write.
    """

    def __init__(self, folder: str):
        self._folder = folder
        self._path = self._new_path()
        self._lock = threading.Lock()
        # {name of a file on the list: what it was when it was listed}; others that were looked at.
        self._listed: dict[str, Seen] = {}
        self._partial: dict[str, Seen] = {}
        self._own: set[str] = set()
        os.register_at_fork(after_in_child=self._after_fork)

    def _after_fork(self):
        self._lock = threading.Lock()
        self._path = self._new_path()

    def _new_path(self):
        return os.path.join(self._folder, f"{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}")

    def verify(self) -> None:
        """Delete the programs in the folder that are not what was written under their name, as far as anybody can tell."""
        with self._lock:
            lists, found = self._read_lists()
            kept: dict[str, tuple[str, Seen]] = {}
            stale = len(lists) > _MOST_LISTS
            for name in self._names():
                path, lines = os.path.join(self._folder, name), found.get(name, {})
                try:
                    seen = _seen(os.lstat(path))
                    digest = next((digest for digest, known in lines.items() if seen in known), None)
                    if digest is None and lines:
                        # A folder that was copied, or one on a file system that does not keep such numbers.
                        seen, stale, digest = _seen(os.lstat(path)), True, _digest(name, path)
                except (OSError, NotPrivate):
                    digest = None
                if digest in lines:
                    kept[name] = digest, seen
                else:
                    with contextlib.suppress(OSError):
                        os.remove(path)
            self._listed, self._own = {name: seen for name, (_, seen) in kept.items()}, set()
            if stale or sum(map(len, found.values())) > 2 * len(kept) + 64:
                self._merge(lists, kept)

    def add(self) -> None:
        """Add the programs that are new in the folder, and whole."""
        with self._lock:
            lines = []
            for name in self._names():
                if name in self._listed:
                    continue
                path = os.path.join(self._folder, name)
                with contextlib.suppress(OSError, NotPrivate):
                    seen = _seen(os.lstat(path))
                    if self._partial.get(name) == seen:
                        continue
                    if not is_whole(path):
                        self._partial[name] = seen
                        continue
                    lines.append((name, _digest(name, path), seen))
            if lines:
                self._append(lines)

    def add_at_exit(self) -> None:
        """Add the programs that are new, and anew those of this process that another thread was still writing when they were listed."""
        with self._lock:
            for name in list(self._own):
                with contextlib.suppress(OSError):
                    if _seen(os.lstat(os.path.join(self._folder, name))) != self._listed[name]:
                        del self._listed[name]
                        self._own.discard(name)
            self._partial.clear()
        self.add()

    def has(self, name: str) -> bool:
        """Whether a file is on the list."""
        return name in self._listed

    def _names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self._folder) if name.endswith(_SUFFIX))
        except FileNotFoundError:
            return []

    def _read_lists(self):
        """({path of a list: what it is}, {name of a file: {digest: [what it was]}})."""
        while True:
            lists: dict[str, Seen] = {}
            found: dict[str, dict[str, list[Seen]]] = {}
            try:
                for name in os.listdir(self._folder):
                    if not is_list(name) or is_temporary(name):
                        continue
                    path = os.path.join(self._folder, name)
                    # Looked at first: what is added meanwhile keeps the list from being deleted.
                    lists[path] = _seen(os.lstat(path))
                    try:
                        with open_own(path) as file:
                            text = file.read()
                    except NotPrivate:
                        continue
                    for name, digest, seen in _lines(text):
                        found.setdefault(name, {}).setdefault(digest, []).append(seen)
            except FileNotFoundError:
                # Another process has put them together, unless the whole folder is gone.
                if os.path.isdir(self._folder):
                    continue
            except OSError:
                pass
            return lists, found

    def _merge(self, lists, kept):
        """Write the lists anew as one."""
        with contextlib.suppress(OSError):
            if kept:
                write_whole(self._new_path(), _text((name, digest, seen) for name, (digest, seen) in kept.items()))
            for path, seen in lists.items():
                if _seen(os.lstat(path)) == seen:
                    os.remove(path)

    def _append(self, lines):
        """Add lines to the list of this process; where that fails, the programs are compiled again by the next one."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        with contextlib.suppress(OSError), open(os.open(self._path, flags, 0o600), "ab", buffering=0) as file:
            # On a full disk, the last line may have only its beginning.
            file.write(b"\n" * (file.tell() > 0) + _text(lines))
        for name, _, seen in lines:
            self._listed[name] = seen
            self._own.add(name)


def _text(lines: Iterable[tuple[str, str, Seen]]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _lines(text: bytes) -> Iterator[tuple[str, str, Seen]]:
    """The lines of a list that are whole."""
    for line in text.splitlines():
        try:
            name, digest, seen = json.loads(line)
            if isinstance(name, str) and isinstance(digest, str) and len(seen) == 4:
                yield name, digest, tuple(seen)
        except (ValueError, TypeError):
            continue


def _seen(status: os.stat_result) -> Seen:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _digest(name: str, path: str) -> str:
    """The digest of a file's name and content."""
    digest = hashlib.sha256(name.encode() + b"\n")
    with open_own(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def is_whole(path: str) -> bool:
    """Whether a file of jax's is whole, as far as Python can tell: jax uses another compression where a package for it is there."""
    if not path.endswith(_SUFFIX):
        return True
    with contextlib.suppress(OSError), open(path, "rb") as file:
        stream, data = zlib.decompressobj(), file.read(1 << 16)
        if data[:1] not in (b"", b"\x78"):
            return True
        try:
            while data and not stream.eof:
                while data:
                    stream.decompress(data, 1 << 20)
                    data = stream.unconsumed_tail
                data = file.read(1 << 16)
        except zlib.error:
            return False
        return stream.eof
    return True
