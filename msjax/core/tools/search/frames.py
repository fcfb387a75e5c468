"""Frames: runs of the jaxprs inside of equations, into which one can go from a result of the equation.

`enter` goes into scan, while_loop, cond, shard_map, linear solves, and any equation whose jaxpr computes the same as the equation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

from msjax.core.base import jax_slots
from msjax.core.base.libraries import is_own
from msjax.core.jaxprs.control_flow import FINAL_RULES, bodies_of, devices, same_types, scan_parts, scan_steps, while_parts
from msjax.core.jaxprs.interpreter import Interpreter
from msjax.core.jaxprs.plan import Block, Found, Inside, Shape, close
from msjax.core.tools.search.levels import Level, Literal, Plan, PlannedEquation, run_equation, run_once

Index = tuple[int, ...]
# So many steps of a while_loop are kept at a time; that many steps of a loop are looked at one by one before some are left out.
_KEPT, _ONE_BY_ONE = 1024, 16


class PlanRun:
    """A run of a plan.

    Args:
        parent: the run that the equation is in; None for the whole program.
        back: from the number of an input and an index in it to (frame, number of a value, index) that it is from.
        step: the number of the iteration; None if this is no loop.
        mapped (Mapped): the shard_map that it is in, whose devices are the first axis of its values; by default that of its parent.
    """

    def __init__(
        self, level: Level, parent: PlanRun | None = None, back: Callable[[int, Index], Any] | None = None, step: int | None = None,
        mapped: Any = None,
    ):  # fmt: skip
        self.level, self.parent, self.back, self.step = level, parent, back, step
        self.mapped = parent.mapped if mapped is None and parent is not None else mapped

    def steps(self) -> Index:
        """The numbers of the iterations of the loops around, outermost first."""
        outer = () if self.parent is None else self.parent.steps()
        return outer if self.step is None else (*outer, self.step)

    def device(self, index: Index) -> str | None:
        """The device that an index in a value of this frame belongs to; None outside of shard_map."""
        return None if self.mapped is None else self.mapped.names[index[0]]


class PlanRuns:
    """Makes frames, and keeps what was computed for them; `wrong` says of an array whether it is."""

    def __init__(self, wrong: Callable[[Any], bool]):
        self.wrong = wrong
        self._kept: dict[Any, Any] = {}

    def _once(self, frame, step, name, make):
        """What `make` gives for an equation in a frame and a name; made once."""
        key = id(frame), step.outs, name
        if key not in self._kept:
            self._kept[key] = frame, make()
        return self._kept[key][1]

    def plan(self, step: PlannedEquation, jaxpr: Any) -> Plan:
        """The plan of a jaxpr inside of an equation; made once, also for other runs of the equation."""
        closed = close(jaxpr)
        key = id(closed.jaxpr), *map(id, closed.consts), step.stack
        if key not in self._kept:
            traceback = step.traceback if is_own(jax_slots.file_of(closed)) else None
            self._kept[key] = closed, Plan(closed, step.stack, traceback)
        return self._kept[key][1]

    def enter(self, frame: PlanRun, step: PlannedEquation, out: int, index: Index) -> tuple[PlanRun, Any, Index] | None:
        """Where inside of an equation an element of one of its results is from: (frame, number of a value, index); None if one can't go there."""
        name = step.eqn.primitive.name
        if frame.mapped is not None and name in ("cond", "shard_map", "while"):
            return None
        return _RULES.get(name, PlanRuns._alike)(self, frame, step, out, index)

    def simple(self, frame: PlanRun, step: PlannedEquation, plan: Plan, inputs: Sequence[int], out: int, index: Index) -> Any:
        """Go into a jaxpr that takes those inputs of the equation whose numbers are given."""

        def make():
            level = _level(frame, plan, [frame.level.read(step.ins[i]) for i in inputs])
            return PlanRun(level, frame, lambda i, index: (frame, step.ins[inputs[i]], index))

        return self._once(frame, step, (id(plan), tuple(inputs)), make), plan.outputs[out], index

    def _alike(self, frame, step, out, index):
        """Go into the only jaxpr of an equation without a rule, if running it gives the equation's results."""
        inner = jax_slots.inner_jaxprs(step.eqn)
        if len(inner) != 1 or not same_types(close(inner[0]).jaxpr, step.eqn):
            return None
        plan = self.plan(step, inner[0])
        inside, value, index = self.simple(frame, step, plan, range(len(step.ins)), out, index)
        pairs = [(inside.level.read(a), frame.level.read(b)) for a, b in zip(plan.outputs, step.outs)]
        same = all(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True) for a, b in pairs)
        return (inside, value, index) if same else None

    # ---- loops

    def scan(self, frame: PlanRun, step: PlannedEquation, out: int, index: Index) -> Any:
        (body,), steps = bodies_of(step.eqn), scan_steps(step.eqn)
        n_consts, n_carry, _ = map(len, scan_parts(step.eqn, step.ins))
        length, reverse, lead = len(steps), steps.step < 0, 0 if frame.mapped is None else 1
        if not steps:
            return frame, step.ins[n_consts + out], index
        plan = self.plan(step, body)
        values = [frame.level.read(v) for v in step.ins]
        consts, _, xs = scan_parts(step.eqn, values)

        def history():
            given = _Given(step.eqn, range(n_consts, n_consts + n_carry))
            if frame.mapped is None:
                return run_once(given, body.jaxpr.eqns, length)(values)
            return frame.mapped.run(lambda *values: given(values), values, [v.aval for v in step.eqn.invars], given.avals)

        carries = self._once(frame, step, "history", history)

        def at(values, t):
            return [_item(frame, v, t) for v in values]

        def inside(t):
            def make():
                return PlanRun(_level(frame, plan, [*consts, *at(carries, t), *at(xs, t)]), frame, back(t), t)

            return self._once(frame, step, t, make)

        def back(t):
            def find(i, index):
                if i < n_consts:
                    return frame, step.ins[i], index
                if i >= n_consts + n_carry:
                    return frame, step.ins[i], (*index[:lead], t, *index[lead:])
                s, j = t + (1 if reverse else -1), i - n_consts
                if not 0 <= s < length:
                    return frame, step.ins[i], index
                s = self._far_back(lambda s: at([carries[j]], s)[0], range(s, length) if reverse else range(s, -1, -1), index)
                return inside(s), plan.outputs[j], index

            return find

        if out < n_carry:
            return inside(steps[-1]), plan.outputs[out], index
        return inside(index[lead]), plan.outputs[out], (*index[:lead], *index[lead + 1 :])

    def _far_back(self, before, steps, index):
        """The step from which on an element of the carried state is wrong without a break; `before(s)` is the state before step s.
        Of a loop with few steps, the step that is asked for."""
        if len(steps) <= _ONE_BY_ONE:
            return steps[0]
        return next((s for s in steps if not self.wrong(np.asarray(before(s))[index])), steps[-1])

    def while_loop(self, frame: PlanRun, step: PlannedEquation, out: int, index: Index) -> Any:
        plan = self.plan(step, bodies_of(step.eqn)[-1])
        values = [frame.level.read(v) for v in step.ins]
        cond_consts, consts, init = while_parts(step.eqn, values)
        n_cond, n_body = len(cond_consts), len(consts)
        first = n_cond + n_body

        def ran(name, **kept):
            """What the steps were given, and how many there were."""

            def make():
                given = _Given(step.eqn, range(n_body, n_body + len(init)) if kept else (), **kept)
                return run_once(given, [step.eqn])(values)

            return self._once(frame, step, name, make)

        n = int(ran("count")[0])

        def before(t):
            """The state before a step."""
            rows = ran(("rows", t // _KEPT), start=t // _KEPT * _KEPT)
            return [row[t % _KEPT] for row in rows[:-1]]

        def inside(t):
            def make():
                return PlanRun(Level(plan, [*consts, *before(t)]), frame, back(t), t)

            return self._once(frame, step, t, make)

        def back(t):
            def find(i, index):
                if i < n_body or not t:
                    return frame, step.ins[n_cond + i], index
                s = self._far_back(lambda s: before(s)[i - n_body], range(t - 1, -1, -1), index)
                return inside(s), plan.outputs[i - n_body], index

            return find

        return (inside(n - 1), plan.outputs[out], index) if n else (frame, step.ins[first + out], index)

    # ---- others

    def cond(self, frame: PlanRun, step: PlannedEquation, out: int, index: Index) -> Any:
        branches = bodies_of(step.eqn)
        which = int(np.clip(int(frame.level.read(step.ins[0])), 0, len(branches) - 1))
        plan = self.plan(step, branches[which])
        return self.simple(frame, step, plan, range(1, len(step.ins)), out, index)

    def linear_solve(self, frame: PlanRun, step: PlannedEquation, out: int, index: Index) -> Any:
        lengths, jaxprs = step.eqn.params["const_lengths"], step.eqn.params["jaxprs"]
        plan = self.plan(step, jaxprs.solve)
        start = lengths.matvec + lengths.vecmat
        b = range(sum(lengths), len(step.ins))
        return self.simple(frame, step, plan, [*range(start, start + lengths.solve), *b], out, index)

    def shard_map(self, frame: PlanRun, step: PlannedEquation, out: int, index: Index) -> Any:
        mapped = self._once(frame, step, "mapped", lambda: Mapped(step.eqn))
        plan = self.plan(step, bodies_of(step.eqn)[0])

        def make():
            given = _Given(step.eqn, range(len(step.ins)))
            values = jax.jit(given)([frame.level.read(v) for v in step.ins])
            return PlanRun(MappedLevel(plan, values, mapped), frame, back, mapped=mapped)

        def back(i, index):
            at = mapped.first(mapped.in_specs[i], np.shape(frame.level.read(step.ins[i])), index[0])
            return frame, step.ins[i], tuple(a + b for a, b in zip(at, index[1:]))

        inside = self._once(frame, step, "frame", make)
        shape = np.shape(frame.level.read(step.outs[out]))
        return inside, plan.outputs[out], mapped.local(mapped.out_specs[out], shape, index)


_RULES: dict[str, Callable[..., Any]] = {
    "scan": PlanRuns.scan, "while": PlanRuns.while_loop, "cond": PlanRuns.cond, "custom_linear_solve": PlanRuns.linear_solve,
    "shard_map": PlanRuns.shard_map,
}  # fmt: skip


class _Given(Interpreter):
    """A function from the inputs of an equation to the inputs of its body, stacked over the steps of a loop or the devices of a shard_map.

    For a while_loop, the number of steps comes last.

    Args:
        eqn: a scan, a while_loop or a shard_map.
        at: which of the body's inputs.
        start: the first of the `_KEPT` steps of a while_loop whose inputs are wanted.

    Attributes:
        avals: the abstract values of what it returns, where that is known.
    """

    def __init__(self, eqn: Any, at: Sequence[int], start: int | None = None):
        rule = FINAL_RULES[eqn.primitive.name]
        super().__init__(max_steps=None if start is None else _KEPT)
        self._at, self._start = at, start
        blocks = [Block(body.closed) for body in rule.bodies(eqn)]
        given = [blocks[-1].closed.jaxpr.invars[i].aval for i in at]
        blocks[-1].found = [Found("", "given", None, (), (), tuple(map(Shape.of, given)), (), ())]
        found = [f.with_axis(_KEPT) if start is not None else f for f in (f.with_count() for f in blocks[-1].found)]
        self.avals = given
        self._step = Inside(eqn, rule, blocks, found)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        with jax_slots.context_of(self._step.eqn):
            return self._step.rule.run(self, self._step, list(values), (), [])[1][0]

    def run(self, block: Any, args: Sequence[Any], index: tuple[Any, ...] = (), probes: tuple[Any, ...] = ()) -> Any:
        outs = list(jex.jaxpr_as_fun(block.closed)(*args))
        return outs, [[args[i] for i in self._at]] if block.found else []

    def first_step(self, block: Any) -> Any:
        return jnp.int32(0 if self._start is None else -self._start)

    def kept_of_step(self, block: Any, kept: list[Any], got: Sequence[Any], counter: Any) -> list[Any]:
        # Negative numbers would count from the end.
        return super().kept_of_step(block, kept, got, counter if self._start is None else jnp.where(counter < 0, _KEPT, counter))


class Mapped:
    """A shard_map: how its values lie on the devices.

    Attributes:
        names: of the devices, in the order of the first axis of the values of its `MappedLevel`.
        in_specs, out_specs: PartitionSpecs.
    """

    def __init__(self, eqn: Any):
        params = eqn.params
        self.axes, n = devices(eqn)
        self._checks = params["check_vma"]
        self.mesh, self.in_specs, self.out_specs = params["mesh"], params["in_specs"], params["out_specs"]
        sizes = [params["mesh"].shape[axis] for axis in self.axes]
        places = [np.unravel_index(d, sizes) for d in range(n)]
        self.names = [", ".join(f"{a} {int(p)}" for a, p in zip(self.axes, place)) for place in places]
        self._places = [dict(zip(self.axes, place)) for place in places]

    def run(self, fn: Callable[..., Any], values: Sequence[Any], given: Sequence[Any], made: Sequence[Any]) -> list[Any]:
        """A function from arrays to a list of them on each device, where it takes and returns arrays of the abstract values `given` and `made`;
        an axis of devices is in front of `values` and of the results."""
        ins, outs = [self._varying(aval) for aval in given], [self._varying(aval) for aval in made]

        def local(*values):
            return [v[None] for v in fn(*[v[0] for v in values])]

        specs = {"in_specs": tuple(map(_in_front, ins)), "out_specs": list(map(_in_front, outs))}
        program = jax.jit(jax.shard_map(local, mesh=self.mesh, axis_names=set(self.axes), check_vma=self._checks, **specs))
        # Of the devices with the same values, the first.
        found = program(*[v[np.unique(self._of_all(axes), return_index=True)[1]] for v, axes in zip(values, ins)])
        return [v[np.array(self._of_all(axes))] for v, axes in zip(found, outs)]

    def _varying(self, aval):
        """The axes of the mesh over which a value varies, as far as jax knows."""
        return tuple(a for a in self.axes if a in jax_slots.varying_axes(aval)) if self._checks else self.axes

    def _of_all(self, axes):
        """For each device, the number of its place along some axes of the mesh; devices that differ in other axes only have the same."""
        return [self._number(device, axes) for device in range(len(self.names))]

    def _number(self, device, axes):
        number = 0
        for axis in axes:
            number = number * self.mesh.shape[axis] + int(self._places[device].get(axis, 0))
        return number

    def first(self, spec: PartitionSpec, shape: Sequence[int], device: int) -> Index:
        """The index in an array at which the part of a device begins."""
        at = []
        for i, size in enumerate(shape):
            axes = spec[i] if i < len(spec) else None
            axes = () if axes is None else (axes,) if isinstance(axes, str) else axes
            at.append(self._number(device, axes) * (size // math.prod(self.mesh.shape[axis] for axis in axes)))
        return tuple(at)

    def local(self, spec: PartitionSpec, shape: Sequence[int], index: Index) -> Index:
        """The number of the device that has an element of an array, and behind it the index in that device's part."""
        best = max(range(len(self.names)), key=lambda d: (self._before(spec, shape, d, index), -d))
        return (best, *(i - a for i, a in zip(index, self.first(spec, shape, best))))

    def _before(self, spec, shape, device, index):
        first = self.first(spec, shape, device)
        return first if all(a <= i for a, i in zip(first, index)) else tuple(-1 for _ in first)


class MappedLevel(Level):
    """The values of a plan inside of a shard_map, each with an axis of devices in front."""

    def __init__(self, plan: Plan, given: Sequence[Any], mapped: Mapped):
        self._mapped = mapped
        self._constants = {n: jnp.broadcast_to(v, (len(mapped.names), *jnp.shape(v))) for n, v in plan.constants.items()}
        super().__init__(plan, given)

    def read(self, value: int | Literal) -> Any:
        """The value of a number of the plan."""
        if isinstance(value, Literal):
            return jnp.broadcast_to(value.value, (len(self._mapped.names), *np.shape(value.value)))
        return super().read(value)

    def _compute(self, part, program):
        self._values.update(self._constants)
        avals = self.plan.avals
        outs = self._mapped.run(
            lambda *given: part.compute(given), [self._values[v] for v in part.ins], [avals[v] for v in part.ins], [avals[v] for v in part.outs]
        )  # fmt: skip
        self._values.update(zip(part.outs, outs))

    def run(self, step: PlannedEquation, values: Sequence[Any]) -> list[Any]:
        """The results of a step, of other values for its inputs."""
        eqn = step.eqn
        return self._mapped.run(
            lambda *values: run_equation(eqn, values), values, [v.aval for v in eqn.invars], [v.aval for v in eqn.outvars]
        )


def _in_front(axes):
    return PartitionSpec(axes or None)


def _level(frame, plan, values):
    return Level(plan, values) if frame.mapped is None else MappedLevel(plan, values, frame.mapped)


def _item(frame, value, t):
    dtype = getattr(value, "dtype", np.dtype(bool))
    # By numpy: jax would compile a program for each number.
    array = value if dtype.kind == "O" or jnp.issubdtype(dtype, jax.dtypes.extended) else np.asarray(value)
    return array[t] if frame.mapped is None else array[:, t]
