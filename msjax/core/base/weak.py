"""Tables that keep what they hold only for a time: sets and numbers of objects that live, and values that were used last; and what stands for an
object in keys."""

from __future__ import annotations

import heapq
import itertools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class LiveSet(Generic[T]):
    """Objects, each by its identity, for as long as they live; going through it gives those that were there at the start.

    The standard library's weak containers are gone through by Python code, and fail where another thread adds an object meanwhile.

    Example:
        >>> from msjax.core.base.weak import LiveSet
        >>> class Thing:
        ...     pass
        >>> thing, things = Thing(), LiveSet()
        >>> things.add(thing)
        >>> list(things) == [thing]
        True
        >>> del thing
        >>> list(things)
        []
    """

    __slots__ = ("_objects",)

    def __init__(self):
        # Made when it is needed: most sets stay empty.
        self._objects: weakref.WeakValueDictionary[int, T] | None = None

    def add(self, value: T) -> None:
        """Put an object in, if it isn't there."""
        if self._objects is None:
            self._objects = weakref.WeakValueDictionary()
        self._objects[id(value)] = value

    def discard(self, value: T) -> None:
        """Take an object out, if it is there."""
        if self._objects is not None:
            self._objects.pop(id(value), None)

    def __contains__(self, value: T) -> bool:
        return self._objects is not None and self._objects.get(id(value)) is value

    def __iter__(self) -> Iterator[T]:
        if self._objects is None:
            return iter(())
        # `valuerefs` copies the table in one step of the interpreter.
        return iter([value for ref in self._objects.valuerefs() if (value := ref()) is not None])


class Same:
    """A function compared by identity, and kept alive; it may be no hashable object."""

    __slots__ = ("fn",)

    def __init__(self, fn: Any):
        self.fn = fn

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.fn is self.fn

    def __hash__(self) -> int:
        return id(self.fn)


class FreeNumbers:
    """Numbers for living objects, the smallest ones that no other living object has: what is made, dropped and made again has the same.

    Example:
        >>> from msjax.core.base.weak import FreeNumbers
        >>> class Thing:
        ...     pass
        >>> numbers, first, second = FreeNumbers(), Thing(), Thing()
        >>> numbers.of(first), numbers.of(second)
        (1, 2)
        >>> del first
        >>> numbers.of(Thing())
        1
    """

    def __init__(self):
        self._free: list[int] = []
        self._most = itertools.count(1)

    def of(self, value: object) -> int:
        """A number for an object that is new; it is free again when the object goes."""
        try:
            number = heapq.heappop(self._free)
        except IndexError:
            number = next(self._most)
        weakref.finalize(value, heapq.heappush, self._free, number).atexit = False
        return number


# Gives a number that nothing else in the process has.
new_number: Callable[[], int] = itertools.count(1).__next__


# {id: (weak reference, number)} of living objects.
_NUMBER_OF: dict[int, tuple[weakref.ref[Any], int]] = {}


def identity(value: object) -> Hashable:
    """What stands for an object in a key that must not keep it alive, since it may refer to the owner of the key: a number that no
    other object of the process ever has; of the few objects that can't be referred to weakly, a `Same`.

    Example:
        >>> from msjax.core.base.weak import identity
        >>> def f(): pass
        >>> def g(): pass
        >>> identity(f) == identity(f) != identity(g)
        True
    """
    key = id(value)
    while True:
        entry = _NUMBER_OF.get(key)
        if entry is None:
            try:
                ref = weakref.ref(value, lambda ref: _forget(key, ref))
            except TypeError:
                return Same(value)
            entry = _NUMBER_OF.setdefault(key, (ref, new_number()))
        ref, number = entry
        if ref() is value:
            return number
        _forget(key, ref)  # of a dead object, whose callback is about to come


def _forget(key, ref):
    entry = _NUMBER_OF.get(key)
    if entry is not None and entry[0] is ref:
        del _NUMBER_OF[key]


class Recent(OrderedDict[K, V]):
    """Values by key, those that were used last.

    Example:
        >>> from msjax.core.base.weak import Recent
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
