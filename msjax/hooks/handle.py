"""Handles of registered hooks."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any, Self

_IDS = itertools.count()


class RemovableHandle:
    """Stands for one registered hook; `remove()` takes the hook away again.

    Removing twice is harmless. The handle keeps neither the cell or Tensor nor the hook alive. Used in
    a `with` statement, it removes the hook at the end.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> net = nn.ReLU()
        >>> with net.register_forward_hook(lambda cell, inputs, output: print("ran")):
        ...     _ = net(ms.Tensor(1.0))
        ran
        >>> _ = net(ms.Tensor(1.0))
    """

    __slots__ = ("id", "_owner", "_remove", "__weakref__")

    def __init__(self, owner: Any, remove: Callable[..., Any], id: int | None = None):
        """
        Args:
            owner: what the hook is registered on; held weakly.
            remove: a function of (owner, id) that takes the hook away if it is there.
            id: the hook's number; a new one by default.
        """
        self.id: int = next(_IDS) if id is None else id
        self._owner = weakref.ref(owner)
        self._remove = remove

    def remove(self) -> None:
        """Take the hook away; nothing happens if it is gone already."""
        owner = self._owner()
        if owner is not None:
            self._remove(owner, self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.remove()


def new_hook_id() -> int:
    """A number for a hook, unique in the process."""
    return next(_IDS)
