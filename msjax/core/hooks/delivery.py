"""How the calls of hooks are delivered: `STATE.delivery` is the `Delivery` of the innermost frame, and a call that has traced values where
nothing else is under way takes `msjax.core.hooks.batching.CALLBACKS`.

`NOW` calls a hook at once. Where jax traces, an observer becomes an event, which is delivered as outputs of a program that msjax compiles,
or by a host callback (`msjax.core.hooks.batching`). A modifier is called once, with traced values, and its operations become part of the
program. Where a hook's code doesn't tell, it is called as a modifier; if it then returns None, what it has changed is undone (`TrialRun`),
and it is an observer.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence
from operator import is_not
from typing import Any, Self

import jax

from msjax.core.base import jax_slots
from msjax.core.base.arrays import TracedValueError, is_tracer, known_value, staged
from msjax.core.base.state import ACTIVITY, STATE, State
from msjax.core.base.trial_run import TrialRun
from msjax.core.base.typing import PyTree
from msjax.core.hooks.events import Event, Slot, Template
from msjax.core.hooks.hook import Hook, Ignored, computes, users_hook
from msjax.core.hooks.kinds import HookKind, HookPlace, ValueKind, check_observer_result, gradients_result
from msjax.core.hooks.worker import barrier

# What jax raises when code asks a traced array for its value.
_NEEDS_VALUE = (TracedValueError, jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)


class HookNeedsValue(TypeError):
    """A hook that is part of a compiled program needs values that the program has yet to compute."""


FORWARD_PRE = HookKind("forward_pre", "forward pre hook")
FORWARD = HookKind("forward", "forward hook")
BACKWARD_PRE = HookKind("backward_pre", "backward pre hook", gradients_result)
BACKWARD = HookKind("backward", "backward hook", gradients_result)


class Delivery:
    """How hooks are called where the code runs: at once, where values are there; a subclass has another way. A context manager in which they are.

    Attributes:
        outputs: whether events are outputs of the program that is traced.
        dropped: whether there are no events: of code that a program computes again.
        batch: the `msjax.core.hooks.batching.CallbackBatch` under way, or None.
        begins_batch: whether a call of a module here is to collect the calls of hooks within, if jax records it.
        traced: how hooks are called where values are traced and nothing else is under way.
    """

    outputs = dropped = False
    batch: Any = None
    begins_batch = True
    traced: Delivery  # of `NOW`; set by `msjax.core.hooks.batching`

    def __enter__(self) -> Self:
        self.around, STATE.delivery = STATE.delivery, self
        return self

    def __exit__(self, *exception: Any) -> None:
        STATE.delivery = self.around

    def run(
        self, frame: Frame, kind: HookKind, hook: Hook, given: tuple[Any, ...], carried: PyTree, number: int | None = None
    ) -> tuple[Any, Any]:
        """Run one hook.

        Args:
            frame: the call that the hook stands around.
            given: its arguments, but for the owner.
            carried: what goes on through the network: of a hook of gradients, the one of `given` that it may replace.
            number: which of the hooks of its kind it is, if it is a registered one.

        Returns:
            (what the hook returned, what goes on, to be used in the place of `carried`).
        """
        if hook.observe or hook.traced is False:
            return None, self.observe(frame, hook.fn, given, HookPlace.within(kind.text, frame.owners), carried)
        if ACTIVITY.callbacks:
            barrier()  # hooks of a loop before this one
        try:
            return frame.call(hook.fn, given), carried
        except Exception as error:
            HookPlace.within(kind.text, frame.owners).note(error, hook.fn)
            raise

    def observe(
        self, frame: Frame, fn: Callable[..., Any], given: Sequence[Any], place: HookPlace, carried: PyTree = (),
        slot: Slot | None = None,
    ) -> PyTree:  # fmt: skip
        """Call an observer: now if its values are known, else when the program runs; returns what goes on.

        Args:
            frame, given, carried: as of `run`.
            place: where it stands, for messages.
            slot: the slot that it stands in, if it is a registered hook.
        """
        if ACTIVITY.callbacks:
            barrier()  # hooks of a loop before this one
        try:
            result = frame.call(fn, given)
        except Exception as error:
            place.note(error, fn)
            raise
        check_observer_result(result, place, fn)
        return carried

    def before_loop(self, values: ValueKind, tree: PyTree) -> PyTree:
        """The inputs of a loop or transformation of jax, made to wait for the hook calls before it, so that those within come later."""
        return tree

    def settle(self) -> None:
        """Wait for the hook calls so far; called before code that must run after them."""
        if ACTIVITY.callbacks:
            barrier()


NOW = State.delivery = Delivery()


class Frame:
    """The place of hooks that get values only: those on the gradient of a Tensor, an operator or a function.

    Args:
        values (Values): says what a value is, and has the first argument of hooks.
        subject: what the hooks are registered on, or None.

    Attributes:
        owners: the owners of hooks around the frame, for messages; None if they are those under way when a hook is called.
    """

    owners: tuple[Any, ...] | None = None

    def __init__(self, values: Any, subject: Any = None):
        self.values = values
        self.subject = subject

    def call(self, fn: Callable[..., Any], given: Sequence[Any]) -> Any:
        """Call a hook at once."""
        return fn(*given)

    def head(self) -> tuple[Callable[[], Any], ...]:
        """Functions whose results are the first arguments of a hook that is called after the run of a program."""
        return ()

    def delivery(self, given: tuple[Any, ...]) -> Delivery:
        """How a hook with these arguments is called here."""
        delivery = STATE.delivery
        return NOW.traced if delivery is NOW and self.values.has_tracers(given) else delivery

    def observe(self, fn: Callable[..., Any], given: tuple[Any, ...], what: str) -> None:
        """Call a function that observes values: now, or when the program runs that has them; `what` is its name for messages."""
        self.delivery(given).observe(self, fn, given, HookPlace.within(what))

    def run_backward(
        self, kind: HookKind, hook: Hook, given: tuple[Any, ...], carries: int = 0, number: int | None = None
    ) -> Any:
        """Run a hook of gradients, which may replace argument `carries`; returns the new one."""
        delivery = STATE.delivery
        # As in `delivery`; written out, since every hook of a gradient comes here.
        if delivery is NOW and self.values.has_tracers(given):
            delivery = NOW.traced
        result, carried = delivery.run(self, kind, hook, given, given[carries], number)
        return carried if result is None else kind.check(self.values, hook.fn, kind.text, result, carried, self.owners)  # pyright: ignore[reportOptionalCall]


class TracedDelivery(Delivery):
    """Hooks of a program that is being traced."""

    begins_batch = False

    def settle(self) -> None:
        """Nothing: those of the program are called when it runs."""

    def put(self, values: ValueKind, event: Event, arrays: Sequence[Any], carried: PyTree) -> PyTree:
        """Let an event happen with the values that arrays get when the program runs.

        Args:
            values (Values): says what of `carried`, which goes on through the network, is a value.
            arrays: tracers.

        Returns:
            `carried`, whose values depend on the event: a program that uses them has it.
        """
        raise NotImplementedError

    def observe(
        self, frame: Frame, fn: Callable[..., Any], given: Sequence[Any], place: HookPlace, carried: PyTree = (),
        slot: Slot | None = None,
    ) -> PyTree:  # fmt: skip
        values = frame.values
        leaves, treedef, at = values.find(given)
        known = {i: known_value(array) for i in at if is_tracer(array := values.raw(leaves[i]))}
        if all(array is not None for array in known.values()) and (known or not staged()):
            # An eager jax.grad: the values are there.
            for i, array in known.items():
                leaves[i] = values.made(array)
            return super().observe(frame, fn, jax.tree.unflatten(treedef, leaves), place, carried)
        if jax_slots.transposing():
            return carried
        head = frame.head()
        if STATE.trace is not None:
            STATE.trace.observed(users_hook(fn, *[first() for first in head]), lambda: place.text(fn))
        template = Template(given, values, head=head)
        event = Event(fn, template, place, slot)
        ACTIVITY.late_slots = ACTIVITY.late_slots or (slot is not None and not self.outputs)
        return self.put(values, event, template.taken(), carried)

    def run(
        self, frame: Frame, kind: HookKind, hook: Hook, given: tuple[Any, ...], carried: PyTree, number: int | None = None
    ) -> tuple[Any, Any]:
        values, fn = frame.values, hook.fn
        place = HookPlace.within(kind.text, frame.owners)
        slot = None if number is None else values.slot(frame.subject, kind.name, number, hook)
        if slot is not None or hook.observes:
            return None, self.observe(frame, fn, given, place, carried, slot)
        trace = STATE.trace
        attempt = None if hook.traced else TrialRun(users_hook(fn), trace is None, values.during(frame.subject))
        tried = trace if attempt is not None else None
        writes, before = (0, []) if tried is None else (tried.writes, values.arrays(given))
        try:
            with attempt or contextlib.nullcontext():
                result = frame.call(fn, given)
        except _NEEDS_VALUE as error:
            if attempt is not None:
                attempt.undo()
            if kind.check is None and attempt is not None and not computes(fn):
                # It reads the values, and as far as its code tells returns none.
                if hook.writes:
                    _refuse(place, fn, _WRITES)
                return None, self.observe(frame, fn, given, place, carried)
            missing = str(error).split("\n", 1)[0]
            if kind.check is not None:
                _refuse(place, fn, f"returns a value, for which it needs concrete values ({missing})")
            raise HookNeedsValue(_SPLIT.format(what=place.sentence(fn), error=missing, values=values)) from error
        except Exception as error:
            place.note(error, fn)
            raise
        if attempt is not None:
            nothing = values.is_nothing(result)
            changed = (nothing or result is carried) and attempt.undo()
            # Text that msjax's own programs print is part of them already.
            if changed or (result is None and trace is None and (values.find(carried)[2] or not computes(fn))):
                if tried is not None and (tried.writes > writes or any(map(is_not, before, values.arrays(given)))):
                    _refuse(place, fn, _WRITES)
                return None, self.observe(frame, fn if nothing else Ignored(fn), given, place, carried)
            leaves, _, at = values.find(given)
            if trace is None and attempt.changes() and any(known_value(values.raw(leaves[i])) is None for i in at):
                warnings.warn(
                    f"{place.sentence(fn)} returns a value, and so is part of the compiled program: what it appends, counts or assigns "
                    "happens once, when the program is made, and not at each run. Have a second hook do that, one that returns None.",
                    stacklevel=2,
                )
            attempt.keep()
        return result, carried


def _refuse(place, fn, why):
    """Have the program's code run in PyNative mode, if it is one that can: a hook does what the program can't do at each run."""
    if STATE.trace is not None:
        STATE.trace.refuse(f"{place.text(fn)} {why}")


# It has to be called after the run, but the program may read what it writes.
_WRITES = "writes to Tensors, and does what a program can't do at each run"


_SPLIT = """{what} returns a value, and so is part of the compiled program; but it needs values that are known only when
the program has run ({error}). Split it into two hooks:
  1. one that computes with {values.noun}s and returns the new value;
  2. one that reads values ({values.reading}, float, if, print) and returns None: it is called after each run, with concrete values.
If it never returns anything else than None, register it with observe=True. Or {values.uncompiled}."""
