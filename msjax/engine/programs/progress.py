"""The progress line: shows in a terminal what is compiled, so that a first step of many seconds doesn't look like a hang."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import nullcontext
from typing import Any, Self


class CompilationProgress:
    """The line on the standard error, if that is a terminal, that says what is compiled.

    Use it as ``with PROGRESS.of(name): ...`` around a compilation. Compilations with short pauses between them count as one. The line
    appears when they have taken `after` seconds, and goes when they are over.

    Args:
        after: seconds.
        pause: seconds without a compilation after which they are over.
    """

    def __init__(self, after: float = 2.0, pause: float = 0.7):
        self.after: float = after
        self.pause: float = pause
        self._lock = threading.Lock()
        self._running = 0
        self._count = 0
        self._name = ""
        self._began = self._last = 0.0
        self._thread = None

    def of(self, name: str) -> Any:
        """A context manager around one compilation; `name` is what the line shows of it."""
        return _Compilation(self, name) if sys.stderr is not None and sys.stderr.isatty() else nullcontext()

    def begin(self, name: str) -> None:
        """Note that a compilation begins."""
        with self._lock:
            now = time.monotonic()
            if self._thread is None:
                self._began, self._count = now, 0
                self._thread = threading.Thread(target=self._watch, name="msjax-progress", daemon=True)
                self._thread.start()
            self._running += 1
            self._count += 1
            self._name, self._last = name, now

    def end(self) -> None:
        """Note that a compilation has ended."""
        with self._lock:
            self._running -= 1
            self._last = time.monotonic()

    def _watch(self):
        shown = False
        while True:
            time.sleep(min(0.2, self.pause))
            with self._lock:
                now = time.monotonic()
                if not self._running and now - self._last > self.pause:
                    self._thread = None
                    break
                text = f"msjax: compiling, program {self._count}, {now - self._began:.0f} s ({self._name})"
            if now - self._began >= self.after:
                shown = True
                _write(f"\r\033[K{text[:100]}")
        if shown:
            _write("\r\033[K")


def _write(text):
    sys.stderr.write(text)
    sys.stderr.flush()


class _Compilation:
    def __init__(self, progress, name):
        self.progress = progress
        self.name = name

    def __enter__(self) -> Self:
        self.progress.begin(self.name)
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.progress.end()


PROGRESS = CompilationProgress()
