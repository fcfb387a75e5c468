"""What the protocol of hooks works on: the values among the arguments and results of a call.

`ARRAYS` finds jax arrays in pytrees: for modules of other frameworks and for plain functions. `msjax.common.tensor_values.TENSORS`
finds Tensors, for Cells, and knows the tape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import jax

from msjax.core.hooks.events import Slot
from msjax.core.hooks.hook import Hook
from msjax.core.hooks.kinds import ValueKind
from msjax.core.hooks.nodes import through_custom_vjp, under_jax_transform
from msjax.core.hooks.table import HookTable

if TYPE_CHECKING:
    from msjax.core.hooks.protocol import CallFrame


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


class Values(ValueKind):
    """The values that hooks get, the first argument of hooks, and the nodes of the backward pass.

    Attributes:
        of_arrays: those of jax arrays, `ARRAYS`.
    """

    of_arrays: ClassVar[Values]
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


ARRAYS = Values.of_arrays = Values()
