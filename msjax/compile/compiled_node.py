"""A compiled function as one step on the tape, for a gradient that is recorded around it in PyNative mode.

Its way back is a program of its own, which computes the function again from the values that it had, and
then the gradients: nothing is kept for it but those values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from msjax.autograd.recording import GradientScope
from msjax.common.node import FunctionNode, place_on_tape
from msjax.common.tensor import Tensor, tensors_in, wrap
from msjax.compile.program import Compiled, SignatureChanged, is_argument, keep
from msjax.state import LOCK, ROOT, STATE

if TYPE_CHECKING:
    pass


def record(compiled: Any, program: Any, leaves: Any, args: Any, kwargs: Any) -> Any:
    """Call a compiled function and, if a gradient is recorded for something that it takes in, put one node for it on the tape."""
    if program.eager or (program.trains and STATE.scope is ROOT):
        # A step of training differentiates within itself.
        return compiled.run(program, leaves, args, kwargs)
    edges, base = place_on_tape([*program.variables, *filter(is_argument, leaves)])
    if base is None:
        return compiled.run(program, leaves, args, kwargs)
    if STATE.scope.depth > 1:
        # An outer gradient function differentiates the way back, too: it has to see each step.
        return compiled.body(compiled.subject(), args, kwargs)
    with LOCK:
        values = [v._value for v in program.variables]
    saved = [wrap(leaf._value) if is_argument(leaf) else leaf for leaf in leaves]
    wanted = tuple([edge is not None for edge in edges])
    try:
        out = program.run(leaves)
    except SignatureChanged:
        compiled.forget(program)
        program, leaves = compiled.find(args, kwargs)
        return record(compiled, program, leaves, args, kwargs)
    tensors = _results(out)

    def back(grads):
        given = tuple(g is not None for g in grads)
        way = _way_back(compiled, program, wanted, given, len(leaves))
        cts = [g for g in grads if g is not None]
        arguments = [*saved, *cts]
        found, leaves_back = way.find(tuple(arguments), {})
        if found.eager:
            raise NotImplementedError(f"The gradient of {compiled.name}, as it is compiled, can't be compiled: {found.why}")
        by_id = dict(zip(map(id, program.variables), values))
        return list(found.run_on([by_id.get(id(v), v._value) for v in found.variables], leaves_back))

    node = _Composite(base, edges, len(tensors), back, compiled.name, keeps=tensors)
    for i, tensor in enumerate(tensors):
        if jnp.issubdtype(tensor._value.dtype, jnp.inexact):
            tensor._node, tensor._oidx = node, i
    return out


class _Composite(FunctionNode):
    __slots__ = ()

    def pull_recorded(self, cts, need):
        raise NotImplementedError(
            f"A second derivative of {self.label}, which is compiled, is not offered here; compile the whole of it, "
            "gradient functions included, or run it in PyNative mode."
        )


def _way_back(compiled, program, wanted, given, n_leaves):
    key = (program, wanted, given)
    found = compiled.ways_back.get(key)
    if found is None:
        found = Compiled(
            _gradients(compiled, program, wanted, given, n_leaves),
            compiled.subject,
            f"gradient of {compiled.name}",
            roots=compiled.roots,
            fullgraph=True,
        )
        keep(compiled.ways_back, key, found)
    return found


def _gradients(compiled, program, wanted, given, n_leaves):
    """The body of a way back: the function again, unseen, and the sweep."""
    treedef, variables = program.arguments, program.variables
    inputs = program.inputs

    def body(subject, args, kwargs):
        leaves, cts = list(args[:n_leaves]), args[n_leaves:]
        call_args, call_kwargs = (tuple(leaves), {}) if treedef is None else jax.tree.unflatten(treedef, leaves)
        numbers = range(n_leaves) if inputs is None else inputs
        passed = [leaves[i] for i in numbers if is_argument(leaves[i])]
        trace = STATE.trace
        trace.silent = True
        with GradientScope() as recording:
            marks = [recording.mark(t) if w else None for t, w in zip([*variables, *passed], wanted)]
            out = compiled.body(subject, call_args, call_kwargs)
        trace.flush_text()
        trace.silent = False
        rest = iter(cts)
        pairs = [(o, next(rest)) for o, there in zip(_results(out), given) if there]
        found = recording.backward([o for o, _ in pairs], [c for _, c in pairs])
        return tuple(None if leaf is None else found.of(leaf) for leaf in marks)

    return body


def _results(out):
    """The Tensors that a call computed."""
    return [out] if out.__class__ is Tensor else list(filter(is_argument, tensors_in(out)))
