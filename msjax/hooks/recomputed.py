"""Leaves out the hook calls that the backward pass of a jax.checkpoint would make once more."""

from __future__ import annotations

from typing import Any

import jax.extend.core as jex

from msjax.hooks.primitive import hook_p


def without_recomputed_calls(closed: jex.ClosedJaxpr) -> jex.ClosedJaxpr:
    """The same program, in which what a backward pass computes again calls no hook again.

    Its calls would come in no certain order, since no value connects them with those of the rest of the backward pass.

    Args:
        closed: a traced program.

    Returns:
        The given ClosedJaxpr if nothing is computed again in it.
    """
    return _rewritten(closed, set(), False)


def _rewritten(jaxpr, seen, recomputed):
    """A Jaxpr or ClosedJaxpr without the calls at the hook sites in `seen`, if it is `recomputed`; otherwise its sites join them."""
    if hasattr(jaxpr, "jaxpr"):
        inner = _rewritten(jaxpr.jaxpr, seen, recomputed)
        return jaxpr if inner is jaxpr.jaxpr else jex.ClosedJaxpr(inner, jaxpr.consts)
    eqns = [_equation(eqn, seen, recomputed) for eqn in jaxpr.eqns]
    return jaxpr if all(a is b for a, b in zip(eqns, jaxpr.eqns)) else jaxpr.replace(eqns=eqns)


def _equation(eqn, seen, recomputed):
    if eqn.primitive is hook_p:
        calls = eqn.params["calls"]
        if not recomputed:
            seen.update(call.delivery for call in calls)
            return eqn
        # The calls of backward hooks are there for the first time.
        first = tuple(call for call in calls if call.delivery not in seen)
        return eqn if len(first) == len(calls) else eqn.replace(params={**eqn.params, "calls": first})
    recomputed = recomputed or bool(eqn.params.get("differentiated"))
    changed = {}
    for name, value in eqn.params.items():
        new = _value(value, seen, recomputed)
        if new is not value:
            changed[name] = new
    return eqn.replace(params={**eqn.params, **changed}) if changed else eqn


def _value(value: Any, seen: set[Any], recomputed: bool) -> Any:
    """A parameter of an equation; jaxprs are parameters themselves, or members of a tuple."""
    if isinstance(value, (jex.Jaxpr, jex.ClosedJaxpr)):
        return _rewritten(value, seen, recomputed)
    if isinstance(value, tuple):
        new = tuple(_value(v, seen, recomputed) for v in value)
        # A named tuple holds no jaxpr.
        return value if all(a is b for a, b in zip(new, value)) else new
    return value
