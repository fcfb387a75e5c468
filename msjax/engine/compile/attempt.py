"""Tracing: from a Python function and the arguments of one call to a Program.

Tensors that outlive the trace that computed them, since the code that ran keeps them, have no values; so they are looked for.
"""

from __future__ import annotations

import functools
import gc
import sys
import types
import weakref
from collections.abc import Callable, Iterator, MappingView, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import jax.core
import jax.extend.core
from flax import nnx
from jax.extend.core import ClosedJaxpr, Jaxpr

from msjax.common.parameter import Parameter
from msjax.common.run_state import LOCK
from msjax.common.tensor import Tensor, is_leaf, root_of, wrap
from msjax.common.tensor_values import TENSORS
from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_float, is_tracer
from msjax.core.base.typing import PyTreeDef
from msjax.core.door import STATE, CallsAsOutputs, Observing, Template
from msjax.engine.autograd.memory import Held
from msjax.engine.autograd.recording import GradientScope, TracedTape, wait_for
from msjax.engine.compile.environment import Snapshot
from msjax.engine.compile.program import VALUE, Program, SignatureChanged, aliases, is_input, raw, results
from msjax.engine.compile.trace import NeedsPyNative, Trace
from msjax.engine.compile.walk import Walk
from msjax.engine.processes.groups import PROCESSES
from msjax.engine.programs.compiler_options import compile_program, worth_donating


class FailedInBody(Exception):
    """The Python code that was traced raised an exception, the cause of this one."""


@dataclass
class Body:
    """What is traced.

    Attributes:
        call: called as ``call(subject, args, kwargs)``.
        subject: the function or cell; None if there is none.
        name: as messages show it.
        again: True for code that has run before, and whose effects on Python's state have happened.
        draws: the states of the random operators of such code; see `Trace.draws`.
        wanted: from a variable to whether its gradient is recorded; None where no gradient is.
        wanted_arguments: whether it is, for each Tensor among the arguments.
    """

    call: Callable[..., Any]
    subject: Any
    name: str
    again: bool = False
    draws: Sequence[tuple[Any, Any]] = ()
    wanted: Callable[[Tensor], bool] | None = None
    wanted_arguments: Sequence[bool] = ()


def build(body: Body, variables: list[Any], leaves: Sequence[Any], treedef: PyTreeDef, before: Snapshot, walk: Walk) -> Program:
    """Trace and compile a function for the arguments of one call.

    Variables that turn out to be missing join the others, and the code is traced again, from the same state of Python.

    Args:
        variables: the Tensors that it is known to use.
        leaves, treedef: of the arguments.
        before: the state of Python now.
        walk: it has just found what the code may read.

    Raises:
        FailedInBody, NeedsPyNative: it can't be compiled as it stands. The Python state is as before.
    """
    inputs = [i for i, leaf in enumerate(leaves) if is_input(leaf)]
    known = {id(v) for v in variables}
    variables += {id(leaf): leaf for leaf in leaves if isinstance(leaf, Parameter) and id(leaf) not in known}.values()
    draws = list(body.draws)  # what one trace makes, the next one finds there
    try:
        for _ in range(8):
            before.note_tensors(variables)
            attempt = _TraceOfBody(body, variables, leaves, treedef, inputs, Trace(variables, draws, walk.reads, before))
            missing = attempt.trace_it()
            if not missing:
                if body.again:
                    before.restore()
                return attempt.program(body, before)
            variables += missing
            before.restore()
        raise NeedsPyNative("it uses new Tensors from outside at every run")
    except BaseException:
        before.restore()
        raise


