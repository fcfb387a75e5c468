"""What differs where a function is compiled again and again for the same shapes, told once by the log."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
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
            what = _other_guard(guards, found) or _other_argument(before, arguments)
            if what is not None:
                self._told = True
                self._latest.clear()
                log.warning(
                    "%s is compiled for the %s. time for the same shapes: %s. Each compilation takes time; a value that changes from call "
                    "to call is better passed as a Tensor.",
                    self._name, _TOLD, what,
                )  # fmt: skip


def _other_argument(before, now):
    for number, (old, new) in enumerate(zip_longest(before, now)):
        if old != new:
            return f"argument {number} is {_shown(new)}, and was {_shown(old)}"
    return None


def _other_guard(before: Iterable[Guard], now: Iterable[Guard]) -> str | None:
    """What the first guard that differs is about."""
    for old, new in zip_longest(before, now):
        if old is None or new is None or type(old) is not type(new) or old.seen != new.seen:
            return _described(old, new)
    return None


def _described(old, new):
    guard = new or old
    if isinstance(guard, (Attribute, Name)) and getattr(old, "name", None) == getattr(new, "name", None):
        kind = "the attribute" if isinstance(guard, Attribute) else "the variable"
        return f"{kind} {guard.name} is {_shown(new.seen[-1])}, and was {_shown(old.seen[-1])}"
    if isinstance(guard, (Attribute, Name)):
        return f"it uses {guard.name}, or does no longer"
    if isinstance(guard, ReadAttributes):
        return f"an attribute of the object of {guard.seen[0]} has changed"  # pyright: ignore[reportIndexIssue]
    if isinstance(guard, Contents):
        name = next((name for name, _ in guard.ways if isinstance(name, str)), None)
        return f"the items of {name or 'a container'} have changed"
    if isinstance(guard, Hooks):
        return "other hooks are registered"
    if isinstance(guard, Variable):
        return (
            f"a Tensor of shape {guard.tensor.shape} that it uses is another object, or has other hooks or another requires_grad"
        )
    return "a class that it uses has changed" if isinstance(guard, ClassData) else _changed_text(old, new)


def _changed_text(old, new):
    """Of a guard that is a tuple of texts and keys, the parts that differ."""
    seen = [guard.seen if guard is not None and isinstance(guard.seen, tuple) else () for guard in (old, new)]
    if seen[0][:1] == seen[1][:1] == ("module",):
        names = {name for name in set(seen[0]) ^ set(seen[1]) if isinstance(name, str)}
        return "a cell has " + (
            f"other attributes ({', '.join(sorted(names))})" if names else "another attribute's value, or is another cell"
        )
    pairs = [pair for pair in zip_longest(*seen) if pair[0] != pair[1]]
    return (
        f"a value is {_shown(pairs[0][1])}, and was {_shown(pairs[0][0])}" if pairs else "an object that it uses is another one"
    )


def _shown(key):
    """A key of a value as messages show it."""
    if key is None:
        return "another object"
    if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], type):
        key = key[1]
    text = key if isinstance(key, str) else repr(key)
    return text if len(text) <= 60 else text[:57] + "..."
