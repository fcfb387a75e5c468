"""Compiled programs of operators on disk, beside those that jax stores: these are found without tracing anything.

jax finds a program on disk by the text that it was compiled from, so a function is traced and lowered in every process, which
takes most of the time of a first step. Here a program is found by a description of what would be traced: the function's code and
closure, its settings and the signature of the operands. What can't be described completely, such as a user's function, is not
stored. Used only where `disk_cache` is switched on, on one CPU device.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.metadata
import os
import pickle
import platform
import sys
import threading
import time
import types
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import ml_dtypes
import numpy as np

from msjax.base import disk_cache, jax_slots

NUMBERS = frozenset((bool, int, float))
# Modules whose functions are what they are for a version (jax, numpy) or for the files of the package (msjax).
_KNOWN = ("msjax", "jax", "jaxlib", "numpy", "ml_dtypes")
_IMPORTED = time.time_ns()
# Settings of jax under which calls are checked or traced one by one.
_CHECKS = ("jax_debug_nans", "jax_debug_infs", "jax_disable_jit", "jax_check_tracer_leaks")
# Settings of jax that don't change what is traced or compiled.
_WITHOUT_EFFECT = ("cache", "log", "traceback", "dump")


class OtherCall(TypeError):
    """A program was called with other operands, or under other settings of jax, than it was compiled for."""


class Undescribable(ValueError):
    """The description of a function would not be complete."""


def describe(value: Any) -> Any:
    """A text of a value, or nested tuples of them, that is the same in every process and differs where programs would.

    Raises:
        Undescribable: there is none.
    """
    cls = value.__class__
    if value is None or value is Ellipsis or cls in (bool, int, str, bytes):
        return cls.__name__, repr(value)
    if isinstance(value, float):
        return _name(cls), float.hex(value)  # distinguishes -0.0 and finds NaN again
    if cls in (tuple, list):
        return cls.__name__, *[describe(v) for v in value]
    if cls is dict:
        return "dict", *[(describe(k), describe(v)) for k, v in value.items()]
    if cls is slice:
        return "slice", describe(value.start), describe(value.stop), describe(value.step)
    if isinstance(value, np.dtype) and value.fields is None:
        return "dtype", value.name, value.byteorder
    if cls is functools.partial:
        return "partial", describe(value.func), describe(value.args), describe(value.keywords)
    if cls is types.MethodType:
        return "method", describe(value.__func__), describe(value.__self__)
    if cls is types.FunctionType and _package(value) == "msjax":
        return _function(value)
    identity = getattr(value, "identity", None) if _package(cls) == "msjax" else None
    if identity is not None:
        return "object", _name(cls), describe(identity)
    return "named", _name(value)


def _package(value):
    return str(getattr(value, "__module__", "")).partition(".")[0]


def _name(value):
    """The module and name of what a module of a known package holds."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    found = sys.modules.get(module) if isinstance(module, str) else None
    for part in str(name).split("."):
        found = getattr(found, part, None)
    if found is not value or value is None or _package(value) not in (*_KNOWN, "builtins"):
        raise Undescribable(repr(value))
    return module, name


def _function(fn):
    cells = [cell.cell_contents for cell in fn.__closure__ or ()]
    parts = (fn.__defaults__, fn.__kwdefaults__, cells, getattr(fn, "gradient", None))
    return "function", fn.__module__, fn.__qualname__, _code(fn.__code__), describe(parts)


