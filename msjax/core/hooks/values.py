"""What the protocol of hooks works on: the values among the arguments and results of a call.

`ARRAYS` finds jax arrays in pytrees: for modules of other frameworks and for plain functions. `msjax.common.tensor_values.TENSORS`
finds Tensors, for Cells, and knows the tape.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer
from msjax.core.hooks.nodes import through_custom_vjp, under_jax_transform
from msjax.core.hooks.returns import replaces_nothing
from msjax.core.hooks.slots import Slot

if TYPE_CHECKING:
    from msjax.core.hooks.protocol import CallFrame
    from msjax.core.hooks.table import Hook, HookTable


class ModuleSubject:
    """A module of another framework as the first argument of hooks.

    Attributes:
        during: what hooks that run during the call get, if it is not what `later` returns. It may hold values that jax traces, and
            is not kept beyond the call.
        later: a function that returns what hooks get after the run of a program.
        present: a function that returns the module's present HookTable, as long as there is one; None where hooks can't come and go.
    """

    __slots__ = ("during", "later", "present")

    def __init__(self, during: Any, later: Callable[[], Any], present: Callable[[], HookTable] | None = None):
        self.during = during
        self.later = later
        self.present = present

    def slot(self, kind: str, number: int, hook: Hook) -> Slot | None:
        """The slot of one of its hooks; None of a modifier, and where hooks can't come and go."""
        return Slot(self.present, kind, number, hook) if self.present is not None and hook.in_slot else None


class Values:
    """jax arrays in pytrees.

    Attributes:
        noun: what a value is called in messages.
        reading: how a hook reads one.
        uncompiled: what else to do where a hook has to.
        of_arrays: those of jax arrays, `ARRAYS`.
    """

    of_arrays: ClassVar[Values]
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

    def has_tracers(self, args: Any, kwargs: Any = None) -> bool:
        """Whether jax traces a value among the arguments of a call."""
        if jax_slots.trace_state() == jax_slots.NO_TRACE:
            return False
        return any(map(is_tracer, jax.tree.leaves((args, kwargs), is_leaf=self.is_leaf)))

    # ---- the first argument of hooks

    def during(self, subject: Any) -> Any:
        """What a hook gets as its first argument if it is called at once."""
        if not isinstance(subject, ModuleSubject):
            return subject
        return subject.later() if subject.during is None else subject.during

    def later(self, subject: Any) -> Callable[[], Any]:
        """A function that returns what a hook gets as its first argument after the run of a program."""
        return subject.later if isinstance(subject, ModuleSubject) else lambda: subject

    def slot(self, subject: Any, kind: str, number: int, hook: Hook) -> Slot | None:
        """The slot of one of the hooks of a call that is traced; None of a modifier, and where hooks can't come and go."""
        return subject.slot(kind, number, hook) if isinstance(subject, ModuleSubject) else None

    # ---- nodes of the backward pass

    def under_jax_transform(self, given: Iterable[Any]) -> bool:
        """Whether jax, not the tape, differentiates these values."""
        return under_jax_transform(map(self.raw, given))

    def through_custom_vjp(
        self, given: Sequence[Any], function: Callable[[list[Any]], Sequence[Any]], flags: list[bool] | None = None
    ) -> list[Any]:
        """Pass values through an identity of jax whose backward applies a function to their gradients; see `msjax.core.hooks.nodes`."""
        return through_custom_vjp(self, given, function, flags)

    def on_inputs(self, hooks: CallFrame, args: Any) -> Any:
        """The positional arguments, whose values have passed the node on the inputs of a call."""
        leaves, treedef, at = self.find(args)
        given = [leaves[i] for i in at]
        hooks.n_inputs = len(given)
        if not under_jax_transform(map(self.raw, given)):
            return args
        hooks.flags = []
        for i, value in zip(at, through_custom_vjp(self, given, hooks.call_hooks, hooks.flags)):
            leaves[i] = value
        return jax.tree.unflatten(treedef, leaves)

    def on_outputs(self, hooks: CallFrame, out: Any, pre: bool) -> Any:
        """The result, whose values have passed a node on the outputs of a call.

        Args:
            pre: whether it is the one that calls the backward pre hooks; the other one keeps the arriving gradients.
        """
        leaves, treedef, at = self.find(out)
        given = [leaves[i] for i in at]
        if not pre:
            hooks.n_outputs = len(given)
        if not under_jax_transform(map(self.raw, given)):
            return out
        for i, value in zip(at, through_custom_vjp(self, given, hooks.call_pre_hooks if pre else hooks.keep_under_jax)):
            leaves[i] = value
        return jax.tree.unflatten(treedef, leaves)

    def depending(self, array: Any, value: Any) -> Any:
        """A value of an array, in the place of another one that has the same gradient."""
        return array


def _is_of_nnx(value):
    # flax is not imported for that: without it, there are no modules of it.
    nnx: Any = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(value, (nnx.Module, nnx.Variable, nnx.Rngs, nnx.RngStream))


ARRAYS = Values.of_arrays = Values()
