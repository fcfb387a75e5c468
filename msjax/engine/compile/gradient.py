"""A compiled function as one node of the tape, for a gradient that is recorded around it in PyNative mode.

Its forward pass is traced a second time, recorded on a tape of its own (`msjax.engine.autograd.traced_tape`), as a program whose results are
what the tape's nodes keep. The backward pass, a program as well, begins with that program and goes back over the tape. So only the
inputs are kept between forward and backward, as under `jax.checkpoint`. A backward pass that can't be traced goes back over the same
tape in PyNative mode, with the values that the recorded forward pass has computed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.node import FunctionNode, place_on_tape
from msjax.common.run_state import LOCK, ROOT, STATE
from msjax.common.tensor import Tensor, tensors_in, wrap
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.recording import GradientScope
from msjax.engine.autograd.traced_tape import TracedTape
from msjax.engine.compile.compiled import KEPT, Compiled
from msjax.engine.compile.program import Program, SignatureChanged, is_argument
from msjax.engine.compile.trace import RunRejected


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
    gradient = _gradient_of(compiled, program, tuple([edge is not None for edge in edges]))
    with LOCK:
        values = [v._value for v in program.variables]
    saved = [wrap(leaf._value) if is_argument(leaf) else leaf for leaf in leaves]
    node = _Composite(
        base, edges, 0, lambda grads: gradient.run(values, saved, grads), compiled.name, keeps=saved or program.variables
    )

    def place(tensors):
        carries = gradient.carries(saved, tensors, node.nout)
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
        rejected.call = compiled.subject(), args, kwargs
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


def _gradient_of(compiled, program, wanted):
    key = program, wanted
    found = compiled.ways_back.pop(key, None) or _Gradient(compiled, program, wanted)
    while len(compiled.ways_back) >= KEPT:
        del compiled.ways_back[next(iter(compiled.ways_back))]
    compiled.ways_back[key] = found
    return found


class _Gradient:
    """From the gradients of what a program computes to those of what it takes in.

    Arguments that it writes in place count as results, and come before the others.

    Args:
        wanted: for each variable and each argument, whether its gradient is recorded.
    """

    def __init__(self, compiled: Compiled, program: Program, wanted: tuple[bool, ...]):
        self.compiled = compiled
        self.program = program
        self.wanted = wanted
        self._recording = _Recorded(self._record, compiled, program)
        self._tape: TracedTape | None = None  # of the trace that is just over
        self._tapes: weakref.WeakKeyDictionary[Program, TracedTape] = weakref.WeakKeyDictionary()
        self._backwards: dict[tuple[bool, ...], _Backward] = {}
        self._all_carry: dict[int, bool] = {}

    def carries(self, saved: Sequence[Any], tensors: Sequence[Tensor], start: int) -> Sequence[tuple[bool, bool]]:
        """For some of the results, those from number `start` on, whether they carry a gradient, and whether that was stopped."""
        everything = self._all_carry.get(start)
        if everything is None:
            # Integers carry one only where operators say so. The tape shows that.
            everything = self._all_carry[start] = not self.program.stops_gradients and all(
                jnp.issubdtype(t._value.dtype, jnp.inexact) for t in tensors
            )
        if everything:
            return [(True, False)] * len(tensors)
        return self.recorded(saved)[1].carries[start : start + len(tensors)]

    def recorded(self, saved: Sequence[Any]) -> tuple[Program, TracedTape]:
        """The program that computes what the nodes of the forward pass keep, and the tape of these nodes.

        Raises:
            RuntimeError: the forward pass can be traced, but not while it is recorded.
        """
        forward, _ = self._recording.find(tuple(saved), {})
        if forward.eager:
            raise RuntimeError(
                f"The gradient of {self.compiled.name}, which is compiled, can't be traced: {forward.why}. Run it in PyNative mode."
            ) from forward.error
        if self._tape is not None:
            self._tapes[forward], self._tape = self._tape, None
        return forward, self._tapes[forward]

    def run(self, values: Sequence[JaxArray], saved: Sequence[Any], grads: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The gradients with respect to the variables and arguments that had these values."""
        given = tuple([g is not None for g in grads])
        backward = self._backwards.get(given)
        if backward is None:
            backward = self._backwards[given] = _Backward(self, given, len(saved))
        cts = [g for g in grads if g is not None]
        found, leaves = backward.find((*saved, *cts), {})
        by_id = dict(zip(map(id, self.program.variables), values))

        def run_on(program, leaves):
            return program.run_on([by_id.get(id(v), v._value) for v in program.variables], leaves)

        def in_pynative_mode():
            forward, tape = self.recorded(saved)
            return self.go_back(forward, tape, run_on(forward, saved), cts, given)

        if found.eager:
            result = in_pynative_mode()
            backward.tell(found)
        else:
            try:
                result = run_on(found, leaves)
            except RunRejected as rejected:
                return rejected.again(in_pynative_mode)
        self.compiled.after_run()
        return list(result)

    def go_back(
        self, forward: Program, tape: TracedTape, kept: Sequence[Tensor], cts: Sequence[Tensor], given: tuple[bool, ...]
    ) -> tuple[Tensor | None, ...]:
        """The gradients that come back over the tape, zeros where none arrives; None for what has none.

        Args:
            kept: what `forward` has computed.
            cts: the gradients of the results that `given` says.
        """
        rest = iter(cts)
        with LOCK:
            # A node may keep a variable.
            before = [(v, v._value) for v in forward.variables]
            tape.put_back([t._value for t in kept])
            try:
                found = tape.run_backward([next(rest)._value if there else None for there in given])
            finally:
                tape.forget_values()
                for variable, value in before:
                    variable._hold(value)
        arrived = iter([tape.zeros(i) if grad is None else grad for i, grad in enumerate(found)])
        return tuple([next(arrived) if wanted else None for wanted in self.wanted])

    def _record(self, subject, given, _kwargs):
        """The body of the recorded forward pass: what its nodes keep."""
        program = self.program
        before = [(v, v._value) for v in program.variables]
        leaves = [wrap(leaf._value) if is_argument(leaf) else leaf for leaf in given]
        for i, other in program.aliases:
            leaves[i] = leaves[other] if other >= 0 else program.variables[-1 - other]
        args, kwargs = (tuple(leaves), {}) if program.arguments is None else jax.tree.unflatten(program.arguments, leaves)
        numbers = range(len(leaves)) if program.inputs is None else program.inputs
        passed = [leaves[i] for i in numbers if is_argument(leaves[i])]
        inputs = [*program.variables, *passed]
        with GradientScope() as scope:
            marks = [scope.mark(t) if wanted else None for t, wanted in zip(inputs, self.wanted)]
            for leaf in marks[: len(program.variables)]:
                if leaf is not None:
                    leaf.earlier = (None,)  # a variable's hooks get its whole gradient, outside
            out = self.compiled.body(subject, args, kwargs)
            outputs = [*[leaves[i] for i, _ in program.written_arguments], *_results(out)]
            asked = [leaf for leaf in marks if leaf is not None]
            tape = TracedTape(scope, outputs, asked, [leaf for leaf in marks[len(program.variables) :] if leaf is not None])
            kept = [wrap(value) for value in tape.take_values()]
        for variable, value in before:
            variable._hold(value)  # it writes nothing
        self._tape = tape
        return kept


