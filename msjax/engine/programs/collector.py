"""Python's garbage collector while a program is traced: what a trace makes stays, so that looking through all objects for garbage is in vain."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# More collections of younger objects than ever happen.
_NEVER = 2**31 - 1


class _Nesting:
    """Nesting count of `full_collections_wait`, and the saved threshold."""

    def __init__(self):
        self.lock = threading.Lock()
        self.number = self.before = 0


_WAITING = _Nesting()


@contextmanager
def full_collections_wait() -> Iterator[None]:
    """Within it, Python doesn't look through all its objects for garbage by itself; younger objects it looks through as ever.

    A trace makes some hundred thousand objects and keeps them, which makes Python look through all that there are, those of imported
    modules included, up to three times: 0.3 to 0.5 of the 2 s for which large programs are traced and lowered. Threads may be within it together. A
    threshold that somebody sets meanwhile stays.

    Example:
        >>> import gc
        >>> from msjax.engine.programs.collector import full_collections_wait
        >>> before = gc.get_threshold()
        >>> with full_collections_wait():
        ...     gc.get_threshold() == before
        False
        >>> gc.get_threshold() == before
        True
    """
    with _WAITING.lock:
        _WAITING.number += 1
        if _WAITING.number == 1:
            youngest, young, _WAITING.before = gc.get_threshold()
            gc.set_threshold(youngest, young, _NEVER)
    try:
        yield
    finally:
        with _WAITING.lock:
            _WAITING.number -= 1
            youngest, young, now = gc.get_threshold()
            if not _WAITING.number and now == _NEVER:
                gc.set_threshold(youngest, young, _WAITING.before)
