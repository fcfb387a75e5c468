"""Tables of what was used last, which several threads may use."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """Values by key, those that were used last.

    Example:
        >>> from msjax.core.base.recent import Recent
        >>> squares = Recent()
        >>> [squares.of(n, lambda n=n: n * n, most=2) for n in (1, 2, 1, 3)]
        [1, 4, 1, 9]
        >>> list(squares)
        [1, 3]
    """

    def __init__(self):
        super().__init__()
        self._lock = threading.Lock()

    def of(self, key: K, make: Callable[[], V], most: float, owners: Iterable[object] = ()) -> V:
        """The value of a key; made where it isn't there, and then one that wasn't used for longest goes where there are more than `most`.

        Two threads that ask for one key at the same time may both make a value; both get the first. It goes with the first of its
        owners that is gone.
        """
        with self._lock:
            if key in self:
                self.move_to_end(key)
                return self[key]
        made = make()
        for owner in owners:
            weakref.finalize(owner, _drop, weakref.ref(self), key).atexit = False
        with self._lock:
            value = self.setdefault(key, made)
            self.move_to_end(key)
            if len(self) > most:
                self.popitem(last=False)
        return value


def _drop(recent, key):
    table = recent()
    if table is not None:
        table.pop(key, None)