class _TraceOfBody:
    """One try to trace a body with a set of variables."""

    def __init__(self, body: Body, variables, leaves, treedef, inputs, trace):
        self.body: Any = body  # None when it has run
        self.variables = list(variables)
        self.leaves: Any = leaves
        self.treedef = treedef
        self.inputs = inputs
        self.aliases = aliases(leaves, variables)
        self.tape: TracedTape | None = None
        self.kept: list[int] = []
        self.wanted: list[bool] = []
        self.axes = PROCESSES.axes()
        self.trace = trace
        self.in_body = False

    def trace_it(self):
        """Run the body on values that are not known yet; returns the variables that were missing."""
        # Another thread that traces has put values of its own into the variables that both use.
        with LOCK:
            values = [*map(VALUE, self.variables), *[raw(self.leaves[i]) for i in self.inputs]]
            again = self.body.again
            try:
                with CallsAsOutputs():
                    self.jaxpr = jax.make_jaxpr(self._pure, axis_env=self.axes)(*values)
            except (Exception, NeedsPyNative) as error:
                # What failed may have done so for what was missing.
                if not self.trace.missing:
                    if self.trace.refused and not isinstance(error, NeedsPyNative):
                        raise NeedsPyNative(self.trace.refused) from error
                    if self.in_body and not isinstance(error, NeedsPyNative):
                        raise FailedInBody from error
                    raise
            finally:
                # jax's caches may keep the function for longer than it is of use; they shall not keep the network.
                self.body = self.leaves = None
                self.trace.forget()
        missing = [tensor for tensor, _ in self.trace.missing.values()]
        # Code that has run before has been looked at then; a recorded forward pass keeps Tensors on its tape.
        if not missing and not again and (left := tensors_kept(self.jax_trace, self.jaxpr.eqns)):
            raise NeedsPyNative(
                f"a Tensor of shape {left[0].shape} that was computed in it is kept after the call, where there is no value for it"
            )
        return missing

    def _pure(self, *values):
        n = len(self.variables)
        trace, body = self.trace, self.body
        self.jax_trace = weakref.ref(jax_slots.trace_of(values[0]))
        # The values are put back when the body has run, before jax looks for what has left the trace.
        with Held(self.variables, values), trace.running():
            if isinstance(body.subject, nnx.Module):
                trace.see_cell(body.subject)
            leaves = list(self.leaves)
            for i, value in zip(self.inputs, values[n:]):
                leaves[i] = self._stand_in(leaves[i], value)
            for i, other in self.aliases:
                leaves[i] = leaves[other] if other >= 0 else self.variables[-1 - other]
            args, kwargs = (tuple(leaves), {}) if self.treedef is None else jax.tree.unflatten(self.treedef, leaves)
            self.in_body = True
            with nullcontext() if body.wanted is None else GradientScope() as scope:
                marks = [] if scope is None else self._mark(scope, leaves)
                out = body.call(body.subject, args, kwargs)
                if any(map(_is_lazy, jax.tree.leaves(out, is_leaf=lambda value: is_leaf(value) or _is_lazy(value)))):
                    trace.refuse("it returns an iterator, or a view of a dict; return a list of its items")
                if scope is not None:
                    self._make_tape(scope, marks, leaves, values[n:], out)
            trace.finish()
            self.in_body = False
            self.carries = not trace.stops_gradients and all(is_float(t._value) for t in results(out))
            may_change = [*zip(self.variables, values), *((leaves[i], v) for i, v in zip(self.inputs, values[n:]))]
            changed = [(t, v) for t, v in may_change if isinstance(t, Tensor) and t._value is not v]
            for end in trace.ends:
                end(changed)
            self._check_containers(leaves, args, kwargs)
            self.result = Template(out, TENSORS, (nnx.Module,))
            self.outputs: Any = self.result.taken()
            self.holes = len(self.outputs)
            self.writes = [
                (variable, self._output(variable._value))
                for variable, value in zip(self.variables, values)
                if variable._value is not value
            ]
            self.written_arguments = [
                (i, self._output(leaves[i]._value))
                for i, value in zip(self.inputs, values[n:])
                if self._is_written(leaves, i, value)
            ]
            self.attributes = self._attributes()
            if self.tape is not None:
                self.kept = [self._output(value) for value in self.tape.take_values()]
        outputs, self.outputs = self.outputs, None
        trace.forget()  # jax.checking_leaks counts what still refers to the trace's values when this returns
        return outputs

    def _mark(self, scope, leaves):
        """Mark the variables and arguments whose gradients are recorded; None for the others."""
        inputs = [*self.variables, *(leaves[i] for i in self.inputs if isinstance(leaves[i], Tensor))]
        self.wanted = [*map(self.body.wanted, self.variables), *self.body.wanted_arguments]
        wait_for(self.variables)
        marks = [scope.mark(t) if wanted else None for t, wanted in zip(inputs, self.wanted)]
        for i, (leaf, tensor) in enumerate(zip(marks, inputs)):
            if leaf is not None and (i < len(self.variables) or tensor._hooks is not None):
                leaf.earlier = (None,)  # its hooks get its whole gradient, outside
        return marks

    def _make_tape(self, scope, marks, leaves, values, out):
        written = [leaves[i] for i, value in zip(self.inputs, values) if self._is_written(leaves, i, value)]
        n = len(self.variables)
        asked = [leaf for leaf in marks if leaf is not None]
        self.tape = TracedTape(scope, [*written, *results(out)], asked, [leaf for leaf in marks[n:] if leaf is not None])

    def _is_written(self, leaves, i, value):
        return all(i != other for other, _ in self.aliases) and isinstance(leaves[i], Tensor) and leaves[i]._value is not value

    def _output(self, value):
        self.outputs.append(value)
        return len(self.outputs) - 1

    @staticmethod
    def _stand_in(leaf, value):
        if not isinstance(leaf, Tensor):
            return value
        tensor = wrap(value)
        if leaf._hooks is not None:
            tensor._hooks = leaf._hooks
        return tensor

    def _check_containers(self, leaves, args, kwargs):
        """Refuse code that changes the lists and dicts that it is called with: it has got copies."""
        if self.treedef is None:
            return
        now, treedef = jax.tree.flatten((args, kwargs), is_leaf=is_leaf)
        if treedef != self.treedef or any(a is not b for a, b in zip(leaves, now)):
            self.trace.refuse("it changes a list or dict that it is called with")

    def _attributes(self):
        """Tensors that the body made attributes of cells: (cell, name, Tensor to be written to, output).

        One that stood there before is written to instead, so that the next run finds it.
        """
        known = {id(v) for v in self.variables}
        found = []
        for cell, before in self.trace.cells.values():
            for name, value in vars(cell).copy().items():
                if not isinstance(value, Tensor) or id(root_of(value)) in known or not is_tracer(value._value):
                    continue
                output = self._output(value._value)
                if id(before.get(name)) in known:
                    self.writes.append((before[name], output))
                    object.__setattr__(cell, name, before[name])
                else:
                    found.append((weakref.ref(cell), name, wrap(None), output))
                    object.__delattr__(cell, name)
        return found

    def program(self, body, before):
        trace = self.trace
        for rewrite in trace.rewrites:
            with CallsAsOutputs():
                self.jaxpr = rewrite(self.jaxpr)
        observing = Observing(self.jaxpr, self.axes)
        avals = [(a.shape, a.dtype) for a in self.jaxpr.in_avals]
        settings: list[object] = []

        def program(*values):
            if [(v.shape, v.dtype) for v in values] != avals:
                raise SignatureChanged
            # jax traces anew for other types, and for other settings of its own, which the jaxpr has from its first time. That the
            # program becomes part of another one is such a setting, too, but makes no difference.
            if not STATE.delivery.outputs:
                now = jax_slots.settings_token()
                if settings and settings[0] is not now:
                    raise SignatureChanged
                settings[:] = [now]
            return observing.compute(values)

        program.__name__ = body.name.replace(" ", "_").replace(".", "_") or "program"
        # A run that is rejected has to leave the earlier values where they are; an input that is an output has to stay, too.
        # What is computed again writes nothing.
        written = () if trace.may_be_rejected or body.again else {id(variable) for variable, _ in self.writes}
        replaced = [i for i, v in enumerate(self.variables) if id(v) in written and i not in observing.passed]
        donated = worth_donating(self.jaxpr.jaxpr, replaced)
        order = observing.order
        return Program(
            variables=self.variables,
            writes=[(variable, order[n]) for variable, n in self.writes],
            written_arguments=[(i, order[n]) for i, n in self.written_arguments],
            attributes=[(cell, name, tensor, order[n]) for cell, name, tensor, n in self.attributes],
            finish=observing.after_run(self.result, self.holes),
            arguments=self.treedef,
            inputs=None if self.treedef is None else self.inputs,
            aliases=self.aliases,
            jitted=self._jitted(program, donated),
            passed=observing.passed,
            donated=donated,
            may_be_rejected=trace.may_be_rejected,
            differentiable_later=self.carries and not (trace.uses_callbacks or self.written_arguments or self.aliases),
            draws=trace.draws,
            before=before,
            tape=self.tape,
            kept=[order[n] for n in self.kept],
            wanted=self.wanted,
        )

    def _jitted(self, program, donated):
        groups = self.trace.groups
        if len(groups) > 1:
            names = ", ".join(sorted(repr(group.name) for group in groups))
            raise NeedsPyNative(f"it communicates in several groups of processes: {names}")
        if groups:
            return next(iter(groups)).jit(program, donate_argnums=donated)
        return compile_program(program, self.jaxpr.jaxpr, donated)


