"""What lets a run of Python code be undone: text that is held back, and containers that get their items back."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from operator import is_
from typing import Any


class OwnOutput:
    """Stands for sys.stdout, `outer`: what this thread writes goes to a function; other threads write through."""

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
    """Whether a list, bytearray, deque, set or dict holds the same objects as a copy of it that was made before."""
    if isinstance(container, dict):
        return container.keys() == before.keys() and all(map(is_, map(container.get, before), before.values()))
    if isinstance(container, set):
        return container == before
    return len(container) == len(before) and all(map(is_, container, before))


def put_back(container: Any, before: Any, left: Iterable[str] = ()) -> bool:
    """Give a container the items that it had; returns whether it had others. Other threads may set something meanwhile under the keys `left` of a
    dict: what stands there stays."""
    kept = {key: container[key] for key in left if key in container} if isinstance(container, dict) else {}
    if isinstance(container, dict):
        before = {key: value for key, value in before.items() if key not in left} | kept
    if same_items(container, before):
        return False
    # The builtin class's own methods: a subclass may do other things in them, as Counter.update adds.
    kinds: tuple[Any, ...] = (OrderedDict, dict, set, deque, list, bytearray)
    kind = next(kind for kind in kinds if isinstance(container, kind))
    if isinstance(container, dict):
        # Not emptied, as it may have an object's attributes, unless only that brings the order of its keys back.
        for key in container.keys() - before.keys():
            kind.__delitem__(container, key)
        if [key for key in container if key not in kept] != [key for key in before if key not in kept]:
            kind.clear(container)
        for key, value in before.items():
            kind.__setitem__(container, key, value)
    else:
        kind.clear(container)
        (kind.update if kind is set else kind.extend)(container, before)
    return True