@functools.lru_cache(4096)
def _code(code):
    constants = [_code(c) if isinstance(c, types.CodeType) else _constant(c) for c in code.co_consts]
    parts = (code.co_name, code.co_firstlineno, code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _constant(value):
    return sorted(map(repr, value)) if isinstance(value, frozenset) else (value.__class__.__name__, repr(value))


@functools.cache
def _stamp():
    """A text of what all programs of a process depend on; None if that is not known."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sources = []
    try:
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                if name.endswith(".py"):
                    status = os.stat(os.path.join(folder, name))
                    sources.append((os.path.relpath(folder, root), name, status.st_size, status.st_mtime_ns))
    except OSError:
        return None
    # A file that was written later is not what this process has imported.
    if not sources or max(source[-1] for source in sources) > _IMPORTED:
        return None
    versions = [importlib.metadata.version("jaxlib"), *[module.__version__ for module in (jax, np, ml_dtypes)]]
    # XLA divides work by the number of processors.
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    flags = sorted(item for item in os.environ.items() if item[0].startswith(("XLA", "NPROC")))
    machine = (disk_cache.processor(), processors, flags)
    return hashlib.sha256(repr((sources, versions, sys.version, platform.platform(), machine)).encode()).hexdigest()


class _Context:
    """The settings of jax that programs depend on, as a text."""

    def __init__(self):
        self._values = self._text = self._usual = None
        self._lock = threading.Lock()

    def text(self) -> str | None:
        """None while jax traces, or where a `with` statement has changed settings for this thread."""
        if jax_slots.trace_state() != jax_slots.NO_TRACE:
            return None
        values = _settings()
        with self._lock:
            if values != self._values:
                usual = []
                # A new thread has the settings of the whole process.
                thread = threading.Thread(target=lambda: usual.extend([jax_slots.settings_token(), _settings()]))
                try:
                    thread.start()
                except RuntimeError:  # the process is about to exit
                    return None
                thread.join()
                text = repr(sorted((name, repr(value)) for name, value in values.items()))
                known = values == usual[1] and values.get("jax_default_device") in (None, _device()) and "0x" not in text
                known = known and not any(values.get(name) for name in _CHECKS)
                self._values, self._usual, self._text = values, usual[0], text if known else None
            return self._text if jax_slots.settings_token() is self._usual else None


def _settings():
    # `_Compilations` changes one of those that are left out, in any thread.
    return {name: value for name, value in jax_slots.settings().items() if _matters(name)}


@functools.cache
def _matters(name):
    return not any(part in name for part in _WITHOUT_EFFECT)


@functools.cache
def _context():
    return _Context()


@functools.cache
def _device():
    return jax.devices("cpu")[0] if jax.default_backend() == "cpu" else None


def _fits(value):
    """Whether an operand is a plain one: a number, or an array that is nowhere else than on the first device."""
    if value is None or value.__class__ in NUMBERS:
        return True
    if not isinstance(value.dtype, np.dtype):
        return False  # a jax key
    if isinstance(value, jax.ShapeDtypeStruct):
        return value.sharding is None
    return (
        isinstance(value, jax.Array)
        and not isinstance(value, jax.core.Tracer)
        and not value.committed
        and value.devices() == {_device()}
    )


class _Check:
    """The check of calls of a program from disk; keeps what the program needs."""

    def __init__(self, signature: Any, context: str, kept: Any):
        self.signature = signature
        self.context = context
        self.kept = kept

    def __call__(self, *operands: Any) -> None:
        if not all(map(_fits, operands)) or _signatures(operands) != self.signature or _context().text() != self.context:
            raise OtherCall("a program from disk was compiled for another call")


def _signatures(values):
    return [v.__class__ if v.__class__ in NUMBERS else (v.shape, v.dtype, v.weak_type) for v in values if v is not None]


class ProgramStore:
    """Reads and writes the programs of operators in the folder of `disk_cache`."""

    def __init__(self):
        self._pending = []
        self._waits_for_exit = False
        # Set where jax does not call what it loads as this module expects.
        self.unusable: bool = False
        os.register_at_fork(after_in_child=self._pending.clear)

    def folder(self) -> str:
        """Where programs are kept; "" for nowhere."""
        return "" if self.unusable else disk_cache.chosen_folder()

    def identity(self, fn: Callable[..., Any]) -> str | None:
        """A text that stands for a function; None if its programs are not stored."""
        if not self.folder() or _device() is None:
            return None
        try:
            return repr(describe(fn))
        except (Undescribable, RecursionError, ValueError):  # ValueError: an empty cell
            return None

    def key(self, identity: str | None, values: Sequence[Any], options: dict[str, Any]) -> tuple[str, str, Any] | None:
        """(path, context, signature) of the program of a function for operands; None if it is not stored."""
        folder = self.folder() if identity is not None else ""
        context = _context().text() if folder and all(map(_fits, values)) else None
        if context is None or _stamp() is None:
            return None
        signature = _signatures(values)
        named = [s.__name__ if isinstance(s, type) else (s[0], describe(s[1]), s[2]) for s in signature]
        places = [v is None for v in values]
        text = repr((_stamp(), context, sorted(options.items()), identity, places, named))
        return os.path.join(folder, f"msjax-{hashlib.sha256(text.encode()).hexdigest()}"), context, signature

    def load(
        self, key: tuple[str, str, Any], values: Sequence[Any], fn: Any
    ) -> tuple[Any, jax_slots.CheckedExecutable | None] | None:
        """The program of a key, and the executable in it; None if it isn't there, or is damaged.

        Of a program that only returns operands, their positions, and None.
        """
        path, context, signature = key
        try:
            with open(path, "rb") as file:
                summary, payload = pickle.loads(zlib.decompress(file.read()))
            if payload is None:
                return summary, None
            kept, out_tree = fn.restore(summary, values) if hasattr(fn, "restore") else (None, summary)
            in_tree = jax.tree.structure((tuple(values), {}))
            return jax_slots.deserialized(payload, in_tree, out_tree, _device(), _Check(signature, context, kept))
        except FileNotFoundError:
            return None
        except Exception:  # whatever is wrong with the file, the program is compiled, and the file written again
            with contextlib.suppress(OSError):
                os.remove(path)
            return None

    @contextlib.contextmanager
    def compiling(self, key: tuple[str, str, Any] | None, program: Any, values: Sequence[Any]) -> Iterator[None]:
        """While a program is compiled, and run, for the first time: it is stored afterwards, and jax does not store it."""
        positions = getattr(program, "positions", None)
        if key is not None and positions is not None:
            self._add(key[0], positions, None, None)
            key = None
        # The libraries and Python functions that custom calls refer to are made known to XLA when they are lowered.
        if key is None or "custom_call" in (lowered := program.lower(*values)).as_text():
            yield
            return
        with _COMPILATIONS.of_this_thread() as compilations:
            yield
            compiled = lowered.compile()
        # What jax has read from its own cache can't be written again: XLA leaves the machine code out.
        if compilations.requests and not compilations.hits:
            fn = program.__wrapped__
            self._add(key[0], compiled, fn.fn, fn.kept[0] if fn.kept else None)

    def _add(self, path, compiled, fn, kept):
        if not self._waits_for_exit:
            # After `disk_cache.enable`, so that the folder is trimmed afterwards.
            self._waits_for_exit = True
            atexit.register(self.flush)
        self._pending.append((path, compiled, fn, kept))
        if len(self._pending) > 256:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting."""
        while self._pending:
            # What can't be written, for want of space or since jax can't serialize it, is compiled again by the next process.
            with contextlib.suppress(Exception):
                _write(*self._pending.pop())


def _write(path, compiled, fn, kept):
    if os.path.exists(path):
        return
    if isinstance(compiled, list):
        content = compiled, None
    else:
        payload, out_tree = jax_slots.serialized(compiled)
        content = fn.summary(kept) if hasattr(fn, "summary") else out_tree, payload
    data = zlib.compress(pickle.dumps(content), 1)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    beside = f"{path}.{os.getpid()}.{threading.get_ident()}"
    with open(beside, "wb") as file:
        file.write(data)
    os.replace(beside, path)


class _Compilations(threading.local):
    """Counts the programs that jax compiles in a thread, and those of them that it finds on disk; keeps it from storing them."""

    requests = hits = 0
    _lock = threading.Lock()
    _depth = 0
    _before: Any = None

    def note(self, event: str, **_: Any) -> None:
        """A listener of `jax.monitoring`."""
        if event == jax_slots.CACHE_REQUEST:
            self.requests += 1
        elif event == jax_slots.CACHE_HIT:
            self.hits += 1

    @contextlib.contextmanager
    def of_this_thread(self) -> Iterator[_Compilations]:
        """Count anew."""
        name, cls = "jax_persistent_cache_min_compile_time_secs", _Compilations
        self.requests = self.hits = 0
        with cls._lock:
            if cls._before is None:
                jax.monitoring.register_event_listener(self.note)
            if not cls._depth:
                cls._before = jax_slots.settings()[name]
                jax.config.update(name, float("inf"))
            cls._depth += 1
        try:
            yield self
        finally:
            with cls._lock:
                cls._depth -= 1
                if not cls._depth:
                    jax.config.update(name, cls._before)


_COMPILATIONS = _Compilations()
STORE = ProgramStore()
