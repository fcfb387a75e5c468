"""What goes on around a compilation: the count of what jax finds on disk, and the line that shows progress.

The line appears in a terminal, so that a first step of many seconds doesn't look like a hang.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

import jax

from msjax.core.base import jax_slots


class JaxCache(threading.local):
    """The count of a thread's programs that jax has looked for in its cache on disk.

    Attributes:
        requests: how many programs jax has looked for since `counting` was entered.
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
        """A context manager around the compilation of one program; the log says at level 1 whether it was found on disk.

        Args:
            name: of the program, as the log shows it.
        """
        from msjax import log  # it brings all of msjax

        if log.get_level() not in ("0", "1"):
            yield
            return
        self._begin()
        yield
        settings = jax_slots.settings()
        if not (settings["jax_enable_compilation_cache"] and settings["jax_compilation_cache_dir"]):
            log.info("%s was compiled: programs are not kept on disk", name)
        elif not self.requests:
            log.info("%s was compiled: jax keeps no such program on disk", name)
        elif self.hits == self.requests:
            log.info("%s was found in jax's cache on disk", name)
        else:
            log.info("%s was compiled: jax's cache on disk had no program of this text", name)

    @contextlib.contextmanager
    def left_out(self) -> Iterator[JaxCache]:
        """A context manager in which the counts begin anew, and jax stores nothing."""
        name, cls = "jax_persistent_cache_min_compile_time_secs", JaxCache
        self._begin()
        with cls._lock:
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


JAX_CACHE = JaxCache()


class CompilationProgress:
    """The line on the standard error, if that is a terminal, that says what is compiled.

    Use it as ``with PROGRESS.of(name): ...`` around a compilation. Compilations with short pauses between them count as one. While one runs, the
    line is there from `after` seconds of them on.

    Args:
        after: seconds.
        pause: seconds without a compilation after which they are over.
    """

    def __init__(self, after: float = 2.0, pause: float = 0.7):
        self.after: float = after
        self.pause: float = pause
        self._count = 0
        self._began = self._last = 0.0

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        """A context manager around one compilation; `name` is what the line shows of it."""
        if sys.stderr is None or not sys.stderr.isatty():
            yield
            return
        now = time.monotonic()
        if now - self._last > self.pause:
            self._began, self._count = now, 0
        self._last = float("inf")  # it runs
        self._count += 1
        text = f"msjax: compiling, program {self._count} ({name})"
        timer = threading.Timer(max(0.0, self._began + self.after - now), _write, [f"\r\033[K{text[:100]}"])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            self._last = time.monotonic()
            if self._last - self._began >= self.after:
                _write("\r\033[K")


def _write(text):
    sys.stderr.write(text)
    sys.stderr.flush()


PROGRESS = CompilationProgress()
