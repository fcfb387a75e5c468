"""The key of a program on disk: everything that its compilation depends on.

That is the description of the function, the types of its operands, jax's settings and the compiler's options, the versions and files
of the packages, and the machine.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import platform
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.core
import numpy as np

from msjax.core.base import jax_slots
from msjax.engine.programs import disk_cache
from msjax.engine.programs.originals import ORIGINALS, PACKAGES
from msjax.engine.programs.signature import NUMBERS, OtherCall, SignatureKey, signature_of

# Settings of jax under which calls are checked or traced one by one.
_CHECKS = ("jax_debug_nans", "jax_debug_infs", "jax_disable_jit", "jax_check_tracer_leaks")
# Settings of jax that don't change what is traced or compiled.
_WITHOUT_EFFECT = ("cache", "log", "traceback", "dump")


class StoreKey(NamedTuple):
    """The key of a program on disk.

    Attributes:
        name: of its file: a digest of all that the program depends on.
        settings: jax's, as a text.
        signature: of the operands that are not None.
    """

    name: str
    settings: str
    signature: SignatureKey

    def check(self, operands: Sequence[Any]) -> None:
        """Check that a call is one that the program was compiled for.

        Args:
            operands: those that are not None.

        Raises:
            OtherCall: they have other types or places, jax has other settings, or it is tracing.
        """
        if not all(map(is_plain, operands)) or signature_of(operands) != self.signature or settings_text() != self.settings:
            raise OtherCall("a program from disk was compiled for another call")


def store_key(description: str, values: Sequence[Any], options: dict[str, Any]) -> StoreKey | None:
    """The key of a function's program for operands; None if it is not stored.

    That is where an operand or a setting is an unusual one, or a function of jax or msjax was replaced.

    Args:
        description: of the function.
        values: arrays, shapes, Python numbers or None.
        options: the compiler's.
    """
    settings = settings_text() if all(map(is_plain, values)) else None
    if settings is None:
        return None
    stamp, originals = process_stamp(), ORIGINALS.digest()
    if stamp is None or originals is None:
        return None
    signature = signature_of(values)
    types = [t and (t[0], t[1].name, t[1].byteorder, t[2]) for t in signature]
    text = repr((stamp, originals, settings, sorted(options.items()), description, types))
    name = f"msjax-{hashlib.sha256(text.encode()).hexdigest()}"
    return StoreKey(name, settings, SignatureKey([t for t in signature if t is not None]))


# ---- the operands


@functools.cache
def only_device() -> Any:
    """The device whose programs are stored: the first CPU; None where jax computes on something else."""
    return jax.devices("cpu")[0] if jax.default_backend() == "cpu" else None


def is_plain(value: Any) -> bool:
    """Whether an operand is a number, None, or an array that is nowhere else than on the first device and not tied to it."""
    if value is None or value.__class__ in NUMBERS:
        return True
    if not isinstance(getattr(value, "dtype", None), np.dtype):
        return False  # a jax key, a complex number
    if isinstance(value, jax.ShapeDtypeStruct):
        return value.sharding is None
    return (
        isinstance(value, jax.Array)
        and not isinstance(value, jax.core.Tracer)
        and not value.committed
        and value.devices() == {only_device()}
    )


# ---- the process


@functools.cache
def process_stamp() -> str | None:
    """The digest of what all programs of this process depend on: sources, versions, the processor, XLA's flags; None if it is not known."""
    sources = sources_digest()
    if sources is None:
        return None
    versions = [importlib.metadata.version(name) for name in PACKAGES if name != "msjax"]
    # XLA divides work by the number of processors.
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    # XLA has read its flags once, perhaps from a file; what the environment says now is something else.
    others = sorted(item for item in os.environ.items() if item[0].startswith(("XLA_", "NPROC")) and item[0] != "XLA_FLAGS")
    machine = (disk_cache.processor(), processors, jax_slots.compiler_flags(), others)
    return hashlib.sha256(repr((sources, versions, sys.version, platform.platform(), machine)).encode()).hexdigest()


# ---- jax's settings


class _Settings:
    """The settings of jax that programs depend on, as a text that is made anew when one of them has changed."""

    def __init__(self):
        self._values = self._text = self._usual = self._other = None
        self._lock = threading.Lock()

    def text(self) -> str | None:
        """The text; None where programs are neither stored nor read: while jax traces, under settings that hold for this thread only, and
        under those that check every call."""
        if jax_slots.trace_state() != jax_slots.NO_TRACE:
            return None
        values, token = _effective(), jax_slots.settings_token()
        with self._lock:
            # After `jax.clear_caches()`, the same settings have another token.
            if values != self._values or (token is not self._usual and token is not self._other):
                usual = []
                # A new thread has the settings of the whole process.
                thread = threading.Thread(target=lambda: usual.extend([jax_slots.settings_token(), _effective()]))
                try:
                    thread.start()
                except RuntimeError:  # the process is about to exit
                    return None
                thread.join()
                text = repr(sorted((name, repr(value)) for name, value in values.items()))
                known = values == usual[1] and values.get("jax_default_device") in (None, only_device()) and "0x" not in text
                known = known and not any(values.get(name) for name in _CHECKS)
                self._values, self._usual, self._text = values, usual[0], text if known else None
                self._other = token
            return self._text if token is self._usual else None


settings_text = _Settings().text


def _effective():
    # The store itself changes one of those that are left out, in any thread.
    return {name: value for name, value in jax_slots.settings().items() if _matters(name)}


@functools.cache
def _matters(name):
    return not any(part in name for part in _WITHOUT_EFFECT)


_IMPORTED = time.time_ns()
_FOLDER = Path(__file__).parents[2]
# The clock of files may be so many nanoseconds coarse.
_COARSE = 2_000_000_000


def sources_digest() -> str | None:
    """The digest of what the file system says of msjax's files: a file that is written again has another time of its change, which no tool sets.

    None if one of them was changed since this process began, which may have imported the earlier one.
    """
    try:
        seen = [(str(path), path.stat()) for path in sorted(_FOLDER.rglob("*.py"))]
    except OSError:
        return None
    if max(max(status.st_mtime_ns, status.st_ctime_ns) for _, status in seen) > _IMPORTED - _COARSE:
        return None
    files = [(path, s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for path, s in seen]
    return hashlib.sha256(repr(files).encode()).hexdigest()
