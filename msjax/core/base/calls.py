"""Calls of the owners of hooks: `STATE.owners` has those under way, outermost first, by which errors and hooks know where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msjax.core.base.state import ACTIVITY, STATE


class CalledOwner(Protocol):
    """What hooks are registered on and called around, in `STATE.owners`."""

    @property
    def _owner_noun(self) -> str:
        """What messages call it: "cell" or "module"."""
        ...

    def _named_in(self, around: Sequence[CalledOwner]) -> tuple[str, str]:
        """(path, name of the class), where these owners are being called around it."""
        ...


class calling:
    """A context manager in which an owner of hooks is being called.

    Args:
        owner: a Cell, or the `HookSite` of a module of another framework.
    """

    __slots__ = ("_owner",)

    def __init__(self, owner: CalledOwner):
        self._owner = owner

    def __enter__(self) -> None:
        STATE.owners.append(self._owner)
        if ACTIVITY.slow_dispatch:
            STATE.entered(self._owner)

    def __exit__(self, *_exception: Any) -> None:
        STATE.owners.pop()
