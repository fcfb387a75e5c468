"""The description of a function: a text that is the same in every process, and differs where the function's programs would.

It holds the function's code, closure, defaults and settings, and those of what it reaches through globals (`programs.reach`). What
can't be described completely, such as a user's function or an array in a closure, has no description, and its programs are not stored.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from msjax.engine.programs.reach import Reach, Undescribable, describe_named, describe_plain, package_of, reach_of

__all__ = ["Description", "Undescribable", "describe", "description_of"]


class Description(NamedTuple):
    """The description of a function.

    Attributes:
        text: it.
        reached: what it was made of, besides plain values.
    """

    text: str
    reached: tuple[Reach, ...] = ()

    def holds(self) -> bool:
        """Whether nothing that it was made of has been replaced since."""
        return all(reach.holds() for reach in self.reached)


def description_of(fn: Callable[..., Any]) -> Description | None:
    """The description of a function; None if there is none that is complete."""
    reached: dict[int, Reach] = {}
    try:
        text = repr(describe(fn, reached))
    except (Undescribable, RecursionError, ValueError):  # ValueError: an empty cell
        return None
    return Description(text, tuple(reached.values()))


def describe(value: Any, reached: dict[int, Reach] | None = None) -> Any:
    """The description of a value: a text, or nested tuples of texts.

    An object of a class of msjax is described by its class and its attribute `identity`, on which all that it computes depends.

    Args:
        reached: gets what functions and classes in it reach, by ids.

    Raises:
        Undescribable: there is none.
    """
    plain = describe_plain(value, lambda v: describe(v, reached))
    if plain is not None:
        return plain
    cls = value.__class__
    if isinstance(value, functools.partial) and cls is functools.partial:
        return "partial", describe(value.func, reached), describe(value.args, reached), describe(value.keywords, reached)
    if isinstance(value, types.MethodType):
        return "method", describe(value.__func__, reached), describe(value.__self__, reached)
    if isinstance(value, types.FunctionType) and package_of(value) == "msjax":
        return "function", value.__module__, value.__qualname__, _noted(value, reached)
    found = getattr(value, "identity", None) if package_of(cls) == "msjax" else None
    if found is not None:
        return "object", cls.__module__, cls.__qualname__, _noted(cls, reached), describe(found, reached)
    return describe_named(value)


def _noted(value, reached):
    found = reach_of(value)
    if reached is not None:
        reached[id(found)] = found
    return found.digest
