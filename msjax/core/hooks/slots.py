"""Slots: places among the hooks of a call where an observer stands. Programs know the slot, and call whoever stands there when they run.

So who listens may change without a new program. Modifiers are part of the program: their functions and options are in its key.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msjax.core.base import jax_slots
from msjax.core.base.state import STATE
from msjax.core.hooks.events import Code, Event, HookCall
from msjax.core.hooks.returns import HookLabel, check_observer_result
from msjax.core.hooks.worker import WORKER, wait_for_programs

if TYPE_CHECKING:
    from msjax.core.hooks.table import Hook, HookTable


class SlotOwner:
    """What has hooks in slots, beside cells and modules."""

    __slots__ = ()

    def _hooks_around(self) -> Any:
        """What has its hooks of a kind as an attribute, as they are at present."""
        raise NotImplementedError


class Slot:
    """A place among the hooks of one kind of one call.

    Args:
        present: returns the owner's present HookTable, or what else has the hooks of a kind as an attribute.
        kind: "forward" and the like.
        number: which of the hooks of this kind it is.
        hook: the one that stands there while the program is traced.
    """

    __slots__ = ("_key", "_kind", "_number", "_present")

    def __init__(self, present: Callable[[], HookTable], kind: str, number: int, hook: Hook):
        self._present, self._kind, self._number, self._key = present, kind, number, hook.key

    def follows(self, other: Slot) -> bool:
        """Whether both are of one kind of one owner, and this is a later one."""
        return self._kind == other._kind and self._number > other._number and self._present() is other._present()

    def fn(self) -> Callable[..., Any]:
        """The function that is called now; one that does nothing if no such hook is there."""
        hooks = getattr(self._present(), self._kind, ())
        if self._number < len(hooks) and hooks[self._number].key == self._key:
            return hooks[self._number].fn
        return _nobody


def _nobody(*_args):
    return None


class SlotCall(HookCall):
    """The call of the observer that stands in a slot.

    Args:
        slot: the slot.
        head, args, what: as for `HookCall`; `what` names the hook that stood there when the program was traced.
    """

    def __init__(self, slot: Slot, head: tuple[Callable[[], Any], ...], args: Any, what: HookLabel):
        super().__init__(_nobody, head, args, what)
        self.slot = slot
        self._label = what

    @property
    def what(self) -> Any:
        return self._label.of(self.slot.fn())

    @what.setter
    def what(self, what: Any) -> None:
        self._label = what

    def __call__(self, arrays: Sequence[Any]) -> None:
        self.call(self.slot.fn(), arrays)

    def call(self, fn: Callable[..., Any], arrays: Sequence[Any]) -> None:
        """Call a hook with the values of a run."""
        result = fn(*[get() for get in self.head], *self.args.fill(arrays))
        if result is not None:
            check_observer_result(result, self._label.of(fn))

    def present(self) -> Callable[[Sequence[Any]], None]:
        """The call of the hook that stands there now, whoever stands there later."""
        return functools.partial(self.call, self.slot.fn())

    def follows(self, other: Event) -> bool:
        return isinstance(other, SlotCall) and self.slot.follows(other.slot)

    def write(self, code: Code, outputs: Sequence[str]) -> None:
        fn = code.present(self.slot.fn)
        head = "".join(f"{code.name(get)}(), " for get in self.head)
        code.line(f"r = {fn}({head}*{self.args.source(code.name, outputs)})")
        code.line(f"if r is not None: {code.name(check_observer_result)}(r, {code.name(self._label)}.of({fn}))")


class _Callbacks:
    """Whether a program that jax compiles calls slots by callbacks, which may be late."""

    there = False


CALLBACKS = _Callbacks()


def before_change() -> None:
    """Before a change of who stands in slots: what runs of programs owe to those who stand there now is called."""
    if CALLBACKS.there and not STATE.hooks_run and jax_slots.trace_state() == jax_slots.NO_TRACE:
        wait_for_programs()
        WORKER.wait()


def is_traced_now() -> bool:
    """Whether a hook that is registered now is registered by code that jax traces: it belongs to that program alone."""
    return jax_slots.trace_state() != jax_slots.NO_TRACE
