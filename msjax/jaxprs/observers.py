"""The hook calls of a traced program as outputs of the program: the hooks are called after each run, in program order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.extend.core as jex
import jax.numpy as jnp

from msjax.base import jax_slots
from msjax.base.typing import JaxArray
from msjax.hooks import worker
from msjax.hooks.batching import CallsAsOutputs, Delivery
from msjax.hooks.places import Edits, Measure
from msjax.hooks.primitive import hook_p
from msjax.jaxprs.control_flow import Once, Rule, devices, inline, one_body, rules
from msjax.jaxprs.interpreter import Interpreter, Program
from msjax.jaxprs.plan import Block, Found, Here, Inside, Plain, Planner, Shape, close


class Arrived(Delivery):
    """One hook site of such a program.

    Where its values can't leave the program (in the body of a while_loop), a callback brings them: it puts the call into a
    queue, and the hook is called from there when the calls before it have been made.
    """

    def __call__(self, values: Sequence[Any]) -> None:
        _QUEUE.append((self, list(values)))

    def call(self, values: Sequence[Any]) -> None:
        """Call the hook."""
        super().__call__(values)


# What callbacks have brought: (hook site, its values). One for all programs, since they may share functions with a jit of their own.
_QUEUE = deque()


# ---- what happens after a run


class Call(NamedTuple):
    """One call of a hook.

    Attributes:
        site: the `Arrived`.
        values: the numbers of its values among the outputs.
        count: the number of the output that says how often the program passed the place; None if it always passes it once.
        lanes: how many vmaps are around it.
    """

    site: Arrived
    values: tuple[int, ...]
    count: int | None
    lanes: int


class Loop(NamedTuple):
    """What happens in each step of a scan, or on each device of a shard_map."""

    steps: range
    events: list[Any]


class FromCallbacks(NamedTuple):
    """Here the hooks at some sites are called, with the values that callbacks brought."""

    sites: set[Arrived]


class AfterRun:
    """What happens after each run of a program.

    Args:
        events: Calls, Loops and FromCallbacks, in program order.
    """

    def __init__(self, events: list[Any]):
        self.events = events
        self.flat: bool = all(isinstance(e, Call) and e.count is None and not e.lanes for e in events)
        self.waits: bool = _has_callbacks(events)

    def __call__(self, outputs: Sequence[JaxArray]) -> None:
        if self.flat:
            for site, values, *_ in self.events:
                site.call([outputs[n] for n in values])
            return
        if self.waits:
            jax.block_until_ready(outputs)
            worker.flush()
        try:
            self._happen(self.events, _Rows(outputs), ())
            if self.waits:
                self._from_callbacks(None)
        finally:
            if self.waits:
                _QUEUE.clear()  # of a hook that raised

    def _happen(self, events, outputs, index):
        for event in events:
            if isinstance(event, Loop):
                for i in event.steps:
                    self._happen(event.events, outputs, (*index, i))
            elif isinstance(event, FromCallbacks):
                self._from_callbacks(event.sites)
            elif event.count is None or outputs.count(event.count, index):
                _each(event.site.call, [outputs.at(n, index) for n in event.values], event.lanes)

    def _from_callbacks(self, sites):
        # A site that comes again later, in another loop, waits for its turn.
        while _QUEUE and (sites is None or _QUEUE[0][0] in sites):
            site, values = _QUEUE.popleft()
            site.call(values)


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


def _has_callbacks(events):
    return any(isinstance(e, FromCallbacks) or (isinstance(e, Loop) and _has_callbacks(e.events)) for e in events)


def _rows(value, depth):
    return value if depth == 0 else [_rows(row, depth - 1) for row in value]


def _each(call, values, lanes):
    if lanes:
        for row in zip(*values):
            _each(call, row, lanes - 1)
    else:
        call(values)


# ---- which values leave the program


class _Planner(Planner):
    """Plans that the values of hook calls leave the program."""

    def __init__(self):
        super().__init__(_RULES, lambda *names: False)
        self.seen = set()

    def _step(self, eqn, path, line, barrier, hidden):
        if eqn.primitive is not hook_p:
            return super()._step(eqn, path, line, barrier or _barrier(eqn), hidden)
        sites = {call.delivery for call in eqn.params["calls"]}
        # What the backward pass computes again calls no hook again; but backward hooks stand there for the first time.
        repeated = hidden and sites <= self.seen
        if not hidden:
            self.seen |= sites
        if barrier is not None and not repeated:
            return None
        avals = [] if repeated else [eqn.invars[i].aval for i in _used(eqn)]
        measures, shapes = (Measure(None),) * len(avals), tuple(map(Shape.of, avals))
        return Here(eqn, Found("", "repeated" if repeated else "hook", None, measures, (), shapes, (), ()))


def _used(eqn):
    """The numbers of the operands of a hook_p that hooks get; the others are results of earlier calls."""
    return sorted({i for call in eqn.params["calls"] for i in call.at})


class _Interpreter(Interpreter):
    def _here(self, step, ins, index, probes):
        values = [] if step.found.kind == "repeated" else [ins[i] for i in _used(step.eqn)]
        return [jnp.zeros((), bool)], values


def _checkpoint_again(interpreter, step, ins, index, probes):
    """A checkpoint in a backward pass; jax.checkpoint itself has no word for that."""
    once, eqn = Once(), step.eqn
    if not eqn.params["differentiated"]:
        return rules()["checkpoint"].run(interpreter, step, ins, index, probes)

    def body(*ins):
        outs, got = interpreter.run(step.blocks[0], ins, index, probes)
        return [*outs, *once.packed(got)]

    closed = jax.make_jaxpr(body)(*ins)
    params = {**eqn.params, "jaxpr": jax_slots.with_constants_as_inputs(closed.jaxpr)}
    if isinstance(params["prevent_cse"], tuple):
        params["prevent_cse"] = (True,) * len(closed.consts) + params["prevent_cse"]
    outs = eqn.primitive.bind(*closed.consts, *ins, **params)
    n = len(eqn.outvars)
    return outs[:n], once.unpacked(outs[n:])


_CHECKPOINT = rules()["checkpoint"]
_RULES = {
    **rules(),
    **dict.fromkeys(("remat2", "checkpoint"), Rule(_CHECKPOINT.bodies, _checkpoint_again)),
    # Nobody differentiates the program any more.
    "custom_jvp_call": Rule(one_body("call_jaxpr"), inline),
    "custom_vjp_call": Rule(one_body("call_jaxpr"), inline),
}


def _barrier(eqn):
    # The number of steps of a while_loop is unknown, so its values can't become outputs. All hooks in a loop around it are then
    # called by callbacks, to keep their order.
    if eqn.primitive.name == "while" or (eqn.primitive.name in _LOOPS and _while_with_hooks(eqn)):
        return "a while_loop"
    return None


def _while_with_hooks(eqn):
    inner = [e for jaxpr in jax_slots.inner_jaxprs(eqn.params) for e in close(jaxpr).jaxpr.eqns]
    return any((e.primitive.name == "while" and any(_sites_in([e]))) or _while_with_hooks(e) for e in inner)


_LOOPS = ("scan", "shard_map")


def _events(block: Block, numbers: Iterable[list[int]]) -> list[Any]:
    """What happens after a run of a Block.

    Args:
        numbers: of each of `block.found`, the numbers of its values among the outputs.
    """
    events, numbers = [], iter(numbers)
    if not block.steps:
        return _callbacks_in(block.closed.jaxpr.eqns)
    for step in block.steps:
        if isinstance(step, Plain):
            events += _callbacks_in(step.eqns)
        elif isinstance(step, Here):
            values = next(numbers)
            if step.found.kind == "hook":
                events += _calls(step.eqn, values)
        elif isinstance(step, Inside):
            events += _inside(step, [next(numbers) for _ in step.found])
    return events


def _calls(eqn, values):
    used = _used(eqn)
    count = values[-1] if len(values) > len(used) else None
    for call in eqn.params["calls"]:
        yield Call(call.delivery, tuple(values[used.index(i)] for i in call.at), count, call.lanes)


def _inside(step, numbers):
    name, params = step.eqn.primitive.name, step.eqn.params
    events, at = [], 0
    for block in step.blocks:
        n = len(block.found)
        events += _events(block, numbers[at : at + n])
        at += n
    if name == "scan":
        steps = range(params["length"])
        return [Loop(steps[::-1] if params["reverse"] else steps, events)]
    if name == "shard_map":
        return [Loop(range(devices(step.eqn)[1]), events)]
    return events


def _callbacks_in(eqns):
    sites = set(_sites_in(eqns))
    return [FromCallbacks(sites)] if sites else []


def _sites_in(eqns):
    for eqn in eqns:
        if eqn.primitive is hook_p:
            yield from (call.delivery for call in eqn.params["calls"])
        for jaxpr in jax_slots.inner_jaxprs(eqn.params):
            yield from _sites_in(close(jaxpr).jaxpr.eqns)


# ---- the program


class Observed:
    """What a program hands out for the hooks: a pytree of its values, in which what happens after a run is static."""

    def __init__(self, values: Sequence[Any] = (), after: AfterRun | None = None):
        self.values = values
        self.after = after


jax.tree_util.register_pytree_node(Observed, lambda o: (o.values, o.after), lambda after, values: Observed(values, after))


def with_observed(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Observed]:
    """(the result of a function of arrays, what it hands out for the hooks within); to be called under jax.jit."""
    program = Program(fn, args, kwargs, calls_as_outputs())
    outs, observed = observing(program.closed)(program.inputs)
    return program.result(outs), observed


def calls_as_outputs() -> CallsAsOutputs:
    """The context in which a program is traced that `observing` evaluates."""
    return CallsAsOutputs(Arrived)


def observing(closed: jex.ClosedJaxpr) -> Callable[[Sequence[Any]], tuple[list[Any], Observed]]:
    """From a program, traced in `calls_as_outputs`, to a function of its inputs that returns (its outputs, an `Observed`)."""
    block = _Planner().block(closed)

    def run(inputs):
        outs, got = _Interpreter(_RULES, Edits()).run(block, inputs)
        once = Once()
        values = once.packed(got)
        events = _events(block, once.numbers)
        return outs, Observed(values, AfterRun(events)) if events else Observed()

    return run
