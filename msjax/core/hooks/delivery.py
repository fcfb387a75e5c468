"""Runs hooks while jax traces.

`run_traced_hook` takes a hook whose values may not be known yet. An observer is called with concrete values at each run: after
a program that msjax compiled, or by a host callback under a jax transformation. A modifier is called once, with traced
values, and its operations become part of the program. Where a hook's code doesn't tell, it is called as a modifier; if it then
returns None, what it has changed is undone, and it is an observer.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax

from msjax.core.base.arrays import TracedValueError, is_tracer, known_value, staged
from msjax.core.base.state import ACTIVITY, STATE
from msjax.core.base.typing import PyTree
from msjax.core.hooks.attempt import Attempt
from msjax.core.hooks.batching import calls_are_outputs, observe_traced
from msjax.core.hooks.classify import computes, observes
from msjax.core.hooks.events import HookCall
from msjax.core.hooks.host import call_on_host
from msjax.core.hooks.returns import HookLabel, check_observer_result
from msjax.core.hooks.slots import CALLBACKS, Slot, SlotCall
from msjax.core.hooks.template import Template
from msjax.core.hooks.values import Values
from msjax.core.hooks.worker import barrier

# What jax raises when code asks a traced array for its value.
_NEEDS_VALUE = (TracedValueError, jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)

# The first argument of hooks that get none but values.
NO_SUBJECT = object()


class HookNeedsValue(TypeError):
    """A hook that is part of a compiled program needs values that the program has yet to compute."""


class HostNeeded(Exception):
    """A backward hook that returns a value needs concrete values to compute it.

    Attributes:
        why: a sentence.
    """

    def __init__(self, what: HookLabel, error: Exception):
        self.why: str = f"{what} returns a value, for which it needs concrete values ({str(error).splitlines()[0]})"
        super().__init__(self.why)


def run_traced_hook(
    values: Values,
    fn: Callable[..., Any],
    subject: Any,
    args: tuple[Any, ...],
    kind: str,
    *,
    observe: bool | None = None,
    traced: bool | None = None,
    owners: Sequence[Any] | None = None,
    carries: int = -1,
    carried: PyTree = None,
    check: Callable[..., Any] = lambda result, _given: result,
    slot: Slot | None = None,
) -> tuple[Any, Any]:
    """Run one hook of a program that is being traced.

    Args:
        values (Values): says what a value is.
        fn: the hook.
        subject: its first argument; NO_SUBJECT if it gets none but `args`.
        args: what it is called with.
        kind: "forward hook" and the like, for messages.
        observe, traced: what the user said of the hook.
        owners: the owners of hooks around it; those under way by default.
        carries: the number of the argument whose values go on through the network.
        carried: what goes on through the network, where that is no single argument.
        check: of a backward hook, a function of what it returned and that argument, to the argument's replacement;
            by default what it returned.
        slot: the slot that the hook stands in, if it is a registered observer.

    Returns:
        (what the hook returned, what goes on; the latter to be used in the place of what was given).
    """
    carried = args[carries] if carried is None else carried
    what = HookLabel(kind, fn, owners)
    trace = STATE.trace
    if slot is not None or observes(fn, observe, traced):
        return None, _observe(values, fn, subject, args, what, carried, slot)
    head = () if subject is NO_SUBJECT else (values.during(subject),)
    attempt = None if traced else Attempt(fn)
    try:
        with attempt or contextlib.nullcontext():
            result = fn(*head, *args)
    except _NEEDS_VALUE as error:
        if attempt is not None:
            attempt.undo()
        if kind.startswith("forward"):
            if attempt is not None and not computes(fn):
                # It reads the values, and as far as its code tells returns none.
                return None, _observe(values, fn, subject, args, what, carried)
            raise HookNeedsValue(
                _SPLIT.format(what=_sentence(what), error=str(error).split("\n", 1)[0], values=values)
            ) from error
        if trace is not None and trace.falls_back and trace.here():
            raise HostNeeded(what, error) from error
        return None, call_on_host(values, fn, _later(values, subject), args, what, carries, check)
    if attempt is not None:
        nothing = values.is_nothing(result)
        changed = (nothing or result is carried) and attempt.undo()
        # Text that msjax's own programs print is part of them already.
        if changed or (result is None and trace is None and (values.find(carried)[2] or not computes(fn))):
            # What ``found.setdefault("x", output)`` returns replaces nothing either.
            return None, _observe(values, fn if nothing else _Ignoring(fn), subject, args, what, carried)
        attempt.keep()
    if trace is not None and kind.startswith("forward"):
        leaves, _, at = values.find(args)
        trace.forward_hooks += [
            (fn, weakref.ref(leaves[i]), _sentence(what))
            for i in at
            if is_tracer(values.raw(leaves[i])) and not values.is_fixed(leaves[i])
        ]
    return result, carried


class _Ignoring:
    """A hook whose result is not looked at, since it is what the hook was given."""

    def __init__(self, fn: Callable[..., Any]):
        self.fn = fn

    def __call__(self, *args: Any) -> None:
        self.fn(*args)


def _observe(values, fn, subject, args, what, carried, slot=None):
    """Call an observer: now if its values are known, else when the program runs. Returns what goes on."""
    trace = STATE.trace
    leaves, treedef, at = values.find(args)
    unknown = [i for i in at if is_tracer(values.raw(leaves[i]))]
    known = [known_value(values.raw(leaves[i])) for i in unknown]
    if all(k is not None for k in known) and (unknown or not staged()):
        # An eager jax.grad: the values are there.
        if ACTIVITY.callbacks:
            barrier()  # hooks of a loop before this one
        for i, value in zip(unknown, known):
            leaves[i] = values.made(value)
        head = () if subject is NO_SUBJECT else (values.during(subject),)
        check_observer_result(fn(*head, *jax.tree.unflatten(treedef, leaves)), what)
        return carried
    if trace is None:
        ACTIVITY.callbacks = ACTIVITY.callbacks or not calls_are_outputs()
    else:
        trace.comes_to_event()
    template = Template(args, values)
    head = _later(values, subject)
    if slot is None:
        event = HookCall(fn, head, template, what)
    else:
        event = SlotCall(slot, head, template, what)
        CALLBACKS.there = CALLBACKS.there or not calls_are_outputs()
    return observe_traced(values, event, template.taken(), carried)


def _later(values, subject):
    return () if subject is NO_SUBJECT else (values.later(subject),)


def _sentence(what):
    """Its text at the beginning of a sentence."""
    text = str(what)
    return text[0].upper() + text[1:]


_SPLIT = """{what} returns a value, and so is part of the compiled program; but it needs values that are known only when
the program has run ({error}). Split it into two hooks:
  1. one that computes with {values.noun}s and returns the new value;
  2. one that reads values ({values.reading}, float, if, print) and returns None: it is called after each run, with concrete values.
If it never returns anything else than None, register it with observe=True. Or {values.uncompiled}."""
