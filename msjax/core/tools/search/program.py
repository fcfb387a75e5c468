"""The fault in a function of jax arrays: which operation a wrong result comes from."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core as jex
import numpy as np

from msjax.core.base.split import opened
from msjax.core.hooks.places import Edits, Tracing
from msjax.core.jaxprs.interpreter import Program
from msjax.core.tools.checking import Check
from msjax.core.tools.fault import Fault, Passed, Statistics
from msjax.core.tools.scopes import Scopes
from msjax.core.tools.search.frames import PlanRuns
from msjax.core.tools.search.levels import Level, Plan
from msjax.core.tools.search.lines import Derivatives, lines_of, lines_of_backward_rules
from msjax.core.tools.search.names import LeafName, argument_names, became, changed, weight_names
from msjax.core.tools.search.walk import Link, Trail, Walker, first_index, moment

# From so many wrong results one goes back, to find a fault of the forward pass rather than what it has done to a gradient.
_TRIED = 4


def search(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    check: Check,
    models: Sequence[Any],
    names: Sequence[str],
    result_name: Callable[[Any], str] | None = None,
) -> tuple[Any, Fault | None]:
    """The result of a function of jax arrays, and the fault that it comes from if it is wrong; None if it isn't.

    Args:
        fn: the function; what isn't differentiated in it, isn't looked at backward.
        args, kwargs: its arguments: pytrees of arrays, nnx modules among them.
        models: the nnx modules, Cells and hooked models that it calls, whose paths the fault tells.
        names: of the leaves of the arguments, in words.
        result_name: from the path of a leaf of the result to its name in words.
    """
    with Scopes(models) as scopes, lines_of_backward_rules():
        program = Program(fn, args, kwargs, Tracing(Edits()))
    result_name = result_name or (lambda path: f"the result{jax.tree_util.keystr(path)}")
    return _ProgramSearch(program, check, scopes, names, result_name, models).run()


def search_call(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    check: Check,
    models: Sequence[Any],
    names: Sequence[str] | None = None,
) -> tuple[Any, Fault | None]:
    """Search one call; of nnx modules that it changes, the new values are looked at, too: (the result, the fault or None)."""
    names = argument_names(args, kwargs, fn) if names is None else names

    def call(*args, **kwargs):
        before = jax.tree.leaves(opened((args, kwargs)))
        return fn(*args, **kwargs), changed(before, jax.tree.leaves(opened((args, kwargs))))

    return search(call, args, kwargs, check, models, names, functools.partial(became, names))


class _ProgramSearch:
    def __init__(self, program, check, scopes, names, result_name, models):
        self.models = models
        self.program, self.check, self.scopes, self.names, self.result_name = program, check, scopes, names, result_name
        self._derivatives = Derivatives(program.closed)

    def run(self):
        closed = self.program.closed
        level, why = None, "computed operation by operation, it isn't there"
        try:
            plan = Plan(closed, "", None)
            level = Level(plan, self.program.inputs, effects=True)
            outs = [level.read(v) for v in plan.outputs]
        except Exception as error:
            why = f"its operations can't be run one by one: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            outs = None
        if outs is not None and self.check(outs):
            return self.program.result(outs), self._found(level, outs)
        # What the compiler makes of the whole may compute something else.
        whole = jax.jit(jex.jaxpr_as_fun(closed))(*self.program.inputs)
        fault = None
        if self.check(whole):
            wrong = next(i for i, v in enumerate(whole) if self.check([v]))
            fault = Fault(
                self.check.what, "forward", None, output=Statistics.of(whole[wrong]),
                note=f"{self._result_names(whole)[wrong]} is wrong; the operation is not known: it is within the function, and {why}",
            )  # fmt: skip
        return self.program.result(whole), fault

    def _result_names(self, outs):
        leaves = jax.tree_util.tree_flatten_with_path(self.program.result(outs))[0]
        arrays = [(path, leaf) for path, leaf in leaves if isinstance(leaf, jax.Array)]
        return [self.result_name(path) for path, _ in arrays] if len(arrays) == len(outs) else ["the result"] * len(outs)

    def _found(self, level, outs):
        plan, names = level.plan, self._result_names(outs)
        walker = Walker(level, self.check, PlanRuns(lambda value: bool(self.check.mask(np.asarray(value)))))
        wrong = [i for i, v in enumerate(outs) if self.check([v])]
        # The loss is computed before gradients and new weights.
        wrong.sort(key=lambda i: moment(plan, plan.outputs[i]))
        fault = None
        for i in wrong[:_TRIED]:
            at = first_index(self.check.mask(outs[i]))
            fault = self._fault(walker, walker.back(plan.outputs[i], at), names[i])
            if fault.phase == "forward":
                return fault
        return fault

    def _fault(self, walker, trail: Trail, name):
        chain = [Passed("", None, name, None), *self._passed(trail.links)]
        if trail.source is not None or not trail.links:
            return self._from_outside(walker, trail, chain)
        link, cause = trail.links[-1], None
        told = self._told(link)
        if told["line"] is None and told["called_from"] is None:
            # Of what jax made by itself, the line that uses it.
            told["line"] = next((passed.line for passed in chain[::-1] if passed.line is not None), None)
        infinite = walker.infinite(link) if self.check.on == "nan" else None
        if infinite is not None:
            cause = self._cause(infinite)
        inputs, output = _statistics(link)
        return Fault(self.check.what, **told, chain=chain, inputs=inputs, output=output, note=trail.inside, cause=cause)

    def _cause(self, trail):
        infinite = Check("inf", "find_nan")
        if trail.source is not None or not trail.links:
            note = f"{self._source(trail, None)} was infinite before anything was computed"
            return Fault(infinite.what, "forward", None, note=note)
        return Fault(infinite.what, **self._told(trail.links[-1]))

    def _from_outside(self, walker, trail, chain):
        value, _ = trail.source
        value = walker.root.level.read(value) if isinstance(value, int) else value
        what = self._source(trail, value)
        told = {"phase": "forward", "path": None}
        if isinstance(what, LeafName):
            path, cls = self.scopes.around(what.keys, what.owned)
            told |= {"path": path, "cls": cls}
        if trail.links and what == "a constant":
            # A constant of the program belongs to the line that uses it.
            told = {k: v for k, v in self._told(trail.links[-1]).items() if k != "derivative"}
        note = f"{what} was wrong before anything was computed"
        return Fault(self.check.what, **told, chain=chain, output=Statistics.of(value), note=note)

    def _source(self, trail, array):
        value = trail.source[0]
        inputs = self.program.closed.jaxpr.invars
        if isinstance(value, int) and value < len(inputs) == len(self.names):
            return self.names[value]
        return next((name for model in self.models for name, leaf in weight_names(model) if leaf is array), "a constant")

    def _told(self, link: Link):
        """What a Fault tells of an operation."""
        path, cls, call = self.scopes.of(link.step.stack)
        phase, derivative = self._derivatives.of(link.step.eqn, link.step.stack)
        line, user_line = lines_of(link.step.traceback)
        return {
            "phase": phase, "path": path, "cls": cls, "operation": link.step.eqn.primitive.name, "line": line, "call": call,
            "step": link.frame.steps(), "derivative": derivative, "called_from": user_line, "device": link.frame.device(link.index),
        }  # fmt: skip

    def _passed(self, links):
        """The operations of a trail, one for each line of the user's code, and the origin."""
        found = []
        for link in links:
            told = self._told(link)
            what = f"derivative of {told['derivative']}" if told["derivative"] else told["operation"]
            passed = Passed(told["phase"], told["path"], what, told["called_from"] or told["line"])
            last, place = found[-1] if found else None, (passed.phase, passed.path, passed.line)
            if last is None or link is links[-1] or (last.phase, last.path, last.line) != place:
                inputs, output = _statistics(link)
                if last is not None and passed[:4] == last[:4]:
                    found.pop()  # the same operation of a later iteration
                found.append(passed._replace(inputs=inputs, output=output))
        return found


def _statistics(link):
    """The statistics of the inputs of an operation, and of its wrong result."""
    values = [_here(link.frame, link.frame.level.read(v), link.index) for v in (*link.step.ins, link.step.outs[link.out])]
    plain = [v for v in values[:-1] if not (hasattr(v, "dtype") and jax.numpy.issubdtype(v.dtype, jax.dtypes.extended))]
    return tuple(map(Statistics.of, plain)), Statistics.of(values[-1])


def _here(frame, value, index):
    """A value, or, if the program is mapped over devices, that of the device which an index names."""
    return value if frame.mapped is None else value[index[0]]
