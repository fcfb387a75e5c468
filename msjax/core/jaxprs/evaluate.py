"""Evaluates jaxprs step by step: those equations that nothing is to be known of together, the others by a visitor."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import jax.extend.core as jex

from msjax.core.base import jax_slots


@dataclass
class Plain:
    """Equations that stay as they are, as one function."""

    run: Callable[..., Any]
    invars: list[jex.Var]
    outvars: list[jex.Var]
    eqns: Sequence[jex.JaxprEqn]


def in_groups(eqns: Sequence[jex.JaxprEqn], step_of: Callable[[int, jex.JaxprEqn], Any]) -> list[Any]:
    """The steps of equations, in which those that have none stand together, as lists.

    Args:
        step_of: from the number of an equation and the equation to its step, or to None.
    """
    steps: list[Any] = []
    for i, eqn in enumerate(eqns):
        step = step_of(i, eqn)
        if step is not None:
            steps.append(step)
        elif steps and isinstance(steps[-1], list):
            steps[-1].append(eqn)
        else:
            steps.append([eqn])
    return steps


def segments(jaxpr: jex.Jaxpr, steps: Sequence[Any]) -> list[Any]:
    """The steps, in which lists of equations have become Plain ones."""
    needed = {v for v in jaxpr.outvars if not isinstance(v, jex.Literal)}
    out = []
    for step in reversed(steps):
        if isinstance(step, list):
            step = plain(step, needed)
            needed.update(step.invars)
        else:
            needed.update(v for v in step.eqn.invars if not isinstance(v, jex.Literal))
        out.append(step)
    return out[::-1]


def plain(eqns: Sequence[jex.JaxprEqn], needed: Collection[jex.Var]) -> Plain:
    """Equations as one function, which returns those of their results that are in `needed`."""
    made = dict.fromkeys(v for eqn in eqns for v in eqn.outvars)
    used = dict.fromkeys(v for eqn in eqns for v in eqn.invars if not isinstance(v, jex.Literal))
    invars = [v for v in used if v not in made]
    outvars = [v for v in made if v in needed]
    part = jax_slots.jaxpr_of(invars, outvars, eqns, "capture")
    return Plain(jex.jaxpr_as_fun(jex.ClosedJaxpr(part, ())), invars, outvars, eqns)


def walk(
    closed: jex.ClosedJaxpr, steps: Sequence[Any], args: Sequence[Any], visit: Callable[[Any, list[Any]], Sequence[Any]]
) -> list[Any]:
    """The results of a jaxpr, evaluated step by step.

    Args:
        steps: the Plain ones are run as they are; none for a jaxpr that stays as it is.
        visit: from any other step and the inputs of its equation to the equation's results; called in the equation's own context.
    """
    if not steps:
        return list(jex.jaxpr_as_fun(closed)(*args))
    jaxpr = closed.jaxpr
    env: dict[jex.Var, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *args)))

    def read(v):
        return v.val if isinstance(v, jex.Literal) else env[v]

    for step in steps:
        if isinstance(step, Plain):
            outs, outvars = step.run(*[env[v] for v in step.invars]), step.outvars
        else:
            ins, outvars = [read(v) for v in step.eqn.invars], step.eqn.outvars
            with jax_slots.context_of(step.eqn):
                outs = visit(step, ins)
        env.update(zip(outvars, outs))
    return [read(v) for v in jaxpr.outvars]


def bind(eqn: jex.JaxprEqn, values: Sequence[Any]) -> list[Any]:
    """The results of one equation as it stands, of values for all its inputs."""
    invars: list[Any] = [jex.Var(v.aval) for v in eqn.invars]
    outvars = [jex.Var(v.aval) for v in eqn.outvars]
    one = jax_slots.jaxpr_of(invars, outvars, [eqn.replace(invars=invars, outvars=outvars)], "equation")
    return list(jex.jaxpr_as_fun(jex.ClosedJaxpr(one, ()))(*values))
