"""Handles of registered hooks."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Self

from msjax.core.base.weak import new_number


class RemovableHandle:
    """The handle of one registered hook; `remove()` removes the hook.

    Removing twice is harmless. The handle keeps neither the cell or Tensor nor the hook alive. In a `with`
    statement, it removes the hook at the end of the block.

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

    def __init__(self, owner: object, remove: Callable[..., Any], id: int | None = None):
        """
        Args:
            owner: what the hook is registered on; held weakly.
            remove: a function of (owner, id) that removes the hook if it is still registered.
            id: the hook's number; a new one by default.
        """
        self.id: int = new_number() if id is None else id
        self._owner = weakref.ref(owner)
        self._remove = remove

    def remove(self) -> None:
        """Remove the hook; does nothing if it was removed already."""
        owner = self._owner()
        if owner is not None:
            self._remove(owner, self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: Any) -> None:
        self.remove()


def new_hook_id() -> int:
    """A number for a hook, unique in the process."""
    return new_number()
