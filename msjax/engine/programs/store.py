"""The store: compiled programs of operators on disk, beside those that jax stores, found without tracing anything.

jax finds a program on disk by the text that it was compiled from, so a function is traced and lowered in every process, which
takes most of the time of a first step. Here a program is found by a description of what would be traced (`store_key`). Used only
where `disk_cache` is switched on, on one CPU device.

A file has a mark, the digest of its key and of all that follows, and, compressed, a text in JSON and the executable as jax has serialized it.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import hashlib
import json
import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
from jax.tree_util import PyTreeDef, default_registry

from msjax import log
from msjax.core.base import jax_slots
from msjax.core.base.whole_files import whole_file
from msjax.engine.programs import disk_cache
from msjax.engine.programs.disk_cache import open_own
from msjax.engine.programs.originals import ORIGINALS, description_of
from msjax.engine.programs.store_key import StoreKey, only_device, store_key

# So many programs wait to be written, most of them for the end of the process.
_MOST_WAITING = 256


class ProgramStore:
    """The store of operators' programs, in the folder that `disk_cache` has chosen.

    Attributes:
        unusable: set where jax does not call what is loaded as this module expects.
    """

    def __init__(self):
        self._pending: list[tuple[str, jax.stages.Compiled, Any, Any]] = []  # path, program, function, its metadata
        self._waits_for_exit = False
        self.unusable: bool = False
        if hasattr(os, "register_at_fork"):  # not on Windows
            os.register_at_fork(after_in_child=self._pending.clear)

    def folder(self) -> str:
        """The folder of the files; "" if nothing is stored."""
        return "" if self.unusable else disk_cache.chosen_folder()

    def describe(self, fn: Callable[..., Any]) -> str | None:
        """The description of a function; None if its programs are not stored."""
        return None if not self.folder() or only_device() is None else description_of(fn)

    def key(self, description: str | None, values: Sequence[Any], options: dict[str, Any]) -> StoreKey | None:
        """What `store_key` gives; None if nothing is stored, or the function has no description."""
        return None if description is None or not self.folder() else store_key(description, values, options)

    def load(self, key: StoreKey, values: Sequence[Any], fn: Any) -> tuple[Any, jax_slots.CheckedExecutable] | None:
        """(the program of a key, the executable in it); None if it isn't there, or is damaged.

        Args:
            fn: the function; one whose programs have metadata is a `msjax.engine.autograd.residuals.Forward`.
        """
        try:
            results, payload = read_entry(self._path(key))
            if hasattr(fn, "restored_metadata"):
                metadata, out_tree = fn.restored_metadata(results, values)
            else:
                metadata, out_tree = None, structure_of_data(results)
            in_tree = jax.tree.structure((tuple(values), {}))

            def check(*operands, _metadata=metadata):  # it holds the program's metadata
                key.check(operands)

            return jax_slots.deserialized(payload, in_tree, out_tree, only_device(), check)
        except FileNotFoundError:
            return None
        except Exception:  # whatever is wrong with the file, the program is compiled, and the file written again
            self.discard(key)
            return None

    def discard(self, key: StoreKey) -> None:
        """Delete the program of a key, with which something is wrong."""
        with contextlib.suppress(OSError):
            os.remove(self._path(key))

    @contextlib.contextmanager
    def compiling(self, key: StoreKey | None, program: Any, values: Sequence[Any]) -> Iterator[None]:
        """A context manager in which a program is compiled, and may run: it is stored afterwards, and jax does not store it.

        Args:
            key: None for a program that is not stored.
            program: `jax.jit` of a `TracedFunction`.
        """
        # The libraries and Python functions that custom calls refer to are made known to XLA when they are lowered.
        if key is None or "custom_call" in (lowered := program.lower(*values)).as_text():
            yield
            return
        with JAX_CACHE.left_out():
            yield
            compiled = lowered.compile()
        # What jax has read from its own cache can't be written again: XLA leaves the machine code out.
        if JAX_CACHE.requests and not JAX_CACHE.hits:
            traced = program.__wrapped__
            self._add(self._path(key), compiled, traced.fn, traced.metadata[0] if traced.metadata else None)

    def _path(self, key):
        return os.path.join(self.folder(), key.name)

    def _add(self, *waiting):
        if not self._waits_for_exit:
            # After `disk_cache.enable`, so that the folder is trimmed afterwards.
            self._waits_for_exit = True
            atexit.register(self.flush)
        self._pending.append(waiting)
        if len(self._pending) > _MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Write the programs that wait for it; none where a function has been replaced, which may have been traced."""
        if self._pending and ORIGINALS.digest() is None:
            self._pending.clear()
        while self._pending:
            path, compiled, fn, metadata = self._pending.pop()
            # What can't be written, for want of space or since jax can't serialize it, is compiled again by the next process.
            with contextlib.suppress(Exception):
                if not os.path.exists(path):
                    payload, out_tree = jax_slots.serialized(compiled)
                    stored = hasattr(fn, "stored_metadata")
                    write_entry(path, fn.stored_metadata(metadata) if stored else structure_as_data(out_tree), payload)


