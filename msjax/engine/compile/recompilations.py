"""What differs where a function is compiled again and again for the same shapes, told once by the log."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import zip_longest
from typing import Any

from msjax import log
from msjax.engine.compile.guards import Attribute, ClassData, Contents, Guard, Hooks, Name, ReadAttributes, Variable

# The compilation for the same shapes that is told.
_TOLD = 3


class Recompilations:
    """Counts the compilations of one function, by the shapes and dtypes of what it was called with.

    Args:
        name: of the function, as messages show it.
    """

    def __init__(self, name: str):
        self._name = name
        self._latest: dict[Hashable, tuple[int, Sequence[Any], list[Guard]]] = {}
        self._told = False

    def count(self, shapes: Hashable, arguments: Sequence[Any], found: list[Guard]) -> None:
        """Count one; the third for the same shapes is logged, with what differs from the one before.

        Args:
            shapes: of the Tensors and arrays among the arguments.
            arguments: what makes a difference of each argument, in their order.
            found: the guards of what it was compiled for.
        """
        if self._told:
            return
        number, before, guards = self._latest.get(shapes, (0, (), []))
        self._latest[shapes] = number + 1, arguments, found
        if number + 1 == _TOLD:
            what = _difference(guards, found, before, arguments)
            if what is not None:
                self._told = True
                self._latest.clear()
                log.warning(
                    "%s is compiled for the %s. time for the same shapes: %s. Each compilation takes time; a value that changes from call "
                    "to call is better passed as a Tensor.",
                    self._name, _TOLD, what,
                )  # fmt: skip


def _difference(guards, found, before, now):
    """What the first guard that differs is about, or the first argument; None where nothing differs."""
    for old, new in zip_longest(guards, found):
        if old is None or new is None or type(old) is not type(new) or old.seen != new.seen:
            name = getattr(new, "name", "")
            guard: Any = new or old
            seen = guard.seen
            other = (
                "a cell, or an attribute of it,"
                if isinstance(seen, tuple) and seen[:1] == ("module",)
                else "a value or an object that it uses"
            )
            about = f"{_ABOUT.get(type(guard), other)} {name}".rstrip()
            if old is None or new is None or not name or getattr(old, "name", "") != name:
                return f"{about} has changed"
            return f"{about} is {_shown(new.seen[-1])}, and was {_shown(old.seen[-1])}"
    for number, (old, new) in enumerate(zip_longest(before, now)):
        if old != new:
            return f"argument {number} is {_shown(new)}, and was {_shown(old)}"
    return None


_ABOUT = {
    Attribute: "the attribute",
    Name: "the variable",
    ClassData: "a class that it uses",
    Contents: "what a container holds",
    ReadAttributes: "an attribute of an object",
    Hooks: "the set of registered hooks",
    Variable: "a Tensor that it uses, its hooks or its requires_grad",
}


def _shown(key):
    """A key of a value as messages show it."""
    if key is None:
        return "another object"
    if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], type):
        key = key[1]
    text = key if isinstance(key, str) else repr(key)
    return text if len(text) <= 60 else text[:57] + "..."
