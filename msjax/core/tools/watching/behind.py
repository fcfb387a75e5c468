"""Destinations of `watch`, and one that is written in a thread of its own, so that no step of training waits for a disk or a drawing."""

from __future__ import annotations

import contextlib
import contextvars
import queue
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from msjax.core.base.errors import has_note

# Between two pieces the thread sleeps so long, in seconds: one that only lets go of Python's lock has it again before a thread that
# waits for it is awake.
_PAUSE = 0.0005
# While the thread works, other threads that wait for Python's lock get it after so many seconds. A step of training lets go of the lock
# at each call of a program; at Python's 5 ms it would wait that long each time.
_TURN = 0.0001


class Sink:
    """Where the statistics of steps go."""

    def __call__(self, step: int, rows: list[Any], /) -> Any:
        """Write the rows of a step."""
        raise NotImplementedError

    def number(self, step: int, name: str, value: Any, /) -> None:
        """Write a number of a step, which need not be computed yet."""

    def broken(self, *said: Any) -> None:
        """Write what a rule said; see `msjax.core.tools.watching.rules.Broken`."""

    def wait(self) -> None:
        """Wait until all that has come is written."""

    def close(self) -> None:
        """Wait, and end what it has opened itself, so that all is in its files."""


class Behind(Sink):
    """Writes what it gets in the order in which it comes, but later.

    Args:
        sink (Sink): what writes. It is never called twice at a time. A generator writes in pieces, between which the program that trains
            goes first. Numbers and what rules said it gets at once.

    A failure is raised by the next call, or by `wait`; what has come after it is not written.
    """

    def __init__(self, sink: Any):
        self.sink = sink
        self.number, self.broken = sink.number, sink.broken
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def __call__(self, step: int, rows: list[Any]) -> None:
        self._raise()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="msjax-watch", daemon=True)
            self._thread.start()
        # In a notebook, the context says which cell a plot belongs to.
        self._jobs.put((contextvars.copy_context(), step, rows))

    def wait(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
        self._raise()

    def close(self) -> None:
        self.wait()
        self.sink.close()

    def _run(self):
        while (job := self._jobs.get()) is not None:
            context, step, rows = job
            if self._error is None:
                try:
                    with TURNS.short():
                        context.run(self._write, step, rows)
                except Exception as error:
                    note_step(error, step)
                    self._error = error

    def _write(self, step, rows):
        for _ in self.sink(step, rows) or ():
            if self._jobs.empty():  # neither is there more to write, nor does anybody wait
                time.sleep(_PAUSE)

    def _raise(self):
        error, self._error = self._error, None
        if error is not None:
            raise error


class _Turns:
    """How long a thread of Python keeps its lock from the others, shorter while any of some threads works."""

    def __init__(self):
        self._lock, self._working, self._usual = threading.Lock(), 0, 0.0

    @contextlib.contextmanager
    def short(self) -> Iterator[None]:
        """Turns are short in the block."""
        with self._lock:
            if not self._working:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(_TURN, self._usual))
            self._working += 1
        try:
            yield
        finally:
            with self._lock:
                self._working -= 1
                if not self._working:
                    sys.setswitchinterval(self._usual)


TURNS = _Turns()


def note_step(error: Exception, step: int) -> None:
    """Have an exception say at which step a sink has failed; once."""
    if not has_note(error, "watch: 'to' failed"):
        error.add_note(f"watch: 'to' failed at step {step} and gets no more rows; all of them are in .rows")
