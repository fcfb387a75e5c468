"""What tools compute of values that `jax.vmap` maps over: one result for all examples."""

from __future__ import annotations

from collections.abc import Callable

import jax
from jax.custom_batching import custom_vmap


def of_all_examples(fn: Callable[[jax.Array], jax.Array]) -> Callable[[jax.Array], jax.Array]:
    """A function of an array, with any number of axes, in a program: under `jax.vmap` it gets the array of all examples, with an axis of them.

    So what is told of its result is told once, not once for each example. No gradient goes through it.
    """

    @custom_vmap
    def whole(value):
        return fn(value)

    @whole.def_vmap
    def _(size, batched, value):
        return whole(value), False

    return lambda value: whole(jax.lax.stop_gradient(value))
