"""Tables that parts of the library enter themselves into."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Registry(dict[K, V]):
    """A dict that doesn't count as what a function that reads it is traced from: programs on disk are not described by its content.

    For what decides how something is compiled, not what it computes. A function would be traced from all that anyone has entered otherwise.

    Example:
        >>> from msjax.core.base.registry import Registry
        >>> names = Registry({"a": 1})
        >>> names["a"]
        1
    """
