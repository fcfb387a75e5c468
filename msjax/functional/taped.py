"""Runs a network on msjax's tape where jax differentiates it.

A functionalized network whose gradient passes hooks is one `jax.custom_vjp`: its forward rule records the network on the
tape, as PyNative mode does, and its backward rule goes back over the recorded nodes. So hooks are called in PyNative
mode's order and with its arguments, whichever transformation jax applies. What the nodes keep of the forward pass leaves
the forward rule as residuals, and is put back into the nodes in the backward rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp

from msjax.autograd.backward import run_backward
from msjax.autograd.op import OpNode
from msjax.autograd.recording import GradientScope
from msjax.base import jax_slots
from msjax.base.arrays import is_tracer, known_value
from msjax.base.state import ACTIVITY, LOCK, STATE, Scope, Tracing, swap
from msjax.common.node import FunctionNode, Node
from msjax.common.tensor import Tensor, wrap
from msjax.common.tensor_values import TENSORS
from msjax.hooks.batching import CallbackBatch


class FunctionalRun(Tracing):
    """A functionalized network while it runs.

    Args:
        on_tape (bool): whether its gradient comes from the tape; if not, nodes that call hooks with gradients are identities of jax.

    Attributes:
        hooks_gradients: whether there were such nodes.
    """

    def __init__(self, on_tape: bool):
        super().__init__()
        self.on_tape = on_tape
        self.hooks_gradients = False
        self.outer = STATE.trace
        self.silent = self.outer is not None and self.outer.silent
        self.world = jax_slots.trace_state()
        # Not under jax.jit: loops run at once, and what jax traces otherwise has its values.
        self.eager = known_value(jnp.zeros(())) is not None

    def here(self) -> bool:
        return jax_slots.trace_state() == self.world

    def see(self, operands: Sequence[Any]) -> None:
        if self.outer is not None:
            self.outer.see(operands)

    def entered(self, owner: Any) -> None:
        if self.outer is not None:
            self.outer.entered(owner)

    def differentiated_by_jax(self) -> bool:
        self.hooks_gradients = not self.on_tape
        return not self.on_tape

    def comes_to_event(self) -> None:
        if self.outer is not None:
            self.outer.comes_to_event()
        elif self.eager:
            ACTIVITY.callbacks = True


class Installed:
    """A context manager: variables have other values, in a world of its own; afterwards they are what they were."""

    def __init__(self, variables: Sequence[Tensor], values: Sequence[jax.Array], on_tape: bool):
        self.variables = variables
        self.values = values
        self.run = FunctionalRun(on_tape)

    def __enter__(self) -> Self:
        LOCK.acquire()
        self._held = [v._value for v in self.variables]
        self._places = [{name: v.__dict__[name] for name in ("_node", "_oidx") if name in v.__dict__} for v in self.variables]
        self._swap = swap(scope=Scope(None), recording=True, functional=True, trace=self.run)
        self._swap.__enter__()
        for variable, value in zip(self.variables, self.values):
            variable._value = value
        return self

    def __exit__(self, *_exception: Any) -> None:
        for variable, value, place in zip(self.variables, self._held, self._places):
            variable._value = value
            for name in ("_node", "_oidx"):
                variable.__dict__.pop(name, None)
            variable.__dict__.update(place)
        STATE.scope.open = False
        self._swap.__exit__()
        LOCK.release()


def run_taped(
    variables: Sequence[Tensor],
    values: Sequence[jax.Array],
    arguments: Sequence[jax.Array],
    body: Callable[[list[Tensor]], tuple[list[Tensor], list[Tensor]]],
) -> list[jax.Array]:
    """Run a body so that its gradient comes from the tape.

    Args:
        variables: the Tensors that the body reads from outside.
        values: what they hold while it runs.
        arguments: further arrays.
        body (callable): from a Tensor for each argument to two lists of Tensors: what waits for the hook calls of a compiled
            program, and what doesn't.

    Returns:
        The values of both lists.
    """
    n = len(variables)

    @jax.custom_vjp
    def call(*arrays):
        with Installed(variables, arrays[:n], True), CallbackBatch() as calls:
            outputs, state = body([wrap(a) for a in arrays[n:]])
            return [t._value for t in (*calls.add_dependency(TENSORS, outputs), *state)]

    def forward(*primals):
        arrays = [p.value for p in primals]
        wanted = [p.perturbed and jnp.issubdtype(p.value.dtype, jnp.inexact) for p in primals]
        with Installed(variables, arrays[:n], True), GradientScope() as scope, CallbackBatch() as calls:
            inputs = [*variables, *map(wrap, arrays[n:])]
            weights = scope.weights([t for t, w in zip(variables, wanted) if w])
            # As in ms.grad, an argument whose gradient nobody asks for has one all the same where hooks look at it.
            marked = [scope.mark(t, w) for t, w in zip(inputs[n:], wanted[n:]) if w or t.is_floating_point()]
            outputs, state = body(inputs[n:])
            outputs = [*calls.add_dependency(TENSORS, outputs), *state]
            tape = _Tape(outputs, weights, marked, [i for i, w in enumerate(wanted) if w])
            results = [t._value for t in outputs]
        done = [] if calls.done is None or not is_tracer(calls.done) else [calls.done]
        return results, _Residuals(tape, [tape.take_values(), list(arrays[:n]), done])

    def backward(residuals, cts):
        tape, (kept, held, done) = residuals.tape, residuals.values
        grads: list[Any] = [None] * (n + len(arguments))
        tape.put_back(kept)
        try:
            with Installed(variables, held, True), swap(recording=False), CallbackBatch() as calls:
                calls.done = done[0] if done else None
                found = tape.run_backward(cts)
                calls.flush()
                if calls.done is not None:
                    # Calls of the forward pass, too: jax.grad drops its outputs, and gradients may need none of its values.
                    if found and all(grad is None for grad in found):
                        # No gradient arrives, but jax drops calls that no result depends on.
                        found[0] = tape.zeros(0)
                    found = calls.add_dependency(TENSORS, found)
        finally:
            tape.forget_values()
        for i, grad in zip(tape.wanted, found):
            grads[i] = None if grad is None else grad._value
        return tuple(grads)

    call.defvjp(forward, backward, symbolic_zeros=True)
    return call(*values, *arguments)


class _Residuals:
    """What the forward rule hands to the backward rule: arrays, and the tape that they belong to."""

    def __init__(self, tape: Any, values: Any):
        self.tape = tape
        self.values = values


jax.tree_util.register_pytree_node(_Residuals, lambda r: ((r.values,), r.tape), lambda tape, values: _Residuals(tape, *values))


class _Tape:
    """The recorded nodes of one traced forward pass; between the rules they hold no values.

    Args:
        outputs: the Tensors that the body returned.
        weights: the leaves of Parameters, whose hooks get zeros where no gradient arrives.
        marked: the leaves of arguments.
        wanted: the numbers of the inputs whose gradients are asked for.
    """

    def __init__(self, outputs: Any, weights: Any, marked: Any, wanted: Any):
        self.ends = [(t._node, t._oidx) for t in outputs]
        self.weights = dict.fromkeys(weights)
        self.marked = marked
        self.leaves = [*weights, *(leaf for leaf in marked if leaf.requested)]
        self.wanted = wanted
        self.nodes = _reached([node for node, _ in self.ends if node is not None])
        self.structures: list[Any] = []

    def take_values(self) -> list[Any]:
        """Take out of the nodes what belongs to the present trace; `put_back` is its inverse."""
        taken = []
        for node in self.nodes:
            if isinstance(node, OpNode) and node.residuals is None:
                leaves, treedef = jax.tree.flatten(node.pullback.vjp)
                node.pullback.out = None
            elif isinstance(node, FunctionNode) and node.keeps:
                leaves, treedef = [t._value for t in node.keeps], None
            else:
                continue
            self.structures.append((node, treedef, [None if is_tracer(leaf) else (leaf,) for leaf in leaves]))
            taken += filter(is_tracer, leaves)
        for leaf in self.marked:
            _keep_type(leaf.tensor)
        self.forget_values()
        return taken

    def forget_values(self) -> None:
        """Leave no tracer in the nodes."""
        for node, treedef, _ in self.structures:
            if treedef is not None:
                node.pullback.vjp = None
            else:
                for tensor in node.keeps:
                    _keep_type(tensor)

    def put_back(self, values: Sequence[Any]) -> None:
        rest = iter(values)
        for node, treedef, known in self.structures:
            leaves = [next(rest) if leaf is None else leaf[0] for leaf in known]
            if treedef is not None:
                node.pullback.vjp = jax.tree.unflatten(treedef, leaves)
            else:
                for tensor, leaf in zip(node.keeps, leaves):
                    tensor._value = leaf

    def zeros(self, number: int) -> Tensor:
        """A zero gradient of a leaf."""
        value = self.leaves[number].tensor._value
        return wrap(jnp.zeros(value.shape, value.dtype))

    def run_backward(self, cts: Sequence[Any]) -> list[Any]:
        """The gradients of the leaves, as Tensors, None where none arrives."""
        roots = [
            (node, i, ct)
            for (node, i), ct in zip(self.ends, cts)
            if node is not None and not isinstance(ct, jax.custom_derivatives.SymbolicZero)
        ]
        found = run_backward(roots, set(self.leaves), keep=True, weights=self.weights)
        return [wrap(found[leaf]) if leaf in found else None for leaf in self.leaves]


def _keep_type(tensor):
    tensor._value = jax.ShapeDtypeStruct(tensor._value.shape, tensor._value.dtype)


def _reached(stack: list[Node]) -> list[Node]:
    seen: dict[Node, None] = {}
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            stack += [edge[0] for edge in node.edges or () if edge is not None]
            if node.also_run is not None:
                stack.append(node.also_run)
    return list(seen)
