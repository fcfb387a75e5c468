"""Levels: traced programs whose values are all computed and kept, so that one can go back from a result to what it comes from.

A `Plan` is a jaxpr as one list of steps, in which calls that only group equations (jit, checkpoint, custom_jvp and the like) are
opened. A `Level` is a plan with the values of one run of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.extend.core as jex
import numpy as np

from msjax.core.base import jax_slots
from msjax.core.base.compiler_options import platform_of, quick_options
from msjax.core.base.libraries import is_own
from msjax.core.hooks.places import place_p
from msjax.core.jaxprs.control_flow import body_in_place_of, scan_steps
from msjax.core.jaxprs.evaluate import bind

# So many equations, and so many bytes of results, are one program at most; so many bytes of a level are kept.
_EQUATIONS, _BYTES, _KEPT = 200, 1 << 28, 1 << 30
# A program that computes at most so many numbers is run sooner than it is optimized; so often, a loop without a known end may run.
_SOON, _OFTEN = 1 << 26, 1000


class Literal(NamedTuple):
    """A value that the program itself has."""

    value: Any


class PlannedEquation(NamedTuple):
    """An equation of a plan.

    Attributes:
        ins, outs: the numbers of its values in the plan; a Literal for one that the program itself has.
        stack: the names that jax gives to where it is, those of the equations around it included.
        traceback: the calls that led to it; if it is in a function of jax's own, those that led to its call.
    """

    eqn: Any
    ins: tuple[Any, ...]
    outs: tuple[int, ...]
    stack: str
    traceback: Any


class Plan:
    """A jaxpr as one list of steps.

    Args:
        stack: the names of where it is.
        traceback: the calls that led to it, if it is in a function of jax's own.

    Attributes:
        constants: {number: value}.
        inputs: numbers.
        outputs: numbers and Literals.
        producer: {number: (number of the step, which of its results)}.
    """

    def __init__(self, closed: jex.ClosedJaxpr, stack: str, traceback: Any):
        self.steps: list[PlannedEquation] = []
        self.constants: dict[int, Any] = {}
        self.avals: list[Any] = []
        self.inputs = [self._new(v.aval) for v in closed.jaxpr.invars]
        self.outputs = self._open(closed, self.inputs, stack, traceback)
        self.producer = {out: (i, o) for i, step in enumerate(self.steps) for o, out in enumerate(step.outs)}
        self.parts = self._parts()

    def _new(self, aval):
        self.avals.append(aval)
        return len(self.avals) - 1

    def _open(self, closed, given, stack, traceback):
        env = dict(zip(closed.jaxpr.invars, given))
        for var, value in zip(closed.jaxpr.constvars, closed.consts):
            env[var] = self._new(var.aval)
            self.constants[env[var]] = value

        def read(v):
            return Literal(v.val) if isinstance(v, jex.Literal) else env[v]

        for eqn in closed.jaxpr.eqns:
            ins = [read(v) for v in eqn.invars]
            here, at = f"{stack}/{jax_slots.name_stack_of(eqn)}", traceback or jax_slots.traceback_of(eqn)
            if eqn.primitive is place_p:
                # Another name for its operands.
                env.update(zip(eqn.outvars, ins))
                continue
            inner = body_in_place_of(eqn)
            if inner is not None:
                own = is_own(jax_slots.file_of(inner))
                outs = self._open(inner, ins, here, at if own or traceback is not None else None)
            else:
                outs = [self._new(v.aval) for v in eqn.outvars]
                self.steps.append(PlannedEquation(eqn, tuple(ins), tuple(outs), here, at))
            env.update(zip(eqn.outvars, outs))
        return [read(v) for v in closed.jaxpr.outvars]

    def _parts(self):
        """The steps, in order, cut into `_CompiledEquations` of so many equations and bytes of results at most."""
        parts, size = [[]], 0
        for i, step in enumerate(self.steps):
            more = sum(_bytes(self.avals[out]) for out in step.outs)
            if parts[-1] and (len(parts[-1]) >= _EQUATIONS or size + more > _BYTES):
                parts.append([])
                size = 0
            parts[-1].append(i)
            size += more
        return [_CompiledEquations(self, part) for part in parts if part]


class _CompiledEquations:
    """Some steps of a plan, as one compiled program that returns all that they compute."""

    def __init__(self, plan, numbers):
        steps = [plan.steps[i] for i in numbers]
        self.outs = [out for step in steps for out in step.outs]
        made = set(self.outs)
        needed = dict.fromkeys(v for step in steps for v in step.ins if not isinstance(v, Literal))
        self.ins = [v for v in needed if v not in made]
        self.has_effects = any(step.eqn.effects for step in steps)
        self._steps = steps

    @functools.cached_property
    def program(self):
        return run_once(functools.partial(self.compute, effects=True), [step.eqn for step in self._steps])

    @functools.cached_property
    def again(self):
        """The program without what only has effects."""
        return run_once(self.compute, [step.eqn for step in self._steps]) if self.has_effects else self.program

    def compute(self, given, effects=False):
        env = dict(zip(self.ins, given))
        for step in self._steps:
            if not (effects or step.outs):
                continue
            env.update(zip(step.outs, run_equation(step.eqn, [v.value if isinstance(v, Literal) else env[v] for v in step.ins])))
        return [env[out] for out in self.outs]


def run_once(fn: Callable[..., Any], eqns: Sequence[Any], times: int = 1) -> Callable[..., Any]:
    """A function of arrays as a program that is run once or twice, so that compiling it is what takes long; it computes `eqns` so many times."""
    options, level = dict(quick_options()), "xla_backend_optimization_level"
    if level in options and times * _numbers(eqns) <= _SOON:
        options[level] = 0
    plain = jax.jit(fn)
    if not options:
        return plain
    quick = jax.jit(fn, compiler_options=options)
    return lambda *values: (quick if platform_of(jax.tree.leaves(values)) == "cpu" else plain)(*values)


def _numbers(eqns):
    """How many numbers equations compute, those in loops as often as they run."""
    total = 0
    for eqn in eqns:
        times = len(scan_steps(eqn)) if eqn.primitive.name == "scan" else _OFTEN if eqn.primitive.name == "while" else 1
        total += times * sum(_numbers(inner.eqns) for inner in jax_slots.inner_jaxprs(eqn))
        total += sum(int(np.prod(getattr(v.aval, "shape", ()))) for v in eqn.outvars)
    return total


def run_equation(eqn: jex.JaxprEqn, values: Sequence[Any]) -> list[Any]:
    """The results of one equation in its own context, of values for all its inputs."""
    with jax_slots.context_of(eqn):
        return bind(eqn, values)


class Level:
    """The values of one run of a plan, on given inputs; with `effects`, callbacks in it are called."""

    def __init__(self, plan: Plan, given: Sequence[Any], effects: bool = False):
        self.plan = plan
        self._values: dict[int, Any] = {**plan.constants, **dict(zip(plan.inputs, given))}
        self._part_of = {out: part for part in plan.parts for out in part.outs}
        last = {v: i for i, part in enumerate(plan.parts) for v in part.ins}
        last.update({v: len(plan.parts) for v in plan.outputs if not isinstance(v, Literal)})
        kept = 0
        for i, part in enumerate(plan.parts):
            self._compute(part, part.program if effects else part.again)
            kept += sum(_bytes(plan.avals[out]) for out in part.outs)
            if kept > _KEPT:
                for out in part.outs:
                    if last.get(out, -1) <= i:
                        del self._values[out]

    def _compute(self, part, program):
        self._values.update(zip(part.outs, program([self._values[v] for v in part.ins])))

    def read(self, value: int | Literal) -> Any:
        """The value of a number of the plan."""
        if isinstance(value, Literal):
            return value.value
        if value not in self._values:
            part = self._part_of[value]
            for needed in part.ins:
                self.read(needed)
            self._compute(part, part.again)
        return self._values[value]

    def run(self, step: PlannedEquation, values: Sequence[Any]) -> list[Any]:
        """The results of a step, of other values for its inputs."""
        return run_equation(step.eqn, values)


def _bytes(aval):
    size = int(np.prod(getattr(aval, "shape", ())))
    return size * getattr(getattr(aval, "dtype", None), "itemsize", 4)
