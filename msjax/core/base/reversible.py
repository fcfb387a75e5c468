"""What lets a run of Python code be undone: text that is held back, and containers that get their items back."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable
from typing import Any


class OwnOutput:
    """Stands for sys.stdout: what this thread writes goes to a function; other threads write through.

    Args:
        write (callable): gets the texts of this thread.
        outer: sys.stdout.
    """

    def __init__(self, write: Callable[[str], Any], outer: Any):
        self.outer = outer
        self._write = write
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() != self._thread:
            return self.outer.write(text)
        self._write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.outer, name)


def same_items(container: Any, before: Any) -> bool:
    """Whether a list, deque, set or dict holds the same objects as a copy of it that was made before."""
    if isinstance(container, dict):
        return container.keys() == before.keys() and all(container[key] is value for key, value in before.items())
    if isinstance(container, set):
        return container == before
    return len(container) == len(before) and all(a is b for a, b in zip(container, before))


def put_back(container: Any, before: Any) -> bool:
    """Give a container the items that it had; returns whether it had others."""
    same = same_items(container, before)
    if not same:
        container.clear()
        (container.extend if isinstance(container, (list, collections.deque)) else container.update)(before)
    return not same
