"""A traced program with a record of the first operation in it that is wrong, as a further result.

What a wrong operation has computed is followed as far as it is only moved, selected or combined element by element: where a mask keeps
it out of all results (`where(n == 0, 0, x // n)`), nothing was wrong.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
from jax import lax

from msjax.core.base import jax_slots
from msjax.core.base.libraries import is_own
from msjax.core.jaxprs import plan
from msjax.core.jaxprs.control_flow import FINAL_RULES, devices, scan_steps
from msjax.core.jaxprs.evaluate import bind, in_groups, segments, walk
from msjax.core.jaxprs.interpreter import Interpreter
from msjax.core.jaxprs.plan import Found, Inside, Shape
from msjax.core.tools.checks import sources
from msjax.core.tools.checks.asserting import MOST
from msjax.core.tools.checks.sources import CheckedOperation, Wrong, is_meant
from msjax.core.tools.search.lines import Derivatives

# The columns of a record in full: whether something is wrong, the number of the source, the place and the number that are wrong there,
# the device, and the numbers of the steps of so many loops, outermost first.
WRONG, SOURCE, PLACE, NUMBER, DEVICE, STEPS, DEPTH = 0, 1, 2, 3, 4, 5, 4
_WIDTH = STEPS + DEPTH

# What leaves each element where it is.
_ELEMENTWISE = {
    "add", "sub", "mul", "div", "rem", "max", "min", "neg", "sign", "abs", "floor", "ceil", "round", "convert_element_type", "integer_pow",
    "pow", "square", "exp", "exp2", "log", "log1p", "expm1", "tanh", "logistic", "sqrt", "rsqrt", "sin", "cos", "and", "or", "xor", "not",
    "eq", "ne", "lt", "le", "gt", "ge", "is_finite", "copy", "stop_gradient", "clamp", "nextafter", "shift_left",
    "shift_right_logical", "shift_right_arithmetic", "erf", "atan2", "reduce_precision", "select_n", "remainder",
}  # fmt: skip
# What only moves elements, with an array of another type, too.
_MOVES = {"broadcast_in_dim", "reshape", "transpose", "squeeze", "rev", "slice"}
# What picks elements of its first operand.
_PICKS = {"gather", "dynamic_slice"}


@dataclass
class CheckedEquation(Inside):
    """An equation that something is to be known of.

    Attributes:
        rule: how its jaxprs are run; None for a call, which is opened, and where there are none.
        number: of the source that it is; None if it is none.
    """

    number: int | None = None


@dataclass
class CheckedBlock(plan.Block):
    """A jaxpr in which something is checked.

    Attributes:
        steps: CheckedEquation and Plain; none if nothing is checked.
        marked: of each of its results, whether something wrong may have gone into it, so that it can still be masked.
        axes: of the mesh of the shard_map that it is in.
    """

    marked: list[bool] = field(default_factory=list)
    axes: tuple[str, ...] = ()


class Checks:
    """A traced program with a record of what was wrong in it.

    Args:
        kinds: what is checked, of `sources.KINDS`.
        full (bool): whether the record says what was wrong and where, not only whether something was.

    Attributes:
        sources: the operations that are checked.
    """

    def __init__(self, closed: jex.ClosedJaxpr, kinds: Collection[str], full: bool = False):
        self.closed, self.kinds, self.full = closed, kinds, full
        self.sources: list[CheckedOperation] = []
        self._derivatives = Derivatives(closed)
        self.block = self._plan(closed, [False] * len(closed.jaxpr.invars), "", None, ())

    def run(self, inputs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """(its results, the record: whole numbers, and, in full, the values of a message)."""
        runner = _Runner(self)
        outs, marks, record = runner.opened(self.block, inputs, [[] for _ in inputs])
        return outs, runner.consumed(self.block, [m for ms in marks for m in ms], record)

    # ---- the plan

    def _plan(self, closed, marked_in, stack, traceback, axes):
        jaxpr, block = closed.jaxpr, CheckedBlock(closed, axes=axes)
        marked = {v for v, m in zip(jaxpr.invars, marked_in) if m}
        steps = in_groups(jaxpr.eqns, lambda _, eqn: self._step(eqn, marked, stack, traceback, axes))
        block.marked = [not isinstance(v, jex.Literal) and v in marked for v in jaxpr.outvars]
        if any(marked_in) or any(not isinstance(step, list) for step in steps):
            block.steps = segments(jaxpr, steps)
            block.found = [self._found(axes)]
        return block

    def _found(self, axes):
        varying = frozenset(axes)
        shapes = [Shape((_WIDTH if self.full else 1,), jnp.dtype("int32"), varying)]
        if self.full:
            shapes.append(Shape((MOST,), jnp.zeros((), float).dtype, varying))
        # Counted: where a branch isn't taken, the record is one of zeros.
        return Found("", "check", None, (), (), tuple(shapes), (), (), counted=True)

    def _step(self, eqn, marked, stack, traceback, axes):
        name = eqn.primitive.name
        here, at = f"{stack}/{jax_slots.name_stack_of(eqn)}", traceback or jax_slots.traceback_of(eqn)
        has_marked = any(not isinstance(v, jex.Literal) and v in marked for v in eqn.invars)
        kind = sources.kind_of(eqn, self.kinds)
        if kind is not None and self._counts(eqn, kind, here, traceback):
            self.sources.append(CheckedOperation(kind, eqn, here, at))
            step = CheckedEquation(eqn, None, [], [], number=len(self.sources) - 1)
            if sources.name_of(eqn) in ("gather", "dynamic_slice", "div", "rem", "remainder"):
                marked.update(eqn.outvars)
            return step
        rule = FINAL_RULES.get(name)
        if rule is not None:
            return self._inside(eqn, rule, marked, has_marked, here, traceback, axes)
        if not has_marked:
            return None
        if name in _ELEMENTWISE or name in _MOVES or name in _PICKS or name == "concatenate":
            marked.update(eqn.outvars)
        return CheckedEquation(eqn, None, [], [])

    def _inside(self, eqn, rule, marked, has_marked, here, traceback, axes):
        name = eqn.primitive.name
        opened = rule.groups and "prevent_cse" not in eqn.params and _has_no_shardings(eqn)
        if name == "shard_map":
            axes = (*axes, *devices(eqn)[0]) if eqn.params["check_vma"] else ()
        blocks = []
        for body in rule.bodies(eqn):
            if body.barrier is not None and name != "while":
                blocks.append(CheckedBlock(body.closed))
                continue
            around = (traceback or jax_slots.traceback_of(eqn)) if is_own(jax_slots.file_of(body.closed)) else None
            given = [opened and not isinstance(v, jex.Literal) and v in marked for v in eqn.invars]
            if not opened:
                given = [False] * len(body.closed.jaxpr.invars)
            blocks.append(self._plan(body.closed, given, here, around, axes))
        if not any(block.steps for block in blocks):
            return CheckedEquation(eqn, None, [], []) if has_marked else None
        if opened:
            marked.update(v for v, m in zip(eqn.outvars, blocks[0].marked) if m)
            return CheckedEquation(eqn, None, blocks, [])
        found = [f for block in blocks for f in block.found]
        # The condition of a while_loop and its body, one after the other, have one record.
        return CheckedEquation(eqn, rule, blocks, found[:1] if name == "while" else found)

    def _counts(self, eqn, kind, stack, traceback):
        """Whether a source is one: not the derivative of another operation, which has been checked, nor what is meant."""
        if kind != "index":
            return True
        phase, derivative = self._derivatives.of(eqn, stack)
        if phase == "backward" and derivative not in ("", eqn.primitive.name):
            return False
        frames = [] if (tb := jax_slots.traceback_of(eqn)) is None else tb.frames
        if traceback is not None:
            # The lines of jax's own function; those that have called it may be others than those of its first trace.
            frames = [*itertools.takewhile(lambda frame: is_own(frame.file_name), frames), *traceback.frames]
        return not is_meant(frames)


def _has_no_shardings(eqn):
    params = eqn.params
    given = (*params.get("in_shardings", ()), *params.get("out_shardings", ()))
    return not any(isinstance(s, jax.sharding.Sharding) for s in given) and not any(params.get("donated_invars", ()))


class _Runner(Interpreter):
    """Evaluates `CheckedBlock`s, each of which returns, beside its results, the record of what its checks have found."""

    def __init__(self, checks: Checks):
        super().__init__()
        self.checks, self.full = checks, checks.full

    def run(self, block: Any, args: Sequence[Any], index: tuple[Any, ...] = (), probes: tuple[Any, ...] = ()) -> Any:
        """(the results of a CheckedBlock, [its record]); no record if nothing is checked."""
        outs, marks, record = self.opened(block, args, [[] for _ in args])
        return outs, [self.consumed(block, [m for ms in marks for m in ms], record)] if block.steps else []

    def opened(self, block: CheckedBlock, args: Sequence[Any], marks_in: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """(the results of a CheckedBlock, the marks on each of them, the record)."""
        jaxpr = block.closed.jaxpr
        marks = {v: m for v, m in zip(jaxpr.invars, marks_in) if m}
        record = self.none(block.axes)

        def marks_of(v):
            return [] if isinstance(v, jex.Literal) else marks.get(v, [])

        def visit(step, ins):
            nonlocal record
            eqn, on_ins = step.eqn, [marks_of(v) for v in step.eqn.invars]
            on_outs: list[Any] = [[] for _ in eqn.outvars]
            more = None
            if step.blocks and step.rule is None:
                outs, on_outs, more = self.opened(step.blocks[0], ins, on_ins)
            elif step.blocks:
                record = self.consumed(block, [m for ms in on_ins for m in ms], record)
                outs, more = self._inside(step, ins, block.axes)
            else:
                outs = bind(eqn, ins)
                moved, used = self._through(eqn, ins, on_ins)
                record = self.consumed(block, used, record)
                if step.number is not None:
                    found = sources.wrong(self.checks.sources[step.number], ins)
                    if found.spread is None:
                        values = ins[1:] if not outs else ()
                        more = self._told(step.number, self._marked(found), found.numbers, block.axes, values)
                    else:
                        moved = [*moved, (step.number, found.spread(self._marked(found)), found.numbers)]
                        on_outs = [moved]
                elif moved:
                    on_outs = [moved]
            if more is not None:
                record = self.first(record, more)
            marks.update((v, m) for v, m in zip(eqn.outvars, on_outs) if m)
            return outs

        outs = walk(block.closed, block.steps, args, visit)
        return outs, [marks_of(v) for v in jaxpr.outvars], record

    # ---- marks

    def _marked(self, found: Wrong):
        """Of each element, whether it is wrong; in full, its number from 1 if it is."""
        if not self.full:
            return found.at
        return jnp.where(found.at, 1 + lax.iota(jnp.int32, found.at.size).reshape(found.at.shape), 0)

    def _through(self, eqn, ins, on_ins):
        """(the marks on the result of an operation that leaves elements as they are, those on its inputs for which it does not)."""
        name, shape, found, used = sources.name_of(eqn), eqn.outvars[0].aval.shape if eqn.outvars else (), {}, []
        for i, marks in enumerate(on_ins):
            for number, at, numbers in marks:
                if name in _MOVES or (name in _PICKS and not i):
                    params = {**eqn.params, "fill_value": 0} if name == "gather" else eqn.params
                    at = eqn.primitive.bind(at, *ins[1:], **params)
                elif name == "concatenate":
                    rest = [jnp.zeros(jnp.shape(v), at.dtype) for v in ins]
                    at = eqn.primitive.bind(*rest[:i], at, *rest[i + 1 :], **eqn.params)
                elif name not in _ELEMENTWISE:
                    used.append((number, at, numbers))
                    continue
                else:
                    at = jnp.broadcast_to(at, shape)
                    kept = _kept(name, i, ins, on_ins)
                    at = at if kept is None else jnp.where(jnp.broadcast_to(kept, shape), at, jnp.zeros_like(at))
                before = found.get(number)
                found[number] = (number, at if before is None else jnp.maximum(before[1], at), numbers)
        return list(found.values()), used

    def consumed(self, block: CheckedBlock, marks: Sequence[Any], record: list[Any]) -> list[Any]:
        """The record, when all marked values have been used for something that can't be followed."""
        for number, at, numbers in sorted(marks, key=lambda mark: mark[0]):
            record = self.first(record, self._told(number, at, numbers, block.axes))
        return record

    # ---- records

    def none(self, axes: Sequence[str]) -> list[Any]:
        """The record of nothing wrong."""
        zeros = [jnp.zeros(_WIDTH if self.full else 1, jnp.int32)]
        if self.full:
            zeros = [zeros[0].at[DEVICE:].set(-1), jnp.zeros(MOST)]
        return [_varying(v, axes) for v in zeros]

    def first(self, a: list[Any], b: list[Any]) -> list[Any]:
        """The record of what happened first."""
        if not self.full:
            return [jnp.maximum(a[0], b[0])]
        return [jnp.where(a[0][WRONG] > 0, x, y) for x, y in zip(a, b)]

    def _told(self, number, marks, numbers, axes, values=()):
        if not self.full:
            return [_varying(jnp.any(marks).astype(jnp.int32)[None], axes)]
        limits = jnp.iinfo(jnp.int32)
        first = jnp.min(jnp.where(marks > 0, marks, limits.max), initial=limits.max)
        place = jnp.where(first < limits.max, first - 1, 0)
        wide = jnp.ravel(numbers) if jnp.size(numbers) else jnp.zeros(1, jnp.int32)
        at = jnp.clip(wide[place], limits.min, limits.max).astype(jnp.int32)
        row = jnp.stack([(first < limits.max).astype(jnp.int32), jnp.int32(number), place, at, jnp.int32(-1)])
        row = jnp.concatenate([row, jnp.full(DEPTH, -1, jnp.int32)])
        said = [jnp.ravel(v)[place].astype(float) for v in values]
        return [_varying(v, axes) for v in (row, jnp.stack([*said, *[jnp.zeros(())] * (MOST - len(said))]))]

    def _inside(self, step, ins, axes):
        """(the results, the record) of an equation with jaxprs of its own."""
        name = step.eqn.primitive.name
        outs, got = step.rule.run(self, step, ins, (), [])
        if name in ("scan", "shard_map"):
            rows = got[0]
            if name == "scan" and not scan_steps(step.eqn):
                return outs, self.none(axes)
            if not self.full:
                return outs, [_varying(rows[0].max(0), axes)]
            order = rows[0][:, WRONG] > 0
            n = order.shape[0]
            at = n - 1 - jnp.argmax(order[::-1]) if name == "scan" and scan_steps(step.eqn).step < 0 else jnp.argmax(order)
            row, said = rows[0][at], rows[1][at]
            row = row.at[DEVICE].set(at.astype(jnp.int32)) if name == "shard_map" else _in_step(row, at)
            return outs, [_varying(row, axes), _varying(said, axes)]
        return outs, functools.reduce(self.first, got)

    def first_step(self, block: Any) -> Any:
        return _varying(jnp.int32(0), block.axes)

    def kept_of_step(self, block: Any, kept: list[Any], got: Sequence[Any], counter: Any) -> list[Any]:
        return [self.first(kept[0], self._in_step(got[0], counter))] if got else kept

    def _in_step(self, record, number):
        return [_in_step(record[0], number), record[1]] if self.full else record


def _kept(name, i, ins, on_ins):
    """Where an element of operand number i of an operation gets into its result; None for everywhere."""
    if name == "select_n":
        which = ins[0]
        return None if not i else which == (bool(i - 1) if which.dtype == bool else i - 1)
    if len(ins) != 2 or on_ins[1 - i]:
        return None
    other = jnp.asarray(ins[1 - i])
    if name in ("and", "or") and other.dtype == bool:
        return other if name == "and" else ~other
    return other != 0 if name == "mul" and jnp.issubdtype(other.dtype, jnp.integer) else None


def _in_step(row, number):
    """A record seen from outside of a step of a loop."""
    steps = jnp.concatenate([jnp.asarray(number, jnp.int32)[None], row[STEPS:-1]])
    return jnp.where(row[WRONG] > 0, jnp.concatenate([row[:STEPS], steps]), row)


def _varying(value, axes):
    """A value as one that may be another on each device of the shard_map around."""
    missing = tuple(a for a in axes if a not in jax_slots.varying_axes(jax.typeof(value)))
    return lax.pcast(value, missing, to="varying") if missing else value
