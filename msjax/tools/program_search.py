"""Finds the operation that first computes a wrong value in a function of jax arrays, inside of scan, cond and the like, too.

The function, gradients included, becomes one program that also returns a flag for each operation that computes a wrong value from
right ones. Its inputs' statistics are computed by a second program, if a flag was raised.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from msjax.autograd.monitor import Line
from msjax.base import jax_slots
from msjax.hooks.places import Edits, Tracing
from msjax.jaxprs.control_flow import rules
from msjax.jaxprs.interpreter import Interpreter, Program
from msjax.jaxprs.plan import Planner, Shape
from msjax.jaxprs.source_lines import SourceLines
from msjax.tools.checking import Check
from msjax.tools.fault import Fault, Statistics, statistics_of
from msjax.tools.scopes import Scopes

# So many steps of a while_loop are looked at.
_STEPS = 1024


def search(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], check: Check, models: Sequence[Any] = ()
) -> tuple[Any, Fault | None]:
    """The result of a function of jax arrays, which is a pair, and the first fault in it; None if the result has none.

    Args:
        fn: the function; what isn't differentiated in it, isn't looked at backward.
        args, kwargs: its arguments: pytrees of arrays, nnx modules among them.
        check (Check): what counts as wrong.
        models: the nnx modules, Cells and hooked models that it calls, whose paths the fault tells.
    """
    with Scopes(models) as scopes:
        program = Program(fn, args, kwargs, Tracing(Edits()))
    given = [(jax.tree_util.keystr(path), v) for path, v in jax.tree_util.tree_flatten_with_path((args, kwargs))[0]]
    for name, value in [*given, *(("a constant", v) for v in program.closed.consts)]:
        if check([value]):
            what = f"argument {name}" if name.startswith("[") else name
            return (None, None), Fault(
                check.what, "forward", None, output=Statistics.of(value), note=f"{what} was wrong before anything was computed"
            )
    outs, flags, places = _Planner(functools.partial(_flag, check)).run(program)
    result = program.result(outs)
    first = _first(places, flags) if check(outs) else None
    if first is None:
        return result, None
    moment, step, place = first
    _, rows, _ = _Planner(lambda ins, outs: jnp.stack([statistics_of(v) for v in [*ins, *outs]]), only=place.name).run(program)
    found, cause = [Statistics.from_values(aval, row) for aval, row in zip(place.avals, rows[0][step])], None
    if check.on == "nan" and any(statistics.inf for statistics in found):
        infinite = Check("inf", "find_nan")
        _, flags, places = _Planner(functools.partial(_flag, infinite)).run(program)
        cause = _first(places, flags)
        cause = None if cause is None or cause[0] >= moment else _fault(infinite, cause, scopes)
    return result, _fault(check, first, scopes, inputs=found[: place.inputs], output=found[place.inputs], cause=cause)


def _first(places, flags):
    """(when, step, place) of the first raised flag; None if there is none."""
    raised = [(*place.moment(flag), place) for place, flag in zip(places, flags) if flag.any()]
    return min(raised, key=lambda item: item[0], default=None)


def _fault(check, found, scopes, **told):
    _, step, place = found
    path, cls, call = scopes.of(place.stack)
    phase = "backward" if "transpose(" in place.stack else "forward"
    return Fault(
        check.what, phase, path, cls=cls, operation=place.primitive, line=place.line, call=call, step=step, **told
    )  # fmt: skip


def _flag(check, ins, outs):
    wrong = functools.reduce(jnp.logical_or, [check.traced(v) for v in outs if check.applies(v)])
    if check.on == "nan":
        return wrong  # what computed the first NaN had none among its inputs
    # A mask of -inf, say, is a constant.
    before = [check.traced(v) for v in ins if check.applies(v)]
    return wrong & ~functools.reduce(jnp.logical_or, before) if before else wrong


class _Place(NamedTuple):
    """An operation of the program.

    Attributes:
        name: its name among those of the program; `primitive` and `line` are told of it.
        stack: the names that jax gives to where it is.
        order: for each loop around it, (its position, whether it runs from the last step to the first), then its position.
        avals: of its inputs, so many as `inputs` says, and of its outputs.
    """

    name: str
    primitive: str
    line: Any
    stack: str
    order: tuple[Any, ...]
    avals: Any
    inputs: int

    def moment(self, flags):
        """((a key that orders what happens in time, ...), the steps of the loops) of the first raised flag."""
        *loops, position = self.order
        backward = [reverse for _, reverse in loops]
        steps = np.argwhere(np.asarray(flags))
        first = min(tuple(-s if b else s for s, b in zip(step, backward)) for step in steps.tolist()) if loops else ()
        key = tuple(x for (at, _), s in zip(loops, first) for x in (at, s))
        return (*key, position), tuple(abs(s) for s in first)


class _Planner(Planner):
    """Plans a program in which operations on floating-point numbers return something of their inputs and outputs.

    Args:
        measure: from lists of the inputs and outputs of an operation to an array.
        only: the name of the only operation; by default all.
    """

    def __init__(self, measure: Callable[[list[jax.Array], list[jax.Array]], jax.Array], only: str | None = None):
        super().__init__(rules(_STEPS), lambda *names: "@" in names[0] and (only is None or names[-1] == only), operations=True)
        self.measure = measure
        self.places = {}
        self.lines = _Lines()
        self._stack, self._loops, self._position, self._eqn = "", (), 0, None

    def run(self, program: Program) -> tuple[Any, Any, list[_Place]]:
        """(the program's results, the array that was measured of each place, the places)."""
        block = self.block(program.closed)
        interpreter = _Interpreter(rules(_STEPS), Edits(), _STEPS)
        outs, got = jax.jit(lambda inputs: interpreter.run(block, inputs))(program.inputs)
        return outs, [np.asarray(values[0]) for values in got], [self.places[found.name] for found in block.found]

    def _step(self, eqn, path, line, barrier, hidden):
        before = self._stack, self._loops, self._eqn
        self._position += 1
        self._stack += f"/{jax_slots.name_stack_of(eqn)}"
        if eqn.primitive.name in ("scan", "while"):
            self._loops = (*self._loops, (self._position, bool(eqn.params.get("reverse"))))
        self._eqn = eqn
        try:
            return super()._step(eqn, path, line, barrier, hidden)
        finally:
            self._stack, self._loops, self._eqn = before

    def _place(self, eqn, name, kind, path, barrier):
        if kind != "operation" or barrier is not None or not any(jnp.issubdtype(v.aval.dtype, jnp.inexact) for v in eqn.outvars):
            return None
        return super()._place(eqn, name, kind, path, None)

    def _found(self, eqn, name, kind, outs, edits, selected):
        ins = [v.aval for v in eqn.invars if hasattr(v.aval, "shape") and not jnp.issubdtype(v.aval.dtype, jax.dtypes.extended)]
        line = name.rpartition("@")[2].partition("#")[0]
        line = self.lines.found.get(line, line)
        self.places[name] = _Place(
            name, eqn.primitive.name, line, self._stack, (*self._loops, self._position), [*ins, *outs], len(ins)
        )
        found = super()._found(eqn, name, kind, outs, edits, selected)
        varying = frozenset().union(*(Shape.of(a).varying for a in [*ins, *outs]))
        given = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in ins], [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in outs]
        shape = jax.eval_shape(self.measure, *given)
        return replace(found, out=(Shape(shape.shape, shape.dtype, varying),), measures=(self.measure,))


class _Interpreter(Interpreter):
    def _here(self, step, ins, index, probes):
        values = self.bind(step.eqn, ins)
        plain = [v for v in ins if hasattr(v, "dtype") and not jnp.issubdtype(v.dtype, jax.dtypes.extended)]
        return values, [step.found.measures[0](plain, values)]


class _Lines(SourceLines):
    """Source lines that keep their files: `found` has them by their texts."""

    def __init__(self):
        super().__init__()
        self.found = {}

    def _line(self, eqn):
        text = super()._line(eqn)
        if text not in self.found:
            traceback = jax_slots.traceback_of(eqn)
            for frame in traceback.frames if traceback is not None else ():
                if text == f"{os.path.basename(frame.file_name)}:{frame.line_num}":
                    self.found[text] = Line(frame.file_name, frame.line_num, frame.function_name)
                    break
        return text
