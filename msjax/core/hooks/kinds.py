"""What the parts of the protocol know of the values that hooks get, and of the frames that hooks stand around."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Protocol, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer


def replaces_nothing(result: object) -> bool:
    """Whether a hook of arrays returned None, or a container of nothing but None, as ``jax.tree.map(log.append, output)`` does."""
    if result is None:
        return True
    if not isinstance(result, (list, tuple, dict)) or not result:
        return False
    return all(leaf is None for leaf in jax.tree.leaves(result, is_leaf=lambda leaf: leaf is None))


# Classes of values that are neither containers nor tracers; that of jax's arrays is added when the first of them comes.
_KNOWN: set[type[Any]] = {bool, int, float, complex, str, type(None), np.ndarray}


def are_known(args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> bool:
    """Whether all arguments are arrays with values, and numbers, none of them in a container."""
    for value in (*args, *kwargs.values()) if kwargs else args:
        if value.__class__ not in _KNOWN:
            if is_tracer(value) or not isinstance(value, jax.Array):
                return False
            _KNOWN.add(value.__class__)
    return True


class ValueKind:
    """A kind of values in nested containers: jax arrays in pytrees, unless a subclass says otherwise.

    Attributes:
        noun: what a value is called in messages.
        reading: how a hook reads one.
        uncompiled: what else to do where a hook has to.
    """

    noun = "array"
    reading = "np.asarray"
    uncompiled = "call the model outside of jit"

    # ---- values in containers

    def is_leaf(self, value: Any) -> bool:
        """For jax.tree's `is_leaf`: what is not taken apart. Modules and variables go through as they are; None is no empty tree."""
        return value is None or _is_of_nnx(value)

    def is_value(self, leaf: Any) -> TypeGuard[Any]:
        """Whether a leaf is a value: hooks of gradients count these."""
        return isinstance(leaf, (jax.Array, np.ndarray)) and not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)

    def is_fixed(self, leaf: Any) -> bool:
        """Whether an observer is to get the leaf itself, although it is a value."""
        return False

    def raw(self, leaf: Any) -> Any:
        """The array of a value."""
        return leaf

    def made(self, array: Any) -> Any:
        """A value of an array."""
        return array

    def is_nothing(self, result: Any) -> bool:
        """Whether what a hook returned replaces nothing; see `replaces_nothing`."""
        return replaces_nothing(result)

    def find(self, tree: Any) -> tuple[list[Any], Any, list[int]]:
        """(leaves, treedef, the numbers of the leaves that are values)."""
        leaves, treedef = jax.tree.flatten(tree, is_leaf=self.is_leaf)
        return leaves, treedef, [i for i, leaf in enumerate(leaves) if self.is_value(leaf)]

    def arrays(self, tree: Any) -> list[Any]:
        """The arrays of the values in nested containers."""
        leaves, _, at = self.find(tree)
        return [self.raw(leaves[i]) for i in at]

    def has_tracers(self, args: Any, kwargs: Any = None) -> bool:
        """Whether jax traces a value among the arguments of a call."""
        if are_known(args, kwargs) or jax_slots.trace_state() == jax_slots.NO_TRACE:
            return False
        return any(map(is_tracer, jax.tree.leaves((args, kwargs), is_leaf=self.is_leaf)))

    def depending(self, array: Any, value: Any) -> Any:
        """A value of an array, in the place of another one that has the same gradient."""
        return array


class FrameKind(Protocol):
    """What delivers hooks knows of the frame that they stand around.

    Attributes:
        values: the `Values` that hooks get.
        subject: what the hooks are registered on, or None.
        owners: the owners of hooks around it, for messages, or None.
    """

    values: Any
    subject: Any

    @property
    def owners(self) -> tuple[Any, ...] | None: ...

    def call(self, fn: Callable[..., Any], given: Any) -> Any:
        """Call a hook at once."""
        ...

    def head(self) -> tuple[Callable[[], Any], ...]:
        """Functions whose results are the first arguments of a hook that is called after the run of a program."""
        ...


def _is_of_nnx(value):
    # flax is not imported for that: without it, there are no modules of it.
    nnx: Any = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(value, (nnx.Module, nnx.Variable, nnx.Rngs, nnx.RngStream))
