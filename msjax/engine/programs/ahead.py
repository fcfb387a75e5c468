"""The threads that compile programs before they are needed, beside the user's code: XLA releases Python's lock while it compiles."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Hashable

# One compilation, whose steps XLA hands from thread to thread, keeps less than a core busy.
_THREADS = 2


class Ahead:
    """The tasks that wait for a thread, the oldest first, and those that run, each in a thread of its own, which ends with it.

    A task prepares what is made where it is needed if the task fails, so its exception is dropped: the program meets it where it belongs.
    When the process exits, no other task begins; those that have begun are waited for, since compiling then would crash the process.
    """

    def __init__(self):
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self):
        self._lock = threading.Lock()
        self._waiting: dict[Hashable, Callable[[], object]] = {}
        self._running: dict[Hashable, threading.Thread] = {}

    def submit(self, key: Hashable, task: Callable[[], object]) -> None:
        """Have a function without arguments called in a thread; `take` finds it by `key`."""
        with self._lock:
            self._waiting[key] = task
        self._start()

    def take(self, key: Hashable) -> None:
        """Take a task back if it has not begun; otherwise wait until it has ended."""
        with self._lock:
            self._waiting.pop(key, None)
            thread = self._running.get(key)
        if thread is not None:
            thread.join()

    def _start(self):
        with self._lock:
            if self._waiting and len(self._running) < _THREADS and threading.main_thread().is_alive():
                key = next(iter(self._waiting))
                thread = threading.Thread(target=self._run, args=(key, self._waiting.pop(key)), name="msjax-compile")
                with contextlib.suppress(RuntimeError):  # the system gives no more threads
                    thread.start()
                    self._running[key] = thread

    def _run(self, key, task):
        try:
            with contextlib.suppress(Exception):
                task()
        finally:
            with self._lock:
                self._running.pop(key, None)
            self._start()


AHEAD = Ahead()
