"""Where code runs: the owners of hooks that are being called (`STATE.owners`, outermost first), and of what program it becomes part.

Errors and hooks read from it where they are; a program that is traced, and a monitor, are told what happens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msjax.core.base import jax_slots
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
            entered(self._owner)

    def __exit__(self, *_exception: Any) -> None:
        STATE.owners.pop()


# ---- what program the code becomes part of


def in_program() -> bool:
    """Whether the code becomes part of a program: msjax compiles it, or it is that of a functionalized network."""
    return STATE.trace is not None and not STATE.trace.on_host


def in_functional_run() -> bool:
    """Whether it is the code of a functionalized network."""
    return STATE.trace is not None and STATE.trace.functional


def msjax_compiles() -> bool:
    """Whether msjax compiles it."""
    return STATE.trace is not None and STATE.trace.falls_back


def on_host() -> bool:
    """Whether it is a hook that runs within a callback of XLA, where new Tensors have numpy arrays."""
    return STATE.trace is not None and STATE.trace.on_host


def nothing_is_traced() -> bool:
    """Whether this thread traces nothing: a tracer in a Tensor is then that of another thread, until that lets go of `LOCK`."""
    return STATE.trace is None and jax_slots.trace_state() == jax_slots.NO_TRACE


def at_level_of_program() -> bool:
    """Whether values here belong to the program itself, not to a loop or transformation of jax within it."""
    return STATE.trace is not None and STATE.trace.here()


def differentiated_by_jax() -> bool:
    """Whether jax, not the tape, differentiates what it traces here: under its transformations, also inside of a program."""
    return STATE.trace.differentiated_by_jax() if at_level_of_program() else True


# ---- what the program is told


def entered(owner: CalledOwner) -> None:
    """The call of an owner of hooks has begun."""
    if STATE.trace is not None:
        STATE.trace.entered(owner)
    if STATE.monitor is not None:
        STATE.monitor.entered(owner)


def used(operands: Sequence[Any]) -> None:
    """An operator is called with these operands."""
    if STATE.trace is not None:
        STATE.trace.see(operands)


def stops_gradients() -> None:
    """`ops.stop_gradient` is called."""
    if STATE.trace is not None:
        STATE.trace.stops_gradients = True


def communicates_in(group: Any) -> None:
    """The code communicates in a group of processes."""
    if STATE.trace is not None:
        STATE.trace.groups.add(group)


def mark(tensor: Any, kind: str, spec: str) -> str | None:
    """A placeholder for a Tensor's text, filled in after the run of the program; None if no program fills in texts here."""
    return STATE.trace.mark(tensor, kind, spec) if at_level_of_program() else None


def comes_to_event() -> None:
    """An event (see `msjax.hooks.events`) is going to be put into the program."""
    if STATE.trace is not None:
        STATE.trace.comes_to_event()


def comes_to_callback() -> None:
    """The same of an event that is a host callback."""
    if STATE.trace is not None:
        STATE.trace.comes_to_callback()
    else:
        ACTIVITY.callbacks = True
