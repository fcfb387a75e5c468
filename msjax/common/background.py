"""Compiles ahead, in a thread beside the program: XLA releases Python's lock while it compiles."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Hashable


class Background:
    """Does tasks in one thread beside the program, the newest first; whoever needs one may take it back or wait for it.

    Tasks prepare something that the program makes itself if they fail, so their exceptions are dropped: the program meets them
    where they belong.
    """

    def __init__(self):
        self._reset()
        os.register_at_fork(after_in_child=self._reset)
        atexit.register(self._stop)

    def _reset(self):
        self._changed = threading.Condition()
        self._tasks: dict[Hashable, Callable[[], object]] = {}
        self._running = None
        self._thread = None

    def submit(self, key: Hashable, task: Callable[[], object]) -> None:
        """Have a task done; its key is something that `take` can be asked for."""
        with self._changed:
            self._tasks[key] = task
            if self._thread is None:
                # A daemon, since a thread that is compiling must not keep the process from exiting; `_stop` waits for it.
                self._thread = threading.Thread(target=self._work, name="msjax-compile", daemon=True)
                self._thread.start()

    def take(self, key: Hashable) -> None:
        """Return when no task of this key is running or will run."""
        with self._changed:
            self._tasks.pop(key, None)
            while self._running == key and self._thread is not threading.current_thread():
                self._changed.wait()

    def _work(self):
        while True:
            with self._changed:
                self._running = None
                self._changed.notify_all()
                if not self._tasks:
                    self._thread = None
                    return
                self._running, task = self._tasks.popitem()
            try:
                task()
            except Exception:
                del task
                continue

    def _stop(self):
        """Before the process exits: a thread that still compiled then would crash it."""
        with self._changed:
            self._tasks.clear()
            while self._running is not None:
                self._changed.wait()


BACKGROUND = Background()


def has_idle_core() -> bool:
    """Whether a processor core has had nothing to do lately; otherwise, a thread beside the program would only slow it down."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] <= (os.cpu_count() or 1) - 1
