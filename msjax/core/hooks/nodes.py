"""Identities of jax whose backward calls a function of the gradients, where jax differentiates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from msjax.core.base.arrays import CONCRETE, is_tracer
from msjax.core.base.state import STATE
from msjax.core.hooks.batching import after_latest_call, tie_calls_to

if TYPE_CHECKING:
    from msjax.core.hooks.kinds import ValueKind


def under_jax_transform(arrays: Iterable[Any]) -> bool:
    """Whether jax, not the tape, differentiates these arrays: under a jax transformation, also inside of a program."""
    for array in arrays:
        if array.__class__ not in CONCRETE and is_tracer(array):
            found = STATE.differentiated_by_jax()
            if found:
                STATE.comes_to_node()
            return found
    return False


def through_custom_vjp(
    values: ValueKind, given: Sequence[Any], function: Callable[[list[Any]], Sequence[Any]], flags: list[bool] | None = None
) -> list[Any]:
    """Pass values through an identity whose backward applies a function to their gradients.

    Args:
        values (Values): says what a value is.
        given: the values. Those that jax doesn't trace, or that are no floating-point numbers, stay as they are.
        function: takes and returns a list with one gradient (a value, or None) for each of them.
        flags: a list; when jax differentiates, it is filled with whether each value carries a gradient.
    """
    flags = [] if flags is None else flags
    arrays = [values.raw(value) for value in given]
    at = [i for i, array in enumerate(arrays) if is_tracer(array) and jnp.issubdtype(array.dtype, jnp.inexact)]
    if not at:
        return list(given)

    # The rules outlive the trace with the compiled program, so they must not hold tracers.
    count, owners = len(given), tuple(STATE.owners)

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
                grads[i] = values.made(ct)
        # A hook may return gradients that don't depend on those that it, or one before it, has looked at.
        with STATE.swap(recording=False, pulled=owners), tie_calls_to(values, grads):
            given = list(grads)
            grads[:] = function(grads)
            modified = any(new is not old for new, old in zip(grads, given))
        if modified:
            grads = after_latest_call(values, grads)
        return tuple(None if grads[i] is None else values.raw(grads[i]) for i in at)

    identity.defvjp(forward, backward, symbolic_zeros=True)
    out = list(given)
    passed = identity(*[arrays[i] for i in at])
    for i, array in zip(at, passed):
        # What carries no gradient stays apart: jax gives all results of the identity one if any does.
        if not flags or flags[i]:
            out[i] = values.made(array)
    return out