class _Recorded(Compiled):
    """The recorded forward pass of a compiled function, which has run: observers have been called, and texts printed."""

    drops_events = True

    def __init__(self, body: Callable[..., Any], of: Compiled, program: Program):
        super().__init__(body, of.subject, f"gradient of {of.name}", roots=of.roots, fullgraph=of.fullgraph, again=True)
        self._draws = program.draws

    def draws_before(self) -> list[tuple[Any, Any]]:
        return list(self._draws)


class _Backward(Compiled):
    """The backward pass of a compiled function, for gradients of some of its results.

    Args:
        given: for each result, whether it has a gradient.
        n: how many arguments the function has; the gradients come behind them.
    """

    def __init__(self, gradient: _Gradient, given: tuple[bool, ...], n: int):
        of = gradient.compiled
        super().__init__(self._body, of.subject, f"gradient of {of.name}", roots=of.roots, fullgraph=of.fullgraph, again=True)
        self._gradient = gradient
        self._given = given
        self._n = n
        self._forward: tuple[Program, TracedTape] | None = None

    def _make(self, environment, key, leaves, treedef, objects, walk):
        # Traced for itself, before the program that it is a part of.
        self._forward = self._gradient.recorded(leaves[: self._n])
        try:
            return super()._make(environment, key, leaves, treedef, objects, walk)
        finally:
            self._forward = None

    def _body(self, _subject, args, _kwargs):
        forward, tape = self._forward  # pyright: ignore[reportGeneralTypeIssues]
        STATE.used(forward.variables)
        kept = forward.run_on([v._value for v in forward.variables], args[: self._n])
        return self._gradient.go_back(forward, tape, kept, args[self._n :], self._given)


def _results(out):
    """The Tensors that a call computed."""
    return [out] if out.__class__ is Tensor else list(filter(is_argument, tensors_in(out)))
