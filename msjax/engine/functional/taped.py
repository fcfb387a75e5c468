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
from jax.custom_derivatives import SymbolicZero

from msjax.common.run_state import LOCK, STATE, Scope
from msjax.common.tensor import Tensor, wrap
from msjax.common.tensor_values import TENSORS
from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer, staged
from msjax.core.door import ACTIVITY, CallbackBatch, ProgramUnderWay
from msjax.engine.autograd.recording import GradientScope
from msjax.engine.autograd.traced_tape import TracedTape


class FunctionalRun(ProgramUnderWay):
    """A functionalized network while it runs.

    Args:
        on_tape (bool): whether its gradient comes from the tape; if not, nodes that call hooks with gradients are identities of jax.

    Attributes:
        hooks_gradients: whether there were such nodes.
    """

    functional = True

    def __init__(self, on_tape: bool):
        super().__init__()
        self.on_tape = on_tape
        self.hooks_gradients = False
        self.outer = STATE.trace
        self.world = jax_slots.trace_state()
        # Not under jax.jit: loops run at once, and what jax traces otherwise has its values.
        self.eager = not staged()

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
        self._swap = STATE.swap(scope=Scope(None), recording=True, trace=self.run)
        self._swap.__enter__()
        for variable, value in zip(self.variables, self.values):
            variable._hold(value)
        return self

    def __exit__(self, *_exception: Any) -> None:
        for variable, value, place in zip(self.variables, self._held, self._places):
            variable._hold(value)
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
            tape = TracedTape(scope, outputs, [*weights, *(leaf for leaf in marked if leaf.requested)], marked, weights)
            results = [t._value for t in outputs]
        done = [] if calls.done is None or not is_tracer(calls.done) else [calls.done]
        numbers = [i for i, w in enumerate(wanted) if w]
        return results, _Residuals((tape, numbers), [tape.take_values(), list(arrays[:n]), done])

    def backward(residuals, cts):
        (tape, numbers), (kept, held, done) = residuals.recorded, residuals.values
        grads: list[Any] = [None] * (n + len(arguments))
        tape.put_back(kept)
        try:
            with Installed(variables, held, True), STATE.swap(recording=False), CallbackBatch() as calls:
                calls.done = done[0] if done else None
                found = tape.run_backward([None if isinstance(ct, SymbolicZero) else ct for ct in cts])
                calls.flush()
                if calls.done is not None:
                    # Calls of the forward pass, too: jax.grad drops its outputs, and gradients may need none of its values.
                    if found and all(grad is None for grad in found):
                        # No gradient arrives, but jax drops calls that no result depends on.
                        found[0] = tape.zeros(0)
                    found = calls.add_dependency(TENSORS, found)
        finally:
            tape.forget_values()
        for i, grad in zip(numbers, found):
            grads[i] = None if grad is None else grad._value
        return tuple(grads)

    call.defvjp(forward, backward, symbolic_zeros=True)
    return call(*values, *arguments)


class _Residuals:
    """What the forward rule hands to the backward rule: arrays, and (the tape that they belong to, the numbers of the inputs whose
    gradients are asked for)."""

    def __init__(self, recorded: Any, values: Any):
        self.recorded = recorded
        self.values = values


jax.tree_util.register_pytree_node(
    _Residuals, lambda r: ((r.values,), r.recorded), lambda recorded, values: _Residuals(recorded, *values)
)
