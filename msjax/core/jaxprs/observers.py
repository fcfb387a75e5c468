"""The events of a traced program as outputs of the program, so that they happen after each run, in program order."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_float, rows_of
from msjax.core.base.jax_slots import inner_equations
from msjax.core.base.state import VERSION
from msjax.core.base.typing import JaxArray
from msjax.core.hooks.batching import COLLECTED, CallsAsOutputs, hook_p
from msjax.core.hooks.events import NOBODY, Event, Standing, Template, in_lists
from msjax.core.hooks.places import Measure
from msjax.core.jaxprs.control_flow import FINAL_RULES, Once, devices, scan_steps
from msjax.core.jaxprs.evaluate import Plain
from msjax.core.jaxprs.interpreter import Interpreter, Program
from msjax.core.jaxprs.plan import Block, Found, Here, Inside, Planner, Shape

# ---- what happens after each run: the events, in program order


class Happens(NamedTuple):
    """One event.

    Attributes:
        values: the numbers of its values among those of all events.
        count: the number of the value that says how often the program passed the place; None if it always passes it once.
        lanes: how many vmaps are around it.
    """

    event: Event
    values: tuple[int, ...]
    count: int | None
    lanes: int


class Loop(NamedTuple):
    """What happens in each step of a scan, or on each device of a shard_map."""

    steps: range
    events: list[Any]


class FromCallbacks(NamedTuple):
    """Here some events happen, with the values that callbacks brought."""

    events: dict[Event, None]


class AfterRun:
    """The function that runs after each run of a program.

    Args:
        events: Happens, Loop and FromCallbacks objects, in program order.
        result (Template, optional): what the function returns.
        holes: the numbers of the outputs for the result.
        numbers (optional): of each of the events' values, which output it is. Default: they are the outputs, in their order.
    """

    def __init__(
        self,
        events: Sequence[Any],
        result: Template | None = None,
        holes: Sequence[int] = (),
        numbers: Sequence[int] | None = None,
    ):
        self._waits_for = frozenset(_events_of(events)) if FromCallbacks in map(type, _leaves(events)) else None
        self._make, self._numbers = None if result is None else result.filled_from(holes), numbers
        # Events that happen once in each run, as nearly all do, with a function of the outputs that makes their arguments; all else.
        self._entries: list[tuple[Any, Any]] = []
        for entry in sorted(events, key=lambda e: -e.event.first if isinstance(e, Happens) else 0):
            if isinstance(entry, Happens) and entry.count is None and not entry.lanes:
                at = [n if numbers is None else numbers[n] for n in entry.values]
                self._entries.append((entry.event, entry.event.args.filled_from(at)))
            else:
                self._entries.append((entry, None))
        calls = [entry for entry, fill in self._entries if fill is not None]
        # Of each call, how many observers are looked up with it: none behind the first of a list.
        self._calls = [(call, len(together) if call is together[0] else 0) for together in in_lists(calls) for call in together]
        self._hooks: tuple[int, list[Any]] = -1, []
        self._others = dict.fromkeys(_events_of([entry for entry, fill in self._entries if fill is None]))

    def __call__(self, outputs: Sequence[JaxArray]) -> Any:
        if self._waits_for is not None:
            jax.block_until_ready(outputs)
            jax.effects_barrier()
        if self._hooks[0] != VERSION.n:  # otherwise they are those of the latest run, which a program doesn't keep
            self._hooks = VERSION.n, [weakref.ref(call.hook()) for call, _ in self._calls]
        version, hooks = self._hooks
        fns, at = [(hook() or NOBODY).fn for hook in hooks], 0
        standing: Any = self._others and Standing(self._others)
        try:
            for entry, fill in self._entries:
                if fill is None:
                    rows = _Rows(outputs if self._numbers is None else [outputs[n] for n in self._numbers])
                    _happen([entry], rows, (), standing)
                    continue
                if VERSION.n != version:  # an observer has removed itself, or others
                    together = self._calls[at : at + self._calls[at][1]]
                    fns[at : at + len(together)] = [call.hook().fn for call, _ in together]
                entry.call(fns[at], fill(outputs))
                at += 1
            while self._waits_for is not None and COLLECTED:
                event, values = COLLECTED.popleft()
                if event in self._waits_for:  # otherwise a run of another program has left it that was given up
                    standing(event, values)
        finally:
            if self._waits_for is not None:
                COLLECTED.clear()  # of an event that failed
        return None if self._make is None else self._make(outputs)


def _leaves(entries):
    """The Happens and FromCallbacks objects, those in loops, too."""
    found = []
    for entry in entries:
        found += _leaves(entry.events) if isinstance(entry, Loop) else [entry]
    return found


def _events_of(entries):
    return [e for leaf in _leaves(entries) for e in ((leaf.event,) if isinstance(leaf, Happens) else leaf.events)]


def _happen(events, outputs, index, standing):
    for event in events:
        if isinstance(event, Loop):
            for i in event.steps:
                _happen(event.events, outputs, (*index, i), standing)
        elif isinstance(event, FromCallbacks):
            # An event that comes again later, in another loop, waits for its turn.
            while COLLECTED and COLLECTED[0][0] in event.events:
                standing(*COLLECTED.popleft())
        elif event.count is None or outputs.count(event.count, index):
            standing(event.event, [outputs.at(n, index) for n in event.values], event.lanes)


class _Rows:
    """The outputs of one run. The steps of a loop are taken out of an array all at once: to index an array of jax costs more than most
    hooks do."""

    def __init__(self, outputs):
        self.outputs = outputs
        self.rows = {}

    def count(self, n, index):
        """Output number `n`, which says how often a place in a cond was passed; loops within the cond have no axis in it."""
        return self.at(n, index[: self.outputs[n].ndim])

    def at(self, n, index):
        """Output number `n`, in these steps of the loops around it."""
        if not index:
            return self.outputs[n]
        rows = self.rows.get(n)
        if rows is None:
            rows = self.rows[n] = _rows(self.outputs[n], len(index))
        for i in index:
            rows = rows[i]
        return rows


def _rows(value, depth):
    return value if depth == 0 else [_rows(row, depth - 1) for row in rows_of(value)]


# ---- which values leave the program


class _EventPlanner(Planner):
    """Plans that the values of hook calls leave the program."""

    def __init__(self):
        super().__init__(FINAL_RULES, lambda *names: False)
        self.seen = set()

    def _step(self, eqn, path, line, barrier, hidden):
        if eqn.primitive is not hook_p:
            return super()._step(eqn, path, line, barrier or _barrier(eqn), hidden)
        events = {bound.event for bound in eqn.params["bound"]}
        # What the backward pass computes again calls no hook again; but backward hooks stand there for the first time.
        repeated = hidden and events <= self.seen
        if not hidden:
            self.seen |= events
        if barrier is not None and not repeated:
            return None
        avals = [] if repeated else [eqn.invars[i].aval for i in _used(eqn)]
        measures, shapes = (Measure(None),) * len(avals), tuple(map(Shape.of, avals))
        return Here(eqn, Found("", "repeated" if repeated else "hook", None, measures, (), shapes, (), ()))


def _used(eqn):
    """The numbers of the operands of a hook_p that events need; the others are results of earlier ones."""
    return sorted({i for bound in eqn.params["bound"] for i in bound.at})


class _EventInterpreter(Interpreter):
    def _here(self, step, ins, index, probes):
        values = [] if step.found.kind == "repeated" else [ins[i] for i in _used(step.eqn)]
        return [jnp.zeros((), bool)], values


def _barrier(eqn):
    # The number of steps of a while_loop is unknown, so its values can't become outputs. All hooks in a loop around it are then
    # called by callbacks, to keep their order.
    if eqn.primitive.name == "while" or (eqn.primitive.name in ("scan", "shard_map") and _while_with_hooks(eqn)):
        return "a while_loop"
    return None


def _while_with_hooks(eqn):
    return any((e.primitive.name == "while" and any(_events_in([e]))) or _while_with_hooks(e) for e in inner_equations(eqn))


def _events(block: Block, numbers: Iterator[list[int]]) -> list[Any]:
    """The events of a Block, as Happens, Loop and FromCallbacks objects.

    Args:
        numbers: of each of `block.found`, the numbers of its values among the outputs; those of what comes after the Block stay.
    """
    if not block.steps:
        return _callbacks_in(block.closed.jaxpr.eqns)
    events = []
    for step in block.steps:
        if isinstance(step, Plain):
            events += _callbacks_in(step.eqns)
        elif isinstance(step, Here):
            values = next(numbers)
            if step.found.kind == "hook":
                events += _happening(step.eqn, values)
        elif isinstance(step, Inside):
            events += _inside(step, numbers)
    return events


def _happening(eqn, values):
    used = _used(eqn)
    count = values[-1] if len(values) > len(used) else None
    for bound in eqn.params["bound"]:
        yield Happens(bound.event, tuple(values[used.index(i)] for i in bound.at), count, bound.lanes)


def _inside(step, numbers):
    name = step.eqn.primitive.name
    events = [event for block in step.blocks for event in _events(block, numbers)]
    if name == "scan":
        return [Loop(scan_steps(step.eqn), events)]
    if name == "shard_map":
        return [Loop(range(devices(step.eqn)[1]), events)]
    return events


def _callbacks_in(eqns):
    events = dict.fromkeys(_events_in(eqns))
    return [FromCallbacks(events)] if events else []


def _events_in(eqns):
    for eqn in eqns:
        if eqn.primitive is hook_p:
            yield from (bound.event for bound in eqn.params["bound"])
        yield from _events_in(inner_equations(eqn))


# ---- the program


@jax.tree_util.register_dataclass
@dataclass(eq=False)
class Observed:
    """What a program hands out for its events: a pytree of their values, whose static part is the `AfterRun`."""

    values: Sequence[Any] = ()
    after: AfterRun | None = field(default=None, metadata={"static": True})


def with_observed(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Observed]:
    """(the result of a function of arrays, what it hands out for the events within); to be called under jax.jit."""
    program = Program(fn, args, kwargs, CallsAsOutputs())
    observing = Observing(program.closed)
    outs, values = observing.run(program.inputs)
    return program.result(outs), Observed(values, AfterRun(observing.events)) if observing.events else Observed()


# From so many equations on, jax is given them as they are: to evaluate each of them again takes a tenth of MobileNetV3's first step.
_MANY = 500


# What may be another value each time, or stands there so that something is computed again.
_NOT_THE_SAME = {"optimization_barrier", "rng_uniform"}


def _without_repetitions(eqns, outvars):
    """(equations, results) that compute the same: of equal equations the first, and none whose results nobody needs.

    Gradients of gradients compute most values several times: three quarters of the equations of a PINN's step go.
    """
    needed, live = {v for v in outvars if not isinstance(v, jex.Literal)}, []
    for eqn in reversed(eqns):
        if eqn.effects or not needed.isdisjoint(eqn.outvars):
            live.append(eqn)
            needed.update(v for v in eqn.invars if not isinstance(v, jex.Literal))
    same, first, kept = {}, {}, []
    for eqn in reversed(live):
        eqn = _renamed(eqn, same)
        earlier = eqn.outvars if eqn.effects else first.setdefault(_computed(eqn), eqn.outvars)
        # A result that nobody needs may have no name.
        if earlier is eqn.outvars or any(b in needed and a not in needed for a, b in zip(earlier, eqn.outvars)):
            kept.append(eqn)
        else:
            same.update(zip(eqn.outvars, earlier))
    return kept, _renamed_all(outvars, same)


def _computed(eqn):
    """A key: equal for equations without effects that compute the same."""
    operands = [(v.aval, np.asarray(v.val).tobytes()) if isinstance(v, jex.Literal) else v for v in eqn.invars]
    key = eqn.primitive, eqn.ctx, *operands, *sorted(eqn.params.items())
    try:
        return object() if eqn.primitive.name in _NOT_THE_SAME or hash(key) is None else key
    except TypeError:  # a parameter that can't be compared
        return object()


def _is_replaced(eqn):
    """Whether an equation, or one in it, is of a high-level primitive, which jax replaces where it evaluates it."""
    return eqn.primitive.is_high(*[v.aval for v in eqn.invars], **eqn.params) or any(map(_is_replaced, inner_equations(eqn)))


# Of so many elements, what observers get is read from memory where it is used. By default, each kernel of XLA computes anew what it reads of
# cheap operations, though it lies in memory as a result: LeNet-5 with observers on every leaf, 32 images, took 1.16 to 1.24 of the time
# without them, and takes 1.04 to 1.10. Of fewer, it costs as much as it saves, or 1.15 of the time (one image).
_FROM_MEMORY = 1 << 15


def _from_memory(eqns, outvars, observed):
    """(equations, results) that compute the same, and what observers get only once."""
    read = {id(v) for eqn in eqns for v in eqn.invars}
    wanted = {id(v) for v in observed if id(v) in read and v.aval.size >= _FROM_MEMORY and is_float(v.aval)}
    if not wanted:
        return eqns, outvars
    kept, now, made = [], {}, {}
    for eqn in eqns:
        kept.append(_renamed(eqn, now))
        for v in eqn.outvars:
            if id(v) in wanted:
                if v.aval not in made:
                    made[v.aval] = jax.make_jaxpr(jax_slots.from_memory)(v.aval).jaxpr
                reading = made[v.aval]
                names = {reading.invars[0]: v}
                for each in reading.eqns:
                    new = [jex.Var(out.aval) for out in each.outvars]
                    kept.append(_renamed(each, names).replace(outvars=new))
                    names.update(zip(each.outvars, new))
                now[v] = names[reading.outvars[0]]
    return kept, _renamed_all(outvars, now)


def _renamed(eqn, names):
    return eqn.replace(invars=_renamed_all(eqn.invars, names))


def _renamed_all(variables, names):
    return [v if isinstance(v, jex.Literal) else names.get(v, v) for v in variables]


class Observing:
    """A program, traced within `CallsAsOutputs`, whose events have become outputs.

    Args:
        closed: its jaxpr.
        axes: (name, size) of the axes that its collectives run over.

    Attributes:
        events: what happens after a run: Happens, Loop and FromCallbacks objects, which name the values by their numbers.
        order: for each output of the program, and behind them for each value of the events, its number among what `compute` returns and behind
            that the inputs `passed`. The same value is there once.
        passed: the numbers of the inputs that the program, or one of its events, hands out as they are.
    """

    def __init__(self, closed: jex.ClosedJaxpr, axes: Sequence[tuple[str, int]] = ()):
        self.events: list[Any] = []
        self._own = len(closed.jaxpr.outvars)
        if any(_events_in(inner_equations(*closed.jaxpr.eqns))):
            closed, eqns, outvars = self._interpreted(closed, axes)
        else:
            eqns, outvars = self._flat(closed.jaxpr)
        many = len(eqns) >= _MANY and not any(map(_is_replaced, eqns))
        if many:
            eqns, outvars = _without_repetitions(eqns, outvars)
        invars = closed.jaxpr.invars
        numbers = {id(v): i for i, v in enumerate(invars)}
        leaving = list({id(v): v for v in outvars if id(v) not in numbers}.values())
        self.passed: list[int] = list(dict.fromkeys(numbers[id(v)] for v in outvars if id(v) in numbers))
        at = {id(v): n for n, v in enumerate([*leaving, *map(invars.__getitem__, self.passed)])}
        self.order: list[int] = [at[id(v)] for v in outvars]
        flat = jex.ClosedJaxpr(jax_slots.jaxpr_of([*closed.jaxpr.constvars, *invars], leaving, eqns, "program"), ())
        self._consts = closed.consts
        self._fn = jax_slots.inlined(flat) if many else jex.jaxpr_as_fun(flat)

    def compute(self, inputs: Sequence[Any]) -> list[Any]:
        """What the program computes for its outputs and the values of its events."""
        return list(self._fn(*self._consts, *inputs))

    def run(self, inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """(the outputs of the program, the values of the events)."""
        found = [*self.compute(inputs), *map(inputs.__getitem__, self.passed)]
        every = [found[n] for n in self.order]
        return every[: self._own], every[self._own :]

    def after_run(self, result: Template, holes: int) -> AfterRun:
        """The function that is called after each run with the outputs of `compute` and the inputs `passed`: calls the observers, returns the result.

        Args:
            result (Template): the result, whose values are the first `holes` of the program's own outputs.
        """
        return AfterRun(self.events, result, self.order[:holes], self.order[self._own :])

    def _flat(self, jaxpr):
        """(equations, results) of a program all of whose events are at its own level."""
        eqns = [eqn for eqn in jaxpr.eqns if eqn.primitive is not hook_p]
        calls = [(bound, eqn.invars) for eqn in jaxpr.eqns if eqn.primitive is hook_p for bound in eqn.params["bound"]]
        once = Once()
        more = once.packed([[operands[i] for i in bound.at] for bound, operands in calls])
        self.events = [Happens(bound.event, tuple(at), None, bound.lanes) for (bound, _), at in zip(calls, once.numbers)]
        return _from_memory(eqns, [*jaxpr.outvars, *more], more)

    def _interpreted(self, closed, axes):
        """(jaxpr, its equations, its results) of a program with events in loops and the like, evaluated anew."""

        def run(*inputs):
            block = _EventPlanner().block(closed)
            outs, got = _EventInterpreter().run(block, inputs)
            once = Once()
            values = once.packed(got)
            self.events = _events(block, iter(once.numbers))
            return [*outs, *values]

        made = jax.make_jaxpr(run, axis_env=list(axes))(*closed.in_avals)
        return made, made.jaxpr.eqns, made.jaxpr.outvars
