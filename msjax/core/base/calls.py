"""The owners of hooks that are being called: `STATE.owners`, outermost first.

Errors and hooks read from it where they are; a program that is traced, and a monitor, are told when a call begins.
"""

from __future__ import annotations

from typing import Any

from msjax.core.base.state import ACTIVITY, STATE


class calling:
    """A context manager in which an owner of hooks is being called.

    Args:
        owner: a cell, or what names a module of another framework by its attribute `hook_path`.
    """

    __slots__ = ("_owner",)

    def __init__(self, owner: Any):
        self._owner = owner

    def __enter__(self) -> None:
        STATE.owners.append(self._owner)
        if ACTIVITY.slow_dispatch:
            entered(self._owner)

    def __exit__(self, *_exception: Any) -> None:
        STATE.owners.pop()


def entered(owner: Any) -> None:
    """Tell the program that is being traced, and the monitor of this thread, that the call of an owner of hooks has begun."""
    if STATE.trace is not None:
        STATE.trace.entered(owner)
    if STATE.monitor is not None:
        STATE.monitor.entered(owner)
