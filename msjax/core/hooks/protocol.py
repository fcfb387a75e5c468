"""The protocol of hooks: the order in which hooks run around one call.

Forward pre hooks, the backward node on the inputs, the function, the backward node on the outputs, forward hooks, the
backward pre node; `msjax.core.hooks.settings.Rules` says where the order may differ. It serves every owner of hooks: a Cell, a module
of another framework, a plain function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.core.base.calls import in_program
from msjax.core.base.errors import where
from msjax.core.base.state import STATE
from msjax.core.hooks.batching import CALLBACKS
from msjax.core.hooks.boundaries import call_after_failure
from msjax.core.hooks.delivery import FORWARD, FORWARD_PRE, NOW
from msjax.core.hooks.frame import CallFrame
from msjax.core.hooks.returns import forward_pre_result
from msjax.core.hooks.table import HookTable
from msjax.core.hooks.values import Values


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
    frame, delivery = CallFrame(subject, table_of, values), STATE.delivery
    if delivery is NOW and values.has_tracers(args, kwargs):
        delivery = CALLBACKS
    table, out, pending = table_of(subject), None, None
    # Where the program's run is what may fail.
    boundary = delivery.boundary(values) if table.always_called else None
    try:
        if boundary is not None:
            _may_fail(boundary, table.forward, frame, args, kwargs, None)
        if table.forward_pre:
            for number, hook in enumerate(table.forward_pre):
                if boundary is not None and number:
                    _may_fail(boundary, table.forward, frame, args, kwargs, None)
                given = (args, kwargs) if hook.with_kwargs else (args,)
                result, (args, kwargs) = delivery.run(frame, FORWARD_PRE, hook, given, (args, kwargs), number)
                new = forward_pre_result(values, hook, result, args, kwargs)
                # The new arguments may not be computed from those that an observer has seen.
                args, kwargs = new if new[0] is args else delivery.after(values, new)
            table = table_of(subject)
        pending = list(table.forward)
        inputs = values.on_inputs(frame, args) if table.backward else args
        around = frame.rules.nodes_around_forward_hooks
        if around:
            args = inputs
        if boundary is not None:
            _may_fail(boundary, pending, frame, args, kwargs, None)
        out = function(*inputs, **kwargs)
        if table.backward and not around:
            out = values.on_outputs(frame, out, pre=False)
        # Parameters may be traced although the arguments are not.
        if pending and delivery is NOW and values.has_tracers((out,)):
            delivery = CALLBACKS
        while pending:
            hook = pending.pop(0)
            if boundary is not None:
                _may_fail(boundary, pending, frame, args, kwargs, out)
            given = (args, kwargs, out) if hook.with_kwargs else (args, out)
            result, out = delivery.run(frame, FORWARD, hook, given, out, len(table.forward) - len(pending) - 1)
            if result is not None and not values.is_nothing(result):
                out = delivery.after(values, result)
        if table.backward and around:
            out = values.on_outputs(frame, out, pre=False)
    except Exception:
        if boundary is not None:
            boundary.end()
        if boundary is None or not in_program():  # code that fails while msjax compiles it runs in PyNative mode
            for hook in table_of(subject).forward if pending is None else pending:
                if hook.always_call:
                    given = (args, kwargs, out) if hook.with_kwargs else (args, out)
                    call_after_failure(delivery.run, (frame, FORWARD, hook, given, out), _always(hook))
        raise
    if boundary is not None:
        boundary.end()
    return values.on_outputs(frame, out, pre=True) if table.backward_pre else out


def _may_fail(boundary, hooks, frame, args, kwargs, out):
    """From here on, those of the hooks run if an event fails that have always_call=True, and are not declared part of the program."""
    hooks = [hook for hook in hooks if hook.always_call and not hook.traced]
    given = [(args, kwargs, out) if hook.with_kwargs else (args, out) for hook in hooks]
    boundary.pending([hook.fn for hook in hooks], frame.head(), given, [*map(_always, hooks)])


def _always(hook):
    return f"The forward hook {hook.name} (always_call=True){where()}"
