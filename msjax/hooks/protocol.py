"""The protocol of hooks: the order in which hooks run around one call.

Forward pre hooks, the backward node on the inputs, the function, the backward node on the outputs, forward hooks, the
backward pre node; `msjax.hooks.dialect` says where the order differs. It serves every owner of hooks: a Cell, a module
of another framework, a plain function.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from msjax.common.arrays import CONCRETE, is_tracer
from msjax.common.tensor import Tensor, tensors_in
from msjax.errors import where
from msjax.hooks.delivery import run_traced_hook
from msjax.hooks.dialect import dialect
from msjax.hooks.nodes import BackwardHooks
from msjax.hooks.returns import forward_pre_result
from msjax.hooks.worker import barrier
from msjax.state import ACTIVITY, STATE


def call_with_hooks(function: Callable[..., Any], args: Any, kwargs: Any, subject: Any, table_of: Callable[..., Any]) -> Any:
    """Call a function with the hooks of its owner around it.

    Args:
        function (callable): called with the arguments after the forward pre hooks.
        args (tuple), kwargs (dict): the arguments of the call.
        subject: the owner; hooks get it as their first argument.
        table_of (callable): returns the owner's present HookTable. A hook that a forward pre hook registers takes
            effect in the same call, and backward hooks are looked up when the gradient arrives.

    Returns:
        The function's result after the forward hooks.
    """
    rules = dialect()
    named = rules.text_of(subject) if rules.names_subject else subject
    traced = STATE.trace is not None or STATE.functional or any_traced_value(args, kwargs)
    if ACTIVITY.callbacks and not traced:
        barrier()
    table, out, pending = table_of(subject), None, None
    try:
        if table.forward_pre:
            for hook in table.forward_pre:
                args, kwargs = _run_forward_pre_hook(hook, named, args, kwargs, traced)
            table = table_of(subject)
        backward = BackwardHooks(subject, table_of) if table.backward or table.backward_pre else None
        pending = list(table.forward)
        inputs = backward.on_inputs(args) if table.backward else args  # pyright: ignore[reportOptionalMemberAccess]
        if rules.nodes_around_forward_hooks:
            args = inputs
        out = function(*inputs, **kwargs)
        # Parameters may be traced although the arguments are not.
        traced = traced or any_traced_value(out if out.__class__ is tuple else (out,), {})
        if table.backward and not rules.nodes_around_forward_hooks:
            out = backward.on_outputs(out)  # pyright: ignore[reportOptionalMemberAccess]
        if ACTIVITY.callbacks and not traced:
            barrier()
        while pending:
            out = _run_forward_hook(pending.pop(0), named, args, kwargs, out, traced)
        if table.backward and rules.nodes_around_forward_hooks:
            out = backward.on_outputs(out)  # pyright: ignore[reportOptionalMemberAccess]
    except Exception:
        for hook in table_of(subject).forward if pending is None else pending:
            if hook.always_call:
                _run_after_failure(hook, named, args, kwargs, out)
        raise
    return backward.pre_on_outputs(out) if table.backward_pre else out  # pyright: ignore[reportOptionalMemberAccess]


def any_traced_value(args: Any, kwargs: Any) -> bool:
    """Whether jax traces a Tensor among the arguments."""
    for arg in (*args, *kwargs.values()) if kwargs else args:
        tensors = (arg,) if isinstance(arg, Tensor) else () if arg.__class__ in _PLAIN else tensors_in(arg)
        for tensor in tensors:
            if tensor._value.__class__ not in CONCRETE and is_tracer(tensor._value):
                return True
    return False


# Values that can't contain Tensors.
_PLAIN = frozenset((bool, int, float, str, type(None)))


def _run_forward_pre_hook(hook, subject, args, kwargs, traced):
    given = (subject, args, kwargs) if hook.with_kwargs else (subject, args)
    if traced:
        result, (args, kwargs) = run_traced_hook(
            hook.fn, given, "forward pre hook", observe=hook.observe, traced=hook.traced, carried=(args, kwargs)
        )
    else:
        result = hook.fn(*given)
    return forward_pre_result(hook, result, args, kwargs)


def _run_forward_hook(hook, subject, args, kwargs, out, traced=False):
    given = (subject, args, kwargs, out) if hook.with_kwargs else (subject, args, out)
    if traced:
        result, out = run_traced_hook(hook.fn, given, "forward hook", observe=hook.observe, traced=hook.traced)
    else:
        result = hook.fn(*given)
    return out if result is None else result


def _run_after_failure(hook, subject, args, kwargs, out):
    """Run a forward hook that was registered with always_call=True after the call failed."""
    try:
        _run_forward_hook(hook, subject, args, kwargs, out)
    except Exception as error:
        warnings.warn(
            f"The forward hook {hook.name} (always_call=True){where()} raised {error!r}, after the call had failed already.",
            stacklevel=4,
        )
