"""Where `watch` writes a page while training goes on."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from msjax.core.page import document
from msjax.core.page.run import Run

# Seconds between two pages at least; the part of the process's time that goes into them at most; seconds that one waits for that at most.
_PAUSE, _SHARE, _LONGEST = 1.0, 0.01, 10.0


class PageSink:
    """The page of a run that goes on, an HTML file, for `watch`, which calls it in a thread of its own."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = os.fspath(path)
        self._run = Run(os.path.splitext(os.path.basename(self.path))[0])
        # What other threads have told meanwhile: numbers, and what rules said.
        self._numbers: deque[tuple[int, str, Any]] = deque()
        self._said: deque[tuple[Any, ...]] = deque()
        # What can't be written is said before training begins.
        self._write(complete=False)
        self._due, self._changed = 0.0, False

    def __call__(self, step: int, rows: Sequence[Any]) -> None:
        """Add the rows of a step; the page is written if it is time, and by `close`."""
        self._run.add(step, rows)
        self._changed = True
        now = time.monotonic()
        if now >= self._due and (time.process_time() >= self._paid or now >= self._due + _LONGEST):
            self._write(complete=False)

    def number(self, step: int, name: str, value: Any) -> None:
        """Add a number of one step, which jax may still be computing; it is written with the next statistics."""
        self._numbers.append((step, name, value))

    def broken(self, *said: Any) -> None:
        """Add the warning of a rule, as `Run.warn` takes it; it is written with the next statistics."""
        self._said.append(said)

    def close(self) -> None:
        """Write the last state of the page."""
        if self._changed or self._numbers or self._said:
            self._write(complete=True)

    def _write(self, complete):
        began = time.thread_time()
        self._changed = False
        self._run.note([self._numbers.popleft() for _ in range(len(self._numbers))])
        while self._said:
            self._run.warn(*self._said.popleft())
        document.write(self.path, document.as_html(self._run.name, [self._run.view()]), complete)
        self._due, self._paid = time.monotonic() + _PAUSE, time.process_time() + (time.thread_time() - began) / _SHARE