def _is_lazy(value):
    """Whether something gives its items when it is asked for them: those of a program could be read only while it is traced."""
    return isinstance(value, (Iterator, MappingView))


# What is looked at of one program before the heap is searched instead.
_MOST = 200_000
# What doesn't lead to a rule; values least of all, since it is their references that have to be missing from the count.
_OPAQUE = (jax.core.Tracer, Jaxpr, ClosedJaxpr, type, types.ModuleType, str, bytes)


def tensors_kept(jax_trace, equations):
    """Returns the Tensors that hold values of a trace which is over.

    Every value of a trace refers to jax's own trace object. The rules of custom derivatives refer to it, too, and live as long
    as the program. Only if something else does are the Tensors looked for, since that takes a collection and two passes over
    the heap: half a second in a process of a usual size, where the count takes a millisecond.

    Args:
        jax_trace: a weak reference to jax's trace object.
        equations: the equations of the jaxpr that it gave.
    """
    if _held_by_rules_only(jax_trace, equations):
        return []
    gc.collect()
    trace = jax_trace()
    if trace is None:
        return []
    tracers = [o for o in gc.get_referrers(trace) if isinstance(o, jax.core.Tracer)]
    if not tracers:
        return []
    numbers = {id(tracer) for tracer in tracers}
    holders = gc.get_referrers(*tracers)
    # A Tensor refers to its value itself, or by its __dict__.
    dicts = [o for o in holders if type(o) is dict and id(o.get("_value")) in numbers]
    found = [*holders, *(gc.get_referrers(*dicts) if dicts else ())]
    return [o for o in found if isinstance(o, Tensor) and id(o._value) in numbers]


def _held_by_rules_only(jax_trace, equations):
    """True if the trace is gone, or all references to it come from functions among the parameters of the equations."""
    trace = jax_trace()
    if trace is None:
        return True
    # Two more refer to it: the name here, and the argument of getrefcount.
    others = sys.getrefcount(trace) - 2
    seen, found, left = set(), 0, [v for equation in equations for v in equation.params.values()]
    while left and found < others and len(seen) < _MOST:
        value = left.pop()
        if id(value) in seen or isinstance(value, _OPAQUE):
            continue
        seen.add(id(value))
        if isinstance(value, types.FunctionType):
            referents = value.__closure__ or ()  # its globals are a module's, which hold anything
        elif isinstance(value, functools.partial):
            referents = (value.func, *value.args)
        else:
            referents = gc.get_referents(value)
        for referent in referents:
            if referent is trace:
                found += 1
            else:
                left.append(referent)
    return found == others
