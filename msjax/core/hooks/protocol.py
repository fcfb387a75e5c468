"""The protocol of hooks: the order in which hooks run around one call.

Forward pre hooks, the backward node on the inputs, the function, the backward node on the outputs, forward hooks, the
backward pre node; `msjax.core.hooks.settings.Rules` says where the order may differ. It serves every owner of hooks: a Cell, a module
of another framework, a plain function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.core.base.errors import where
from msjax.core.base.state import ACTIVITY, STATE
from msjax.core.hooks.backward import BackwardHooks
from msjax.core.hooks.batching import after_latest_call
from msjax.core.hooks.boundaries import Boundary, call_after_failure
from msjax.core.hooks.delivery import run_traced_hook
from msjax.core.hooks.returns import forward_pre_result
from msjax.core.hooks.settings import HOOK_SETTINGS
from msjax.core.hooks.table import HookTable
from msjax.core.hooks.values import ModuleSubject, Values
from msjax.core.hooks.worker import barrier


def call_with_hooks(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    subject: Any,
    table_of: Callable[[Any], HookTable],
    values: Values,
) -> Any:
    """Call a function with the hooks of its owner around it.

    Args:
        function (callable): called with the arguments after the forward pre hooks.
        args (tuple), kwargs (dict): the arguments of the call.
        subject: the owner, the first argument of hooks: a Cell, or a `ModuleSubject`.
        table_of (callable): returns the owner's present HookTable. A hook that a forward pre hook registers takes
            effect in the same call, and backward hooks are looked up when the gradient arrives.
        values (Values): says what the values among the arguments and results are.

    Returns:
        The function's result after the forward hooks.
    """
    rules = HOOK_SETTINGS.rules
    named = rules.text_of(values.during(subject)) if rules.names_subject else subject
    traced = values.being_traced(args, kwargs)
    if ACTIVITY.callbacks and not traced:
        barrier()
    table, out, pending = table_of(subject), None, None
    # Where the program's run is what may fail.
    boundary = Boundary.of(values) if any(hook.always_call for hook in table.forward) else None
    try:
        if boundary is not None:
            _may_fail(boundary, table.forward, named, args, kwargs, None)
        if table.forward_pre:
            for number, hook in enumerate(table.forward_pre):
                if boundary is not None and number:
                    _may_fail(boundary, table.forward, named, args, kwargs, None)
                slot = values.slot(subject, "forward_pre", number, hook) if traced else None
                args, kwargs = _run_forward_pre_hook(values, hook, named, args, kwargs, traced, slot)
            table = table_of(subject)
        backward = BackwardHooks(subject, table_of, values) if table.backward or table.backward_pre else None
        pending = list(table.forward)
        inputs = values.on_inputs(backward, args) if backward is not None and table.backward else args
        if rules.nodes_around_forward_hooks:
            args = inputs
        if boundary is not None:
            _may_fail(boundary, pending, named, args, kwargs, None)
        out = function(*inputs, **kwargs)
        # Parameters may be traced although the arguments are not.
        traced = traced or values.being_traced((out,))
        if backward is not None and table.backward and not rules.nodes_around_forward_hooks:
            out = values.on_outputs(backward, out, pre=False)
        if ACTIVITY.callbacks and not traced:
            barrier()
        while pending:
            hook = pending.pop(0)
            slot = values.slot(subject, "forward", len(table.forward) - len(pending) - 1, hook) if traced else None
            if boundary is not None:
                _may_fail(boundary, pending, named, args, kwargs, out)
            out = _run_forward_hook(values, hook, named, args, kwargs, out, traced, slot)
        if backward is not None and table.backward and rules.nodes_around_forward_hooks:
            out = values.on_outputs(backward, out, pre=False)
    except Exception:
        if boundary is not None:
            boundary.end()
        if boundary is None or STATE.trace is None:  # code that fails while msjax compiles it runs in PyNative mode
            for call in _after_failure(
                values, table_of(subject).forward if pending is None else pending, named, args, kwargs, out, traced
            ):
                call_after_failure(*call)
        raise
    if boundary is not None:
        boundary.end()
    return values.on_outputs(backward, out, pre=True) if backward is not None and table.backward_pre else out


def _run_forward_pre_hook(values, hook, subject, args, kwargs, traced, slot):
    given = (args, kwargs) if hook.with_kwargs else (args,)
    if traced:
        result, (args, kwargs) = run_traced_hook(
            values,
            hook.fn,
            subject,
            given,
            "forward pre hook",
            observe=hook.observe,
            traced=hook.traced,
            carried=(args, kwargs),
            slot=slot,
        )
    else:
        result = hook.fn(subject if subject.__class__ is not ModuleSubject else values.during(subject), *given)
    new = forward_pre_result(values, hook, result, args, kwargs)
    # The new arguments may not be computed from those that an observer has seen.
    return after_latest_call(values, new) if traced and new[0] is not args else new


def _run_forward_hook(values, hook, subject, args, kwargs, out, traced, slot=None):
    given = _given(hook, args, kwargs, out)
    if traced:
        result, out = run_traced_hook(
            values, hook.fn, subject, given, "forward hook", observe=hook.observe, traced=hook.traced, carried=out, slot=slot
        )
    else:
        result = hook.fn(subject if subject.__class__ is not ModuleSubject else values.during(subject), *given)
    if values.is_nothing(result):
        return out
    return after_latest_call(values, result) if traced else result


def _given(hook, args, kwargs, out):
    return (args, kwargs, out) if hook.with_kwargs else (args, out)


def _may_fail(boundary, hooks, subject, args, kwargs, out):
    """From here on, those of the hooks run if an event fails that have always_call=True, and are not declared part of the program."""
    hooks = [hook for hook in hooks if hook.always_call and not hook.traced]
    boundary.pending([h.fn for h in hooks], subject, [_given(h, args, kwargs, out) for h in hooks], [*map(_always, hooks)])


def _always(hook):
    return f"The forward hook {hook.name} (always_call=True){where()}"


def _after_failure(values, hooks, subject, args, kwargs, out, traced):
    """What `call_after_failure` is called with if the call fails now: those of the hooks that have always_call=True."""
    calls = []
    for hook in hooks:
        if hook.always_call:
            who = _always(hook)
            if traced:
                calls.append((_run_forward_hook, (values, hook, subject, args, kwargs, out, True), who))
            else:
                calls.append((hook.fn, (values.during(subject), *_given(hook, args, kwargs, out)), who))
    return calls
