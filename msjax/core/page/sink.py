"""Where `watch` writes a page while training goes on: a thread of its own collects and writes, and no step waits for it."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from msjax.core.page import document
from msjax.core.page.run import Run

# Seconds between two pages at least; the part of the process's time that goes into them at most; seconds that one waits for that at most.
_PAUSE, _SHARE, _LONGEST = 1.0, 0.01, 10.0


class PageSink:
    """The page of a run that goes on, for `watch`.

    Args:
        path: of the HTML file.
        turns: a context in which Python gives other threads their turn soon.

    A failure is raised by the next call, by `wait` or by `close`; nothing is written after it.
    """

    def __init__(self, path: str | os.PathLike[str], turns: Any):
        self.path, self._turns = os.fspath(path), turns
        self._run = Run(os.path.splitext(os.path.basename(self.path))[0])
        self._numbers: deque[tuple[int, str, Any]] = deque()
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._due, self._paid, self._changed = 0.0, 0.0, False
        # What can't be written is said before training begins.
        self._write(complete=False)

    def __call__(self, step: int, rows: Sequence[Any]) -> None:
        self.wait()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="msjax-page", daemon=True)
            self._thread.start()
        self._jobs.put((self._run.add, step, rows))

    def number(self, step: int, name: str, value: Any) -> None:
        """A number of a step, which need not be computed yet. It is written with the next statistics."""
        self._numbers.append((step, name, value))

    def broken(self, *said: Any) -> None:
        """What a rule said; see `Run.warn`."""
        self._jobs.put((self._run.warn, *said))

    def wait(self) -> None:
        """Raise what has gone wrong; the page itself is written at its times, and by `close`."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self) -> None:
        """Write the last state of the page."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
        self.wait()
        if self._take_numbers() or self._changed:
            self._write(complete=True)

    def _work(self):
        while True:
            try:
                job = self._jobs.get(timeout=max(0.1, self._due - time.monotonic()) if self._changed else None)
            except queue.Empty:
                job = ()
            if job is None:
                return
            if not job and not self._is_due():
                continue
            try:
                with self._turns():
                    if job:
                        job[0](*job[1:])
                        self._changed = True
                    self._take_numbers()
                    if self._changed and self._is_due():
                        self._write(complete=False)
            except Exception as error:
                self._error, self._changed = error, False
                return

    def _is_due(self):
        now = time.monotonic()
        return now >= self._due and (time.process_time() >= self._paid or now >= self._due + _LONGEST)

    def _take_numbers(self):
        """Whether there were numbers to be added to the run."""
        numbers = [self._numbers.popleft() for _ in range(len(self._numbers))]
        self._run.note(numbers)
        return bool(numbers)

    def _write(self, complete):
        began = time.thread_time()
        self._changed = False
        document.write(self.path, document.as_html(self._run.name, [self._run.view()]), complete)
        self._due, self._paid = time.monotonic() + _PAUSE, time.process_time() + (time.thread_time() - began) / _SHARE
