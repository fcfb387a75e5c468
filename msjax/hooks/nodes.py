"""Hook nodes: identities whose backward calls hooks with the gradients that flow through them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from msjax.base.arrays import CONCRETE, is_tracer
from msjax.base.state import STATE, swap
from msjax.common.node import FunctionNode, place_on_tape
from msjax.common.tensor import Tensor, wrap
from msjax.hooks.batching import no_batch


def hook_gradients(tensors: Sequence[Tensor], function: Callable[..., Any], label: str) -> list[Tensor]:
    """Pass Tensors through an identity whose backward applies `function` to their gradients.

    Args:
        tensors: a list of Tensors.
        function: takes and returns a list with one gradient (Tensor or None) for each Tensor.
        label: the node's name.
    """
    edges, base = place_on_tape(tensors)
    if base is None:
        outputs = through_custom_vjp(tensors, function) if under_jax_transform(tensors) else list(tensors)
    else:
        node = FunctionNode(base, edges, len(tensors), function, label)
        outputs = outputs_of(node, tensors, [e is not None for e in edges])
    # New Tensors, with or without a gradient: a write to the given one leaves them as they are.
    return [wrap(new._value) if new is old else new for new, old in zip(outputs, tensors)]


def under_jax_transform(tensors: list[Tensor]) -> bool:
    """True if jax, not the tape, differentiates these Tensors: under a jax transformation, also inside of a program."""
    trace = STATE.trace
    for tensor in tensors:
        if tensor._value.__class__ not in CONCRETE and is_tracer(tensor._value):
            if trace is None or not trace.here():
                return True
            trace.needs_node()
            return False
    return False


def through_custom_vjp(tensors: list[Tensor], function: Callable[..., Any], flags: list[Any] | None = None) -> list[Tensor]:
    """The same as `hook_gradients` under a jax transformation, as a custom_vjp.

    Args:
        flags: a list; when jax differentiates, it is filled with whether each Tensor carries a gradient.
    """
    flags = [] if flags is None else flags
    at = [i for i, t in enumerate(tensors) if is_tracer(t._value) and jnp.issubdtype(t._value.dtype, jnp.inexact)]
    if not at:
        return list(tensors)

    # The rules outlive the trace with the compiled program, so they must not hold tracers.
    count = len(tensors)

    @jax.custom_vjp
    def identity(*values):
        return values

    def forward(*values):
        flags[:] = [False] * count
        for i, value in zip(at, values):
            flags[i] = value.perturbed
        return tuple(value.value for value in values), None

    def backward(_, cts):
        grads = [None] * count
        for i, ct in zip(at, cts):
            if flags[i] and not isinstance(ct, jax.custom_derivatives.SymbolicZero):
                grads[i] = wrap(ct)
        with swap(recording=False), no_batch():
            grads = function(grads)
        return tuple(None if grads[i] is None else grads[i]._value for i in at)

    identity.defvjp(forward, backward, symbolic_zeros=True)
    out = list(tensors)
    for i, value in zip(at, identity(*[tensors[i]._value for i in at])):
        out[i] = wrap(value)
    return out


def outputs_of(node: FunctionNode, tensors: list[Tensor], on_tape: list[bool]) -> list[Tensor]:
    """The Tensors, those on the tape replaced by copies that are the outputs of a node."""
    return [wrap(t._value, node, i) if there else t for i, (t, there) in enumerate(zip(tensors, on_tape))]