STORE = ProgramStore()


class JaxCache(threading.local):
    """Counts a thread's programs that jax looks for in its own cache on disk.

    Attributes:
        requests: how many programs jax has looked for since a context was entered.
        hits: how many of them it has found.
    """

    requests = hits = 0
    _lock = threading.Lock()
    _listens = False
    _depth = 0
    _before = 0.0

    def _note(self, event, **_):
        if event == jax_slots.CACHE_REQUEST:
            self.requests += 1
        elif event == jax_slots.CACHE_HIT:
            self.hits += 1

    def _begin(self):
        self.requests = self.hits = 0
        with JaxCache._lock:
            if not JaxCache._listens:
                JaxCache._listens = True
                jax.monitoring.register_event_listener(self._note)

    @contextlib.contextmanager
    def telling(self, name: str) -> Iterator[None]:
        """A context manager around the compilation of one program; the log says at level 1 whether it was found on disk."""
        self._begin()
        yield
        log.info("%s was %s", name, "found in jax's cache on disk" if self.requests == self.hits > 0 else "compiled")

    @contextlib.contextmanager
    def left_out(self) -> Iterator[None]:
        """A context manager in which the counts begin anew, and jax stores nothing."""
        name, cls = "jax_persistent_cache_min_compile_time_secs", JaxCache
        self._begin()
        with cls._lock:
            if not cls._depth:
                cls._before = jax_slots.settings()[name]
                jax.config.update(name, float("inf"))
            cls._depth += 1
        try:
            yield
        finally:
            with cls._lock:
                cls._depth -= 1
                if not cls._depth:
                    jax.config.update(name, cls._before)


JAX_CACHE = JaxCache()


_MARK = b"msjax program 3\n"
_DIGEST = hashlib.sha256().digest_size


def read_entry(path: str) -> tuple[Any, bytes]:
    """(results, executable) of the entry in a file, whose name is its key; see `write_entry`.

    Raises:
        FileNotFoundError: there is none.
        NotPrivate: it is another user's, or no file.
        ValueError, zlib.error, struct.error: it was written under another key, or is damaged.
        OSError: it can't be read.
    """
    with open_own(path) as file:
        data = file.read()
    begin = len(_MARK) + _DIGEST
    if data[:begin] != _MARK + _digest(path, memoryview(data)[begin:]):
        raise ValueError("written under another key, or damaged")
    content = zlib.decompress(memoryview(data)[begin:])
    (length,) = struct.unpack_from("<I", content)
    return json.loads(content[4 : 4 + length]), content[4 + length :]


def write_entry(path: str, results: Any, payload: bytes) -> None:
    """Write an entry as a file that other processes see only when it is whole.

    Args:
        path: the file.
        results: what says how the program's results are made, as JSON can hold it: lists, texts, numbers, True, False and None. Of a
            function with metadata, the stored part of that; of any other one, the structure of its results.
        payload: the executable.

    Raises:
        OSError: it can't be written; nothing is left of it.
        TypeError, ValueError: `results` is nothing that JSON can hold.
    """
    text = json.dumps(results, allow_nan=False).encode()
    data = zlib.compress(struct.pack("<I", len(text)) + text + payload, 1)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)  # somebody may have deleted the folder meanwhile
    with whole_file(path, lasting=False) as file:  # one that is lost in a crash is compiled again
        os.chmod(file.name, 0o600)
        file.write(_MARK + _digest(path, data) + data)


def structure_as_data(structure: Any) -> str:
    """A structure of tuples, lists, dicts and None, as JSON can hold it; ValueError if there is something else in it."""
    return base64.b64encode(structure.serialize_using_proto()).decode()


def structure_of_data(data: str) -> Any:
    """The structure that `structure_as_data` was given."""
    return PyTreeDef.deserialize_using_proto(default_registry, base64.b64decode(data, validate=True))


def _digest(path, data):
    digest = hashlib.sha256(os.path.basename(path).encode() + b"\n")
    digest.update(data)
    return digest.digest()
