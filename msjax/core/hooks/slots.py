"""Slots: positions in the lists of hooks that a compiled program calls. A program looks the observer of a slot up at each run.

So observers may come and go without a new program. Modifiers are part of the program: their functions and options are in its key.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msjax.core.base import jax_slots
from msjax.core.base.state import ACTIVITY, STATE
from msjax.core.hooks.events import AfterRunCode, Event, HookCall
from msjax.core.hooks.returns import HookLabel
from msjax.core.hooks.worker import WORKER, wait_for_programs

if TYPE_CHECKING:
    from msjax.core.hooks.hook import Hook


class Slot:
    """A position in one list of hooks.

    Args:
        present: returns the owner's current hook table, see `SlotOwner`.
        kind: "forward" and the like.
        number: the index in the list of hooks of this kind.
        hook: the hook at this index while the program is traced.
    """

    __slots__ = ("_key", "_kind", "_number", "_present")

    def __init__(self, present: Callable[[], Any], kind: str, number: int, hook: Hook):
        self._present, self._kind, self._number, self._key = present, kind, number, hook.key

    def follows(self, other: Slot) -> bool:
        """Whether this slot comes later in the same list of hooks."""
        return self._kind == other._kind and self._number > other._number and self._present() is other._present()

    def fn(self) -> Callable[..., Any]:
        """The hook function that is there now; one that does nothing if there is none."""
        hooks = getattr(self._present(), self._kind, ())
        if self._number < len(hooks) and hooks[self._number].key == self._key:
            return hooks[self._number].fn
        return _nobody


def _nobody(*_args):
    return None


class SlotCall(HookCall):
    """A call of the observer that is in a slot.

    Args:
        slot: the slot.
        head, args, what: as for `HookCall`; `what` names the hook that was there when the program was traced.
    """

    def __init__(self, slot: Slot, head: tuple[Callable[[], Any], ...], args: Any, what: HookLabel):
        super().__init__(_nobody, head, args, what)
        self.slot = slot
        self._label = what

    @property
    def what(self) -> Any:
        return self.label(self.slot.fn())

    @what.setter
    def what(self, what: Any) -> None:
        self._label = what

    def label(self, fn: Callable[..., Any]) -> HookLabel:
        return self._label.of(fn)

    def __call__(self, arrays: Sequence[Any]) -> None:
        self.call(self.slot.fn(), arrays)

    def present(self) -> Callable[[Sequence[Any]], None]:
        return functools.partial(self.call, self.slot.fn())

    def follows(self, other: Event) -> bool:
        return isinstance(other, SlotCall) and self.slot.follows(other.slot)

    def write(self, code: AfterRunCode, outputs: Sequence[str]) -> None:
        self.write_call(code, outputs, code.present(self.slot.fn))


def before_change() -> None:
    """Run the pending calls of slots before hooks change."""
    if ACTIVITY.late_slots and not STATE.hooks_run and jax_slots.trace_state() == jax_slots.NO_TRACE:
        wait_for_programs()
        WORKER.wait()
