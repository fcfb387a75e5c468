"""Sets of objects that are referred to weakly, which one thread may go through while another one adds to them."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class LiveSet(Generic[T]):
    """Objects, each by its identity, for as long as they live; going through it gives those that were there at the start.

    The standard library's weak containers are gone through by Python code, and fail where another thread adds an object meanwhile.

    Example:
        >>> from msjax.base.weak import LiveSet
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

    def __init__(self):
        self._objects: weakref.WeakValueDictionary[int, T] = weakref.WeakValueDictionary()

    def add(self, value: T) -> None:
        """Put an object in, if it isn't there."""
        self._objects[id(value)] = value

    def discard(self, value: T) -> None:
        """Take an object out, if it is there."""
        self._objects.pop(id(value), None)

    def __contains__(self, value: T) -> bool:
        return self._objects.get(id(value)) is value

    def __iter__(self) -> Iterator[T]:
        # `valuerefs` copies the table in one step of the interpreter.
        return iter([value for ref in self._objects.valuerefs() if (value := ref()) is not None])
