"""The thread that calls hooks, and how to wait for it.

The callback that XLA runs does nothing but copy values into a queue: a hook that called jax from
within it would wait for a thread that waits for it. Hooks run in a thread of msjax's own, one after the
other, in the order in which the values came.
"""

from __future__ import annotations

import atexit
import collections
import threading
import time

import jax

from msjax.state import STATE

# So long without news, in seconds, before hooks run; and the longest that they wait for it.
_PAUSE, _PATIENCE = 0.002, 0.1


class _Worker:
    """The thread that calls hooks, started when the first value arrives.

    It waits for a moment of quiet before it begins: Python runs one thread at a time, and a hook would hold up the
    program whose values are still coming in.
    """

    def __init__(self):
        self._items = collections.deque()
        self._arrived = threading.Event()
        self._running = threading.Lock()
        self._thread = None
        self._errors = []
        self.last = 0.0

    def put(self, calls, values):
        self._items.append((calls, values))
        self.last = time.monotonic()
        if not self._arrived.is_set():
            self._arrived.set()
            if self._thread is None:
                self._start()

    def _start(self):
        with self._running:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="msjax-hooks", daemon=True)
                self._thread.start()
                atexit.register(self._at_exit)

    def _run(self):
        while True:
            self._arrived.wait()
            since = time.monotonic()
            while time.monotonic() - self.last < _PAUSE and time.monotonic() - since < _PATIENCE:
                time.sleep(_PAUSE)
            self.drain()

    @property
    def used(self):
        return self._thread is not None

    def drain(self):
        """Call the hooks whose values have arrived, in the order in which they came."""
        if STATE.hooks_run:
            return  # a hook asks for what only its end can bring
        with self._running:
            STATE.hooks_run = True
            try:
                self._arrived.clear()
                while self._items:
                    calls, values = self._items.popleft()
                    for call in calls:
                        self._call(call, values)
            finally:
                STATE.hooks_run = False

    def _call(self, call, values):
        try:
            call(values)
        except BaseException as error:
            error.add_note(f"raised by {call.delivery.what}, run by a compiled program")
            self._errors.append(error)

    def raise_pending(self):
        """Raise the first exception of hooks that has not been raised yet; the others are told in its notes."""
        if not self._errors or STATE.hooks_run:
            return
        errors, self._errors = self._errors, []
        first, *others = errors
        for other in others[:10]:
            first.add_note(f"then: {type(other).__name__}: {other} ({'; '.join(getattr(other, '__notes__', []))})")
        raise first

    def _at_exit(self):
        self.drain()
        if self._errors:
            import traceback

            for error in self._errors:
                traceback.print_exception(error)


WORKER = _Worker()

# A program whose results nobody holds can't be waited for; so long without news from one counts as its end, in seconds.
_QUIET = 0.02


def barrier() -> None:
    """Wait until the hooks of all programs that have been started have run.

    For programs under ``jax.jit`` and the like, whose hooks run in a thread beside them. It waits for the results that
    are still held somewhere, and then for the hooks.

    Raises:
        Exception: what a hook raised, with a note that names the hook and its cell.

    Example:
        >>> import jax, msjax as ms
        >>> from msjax import nn
        >>> net = nn.ReLU()
        >>> handle = net.register_forward_hook(lambda cell, inputs, output: print("output:", output))
        >>> apply, params, buffers = ms.functionalize(net)
        >>> def run(x):
        ...     out, _ = jax.jit(apply)(params, buffers, x)
        ...     ms.hooks.barrier()
        >>> run(jax.numpy.array([-1.0, 2.0]))
        output: [0. 2.]
    """
    synchronize()
    jax.effects_barrier()
    if WORKER.used:
        while time.monotonic() - WORKER.last < _QUIET:
            time.sleep(_QUIET / 4)
    flush()


def synchronize() -> None:
    """Wait until all that was computed so far is there."""
    jax.block_until_ready([a for a in jax.live_arrays() if not a.is_deleted()])


def flush() -> None:
    """Wait for the hooks whose values have arrived, and raise what they raised."""
    WORKER.drain()
    WORKER.raise_pending()


def raise_pending() -> None:
    """Raise what a hook raised since the last look, if one did."""
    WORKER.raise_pending()
