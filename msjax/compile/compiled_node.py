"""A compiled function as one node of the tape, for a gradient that is recorded around it in PyNative mode.

Its backward is a second program: it computes the function again from its inputs, and then the gradients. So only the inputs
are kept between the two. A backward that can't be compiled runs in PyNative mode.
"""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp

from msjax.autograd.recording import GradientScope
from msjax.base.state import LOCK, ROOT, STATE, Tracing, swap
from msjax.common.node import FunctionNode, place_on_tape
from msjax.common.tensor import Tensor, tensors_in, wrap
from msjax.compile.compiled import KEPT, Compiled
from msjax.compile.program import SignatureChanged, is_argument
from msjax.compile.snapshot import Snapshot
from msjax.compile.trace import Capture, RunRejected


def run(compiled: Compiled, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a compiled function; put a node on the tape if a gradient of one of its inputs is recorded."""
    program, leaves = compiled.find(args, kwargs)
    if not STATE.recording or program.eager or (program.trains and STATE.scope is ROOT):
        # A step of training differentiates within itself.
        return compiled.run(program, leaves, args, kwargs)
    edges, base = place_on_tape([*program.variables, *filter(is_argument, leaves)])
    if base is None:
        return compiled.run(program, leaves, args, kwargs)
    if STATE.scope.depth > 1:
        # An outer gradient function also differentiates the backward: it has to see each operator.
        return compiled.body(compiled.subject(), args, kwargs)
    gradients = _gradients_of(compiled, program, tuple([edge is not None for edge in edges]))
    with LOCK:
        values = [v._value for v in program.variables]
    saved = [wrap(leaf._value) if is_argument(leaf) else leaf for leaf in leaves]
    node = _Composite(
        base, edges, 0, lambda grads: gradients.run(values, saved, grads), compiled.name, keeps=saved or program.variables
    )

    def place(tensors):
        carries = gradients.carries(saved, tensors, node.nout)
        for i, (tensor, (carried, stopped)) in enumerate(zip(tensors, carries)):
            if carried:
                tensor._node, tensor._oidx = node, node.nout + i
            tensor._stopped = stopped
        node.nout += len(tensors)

    try:
        out = compiled.execute(program, leaves, place)
    except SignatureChanged:
        compiled.forget(program)
        return run(compiled, args, kwargs)
    except RunRejected as rejected:
        return rejected.again(lambda: compiled.run_again(program, args, kwargs))
    place(_results(out))
    return out


class _Composite(FunctionNode):
    __slots__ = ()

    def pull_recorded(self, cts, need):
        raise NotImplementedError(
            f"A second derivative of {self.label}, which is compiled, is not offered here; compile the whole of it, "
            "gradient functions included, or run it in PyNative mode."
        )


def _gradients_of(compiled, program, wanted):
    key = program, wanted
    found = compiled.ways_back.pop(key, None) or _Gradients(compiled, program, wanted)
    while len(compiled.ways_back) >= KEPT:
        del compiled.ways_back[next(iter(compiled.ways_back))]
    compiled.ways_back[key] = found
    return found


class _Gradients:
    """From the gradients of what a program computes to those of what it takes in.

    Arguments that it writes in place count as results, and come before the others.

    Args:
        wanted: for each variable and each argument, whether its gradient is recorded.
    """

    def __init__(self, compiled, program, wanted):
        self.compiled = compiled
        self.program = program
        self.wanted = wanted
        self._programs = {}
        self._carries = {}
        self._traced = None

    def carries(self, saved, tensors, start):
        """For some of the results, those from number `start` on, whether they carry a gradient, and whether that was stopped."""
        found = self._carries.get(start)
        if found is None:
            found = self._carries[start] = self._which_carry(saved, tensors, start)
        return found

    def _which_carry(self, saved, tensors, start):
        everything = [(True, False)] * len(tensors)
        if not self.program.stops_gradients and all(jnp.issubdtype(t._value.dtype, jnp.inexact) for t in tensors):
            return everything
        if self._traced is None:
            # Integers carry one only where operators say so. A trace shows that.
            found = []

            def body(subject, leaves, _kwargs):
                recording, _, outputs = self._forward(subject, leaves)
                found[:] = [(recording.place(out)[0] is not None, out._stopped) for out in outputs]

            self._compiled(body).find(tuple(saved), {})
            self._traced = found
        return self._traced[start : start + len(tensors)] or everything

    def run(self, values, saved, grads):
        """The gradients with respect to the variables and arguments that had these values."""
        given = tuple([g is not None for g in grads])
        compiled = self._programs.get(given)
        if compiled is None:
            compiled = self._programs[given] = self._compiled(
                lambda subject, args, _kwargs: self._both(subject, args[: len(saved)], args[len(saved) :], given)
            )
        cts = [g for g in grads if g is not None]
        found, leaves = compiled.find((*saved, *cts), {})
        if found.eager:
            return self._run_in_pynative_mode(compiled, found, values, saved, cts, given)
        by_id = dict(zip(map(id, self.program.variables), values))
        try:
            result = list(found.run_on([by_id.get(id(v), v._value) for v in found.variables], leaves))
        except RunRejected as rejected:
            return rejected.again(lambda: self._run_in_pynative_mode(compiled, None, values, saved, cts, given))
        self.compiled.after_run()
        return result

    def _compiled(self, body):
        of = self.compiled
        return Compiled(body, of.subject, f"gradient of {of.name}", roots=of.roots, fullgraph=of.fullgraph, again=True)

    def _both(self, subject, leaves, cts, given):
        recording, marks, outputs = self._forward(subject, leaves)
        return self._backward(recording, marks, outputs, cts, given)

    def _forward(self, subject, leaves):
        """The function again, unseen."""
        program, leaves = self.program, list(leaves)
        for i, other in program.aliases:
            leaves[i] = leaves[other] if other >= 0 else program.variables[-1 - other]
        args, kwargs = (tuple(leaves), {}) if program.arguments is None else jax.tree.unflatten(program.arguments, leaves)
        numbers = range(len(leaves)) if program.inputs is None else program.inputs
        passed = [leaves[i] for i in numbers if is_argument(leaves[i])]
        trace = STATE.trace
        trace.silent = True
        with GradientScope() as recording:
            marks = [recording.mark(t) if w else None for t, w in zip([*program.variables, *passed], self.wanted)]
            out = self.compiled.body(subject, args, kwargs)
        trace.comes_to_event()
        trace.silent = False
        return recording, marks, [*[leaves[i] for i, _ in program.written_arguments], *_results(out)]

    def _backward(self, recording, marks, outputs, cts, given):
        there = [out for out, g in zip(outputs, given) if g]
        found = recording.backward(there, list(cts))
        return tuple([None if leaf is None else found.of(leaf) for leaf in marks])

    def _run_in_pynative_mode(self, compiled, fallback, values, saved, cts, given):
        variables, subject = self.program.variables, self.compiled.subject()
        with LOCK:
            now, before = [v._value for v in variables], Snapshot([subject, *self.compiled.roots])
            for variable, value in zip(variables, values):
                variable._value = value
            try:
                with _Unseen():
                    recording, marks, outputs = self._forward(subject, [wrap(v._value) if is_argument(v) else v for v in saved])
            finally:
                for variable, value in zip(variables, now):
                    variable._value = value
                before.restore()
        result = self._backward(recording, marks, outputs, cts, given)
        if fallback is not None:
            compiled.tell(fallback)
        self.compiled.after_run()
        return list(result)


class _Unseen(Tracing):
    """Where a forward runs again in PyNative mode: observers are not called, and what is printed is dropped."""

    silent = True

    def __enter__(self):
        self._swap = swap(trace=self)
        self._swap.__enter__()
        self._stdout, sys.stdout = sys.stdout, Capture(self, sys.stdout)
        return self

    def __exit__(self, *_exception: Any) -> None:
        sys.stdout = self._stdout
        self._swap.__exit__()

    def here(self):
        return True

    def write(self, text: str) -> None:
        """Nothing."""


def _results(out):
    """The Tensors that a call computed."""
    return [out] if out.__class__ is Tensor else list(filter(is_argument, tensors_in(out)))
