"""What the protocol of hooks works on: the values among the arguments and results of a call.

`ARRAYS` finds jax arrays in pytrees: for modules of other frameworks and for plain functions. `msjax.common.tensor_values.TENSORS`
finds Tensors, for Cells, and knows the tape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer
from msjax.core.base.errors import where
from msjax.core.base.state import STATE
from msjax.core.hooks.batching import after_latest_call, tie_calls_to
from msjax.core.hooks.events import Slot
from msjax.core.hooks.hook import Hook, HookTable
from msjax.core.hooks.kinds import ValueKind

if TYPE_CHECKING:
    from msjax.core.hooks.protocol import CallFrame

# Whether jax has to get zeros where no gradient arrives: before 0.12, the gradient of a scan fails where a jax.custom_vjp says so of one of the
# scan's stacked results, such as the outputs of an encoder of which only the last state is used.
_NEEDS_ZEROS = jax.__version_info__ < (0, 12)

# How deep hooks of gradients may compute gradients that call hooks again: the names that jax keeps of transformations double each time.
_DEEPEST = 12


def _nothing(ct):
    """The gradient that a backward rule returns for an input that gets none: None, or zeros for a jax before 0.12."""
    return jax_slots.zeros_of(ct.aval) if _NEEDS_ZEROS and isinstance(ct, SymbolicZero) else None


@dataclass(eq=False, slots=True)
class ModuleSubject:
    """A module of another framework as the first argument of hooks.

    Attributes:
        during: what hooks that run during the call get, if it is not what `later` returns. It may hold values that jax traces, and
            is not kept beyond the call.
        later: a function that returns what hooks get after the run of a program.
        present: a function that returns the module's present HookTable, as long as there is one; None where hooks can't come and go.
    """

    during: Any
    later: Callable[[], Any]
    present: Callable[[], HookTable] | None = None


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
        present = subject.present if isinstance(subject, ModuleSubject) and hook.in_slot else None
        return None if present is None else Slot(present, kind, number, hook.key)

    # ---- nodes of the backward pass

    def under_jax_transform(self, given: Iterable[Any]) -> bool:
        """Whether jax, not the tape, differentiates these values: under a jax transformation, also inside of a program."""
        if not any(map(is_tracer, map(self.raw, given))) or not STATE.differentiated_by_jax():
            return False
        STATE.comes_to_node()
        return True

    def through_custom_vjp(
        self, given: Sequence[Any], function: Callable[[list[Any]], Sequence[Any]], flags: list[bool] | None = None
    ) -> list[Any]:
        """Pass values through an identity of jax whose backward applies a function to their gradients.

        Args:
            given: the values. Those that jax doesn't trace, or that are no floating-point numbers, stay as they are.
            function: takes and returns a list with one gradient (a value, or None) for each of them.
            flags: a list; when jax differentiates, it is filled with whether each value carries a gradient.
        """
        flags = [] if flags is None else flags
        arrays = [self.raw(value) for value in given]
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
            if STATE.pulls == _DEEPEST:
                raise RecursionError(
                    "A hook of gradients differentiated the model without end, as the gradient calls the hook again: differentiate it "
                    "within `with hooks.without(model):`."
                )
            grads = [None] * count
            for i, ct in zip(at, cts):
                if flags[i] and not isinstance(ct, SymbolicZero):
                    grads[i] = self.made(ct)
            # A hook may return gradients that don't depend on those that it, or one before it, has looked at.
            with STATE.swap(recording=False, pulled=owners, pulls=STATE.pulls + 1), tie_calls_to(self, grads):
                given = list(grads)
                grads[:] = function(grads)
                modified = any(new is not old for new, old in zip(grads, given))
            if modified:
                grads = after_latest_call(self, grads)
            return tuple(_nothing(ct) if grads[i] is None else self.raw(grads[i]) for i, ct in zip(at, cts))

        identity.defvjp(forward, backward, symbolic_zeros=True)
        out = list(given)
        try:
            passed = identity(*[arrays[i] for i in at])
        except TypeError as error:
            if "forward-mode" not in str(error):
                raise
            raise TypeError(
                f"A hook of gradients{where()} is in the way of forward mode (jvp, jacfwd): it is a jax.custom_vjp. Take reverse mode "
                "(vjp, jacrev), or remove the hook meanwhile."
            ) from error
        for i, array in zip(at, passed):
            # What carries no gradient stays apart: jax gives all results of the identity one if any does.
            if not flags or flags[i]:
                out[i] = self.made(array)
        return out

    def on_inputs(self, hooks: CallFrame, args: Any) -> Any:
        """The positional arguments, whose values have passed the node on the inputs of a call."""
        hooks.flags = []
        args, hooks.n_inputs = self._through(args, hooks.call_hooks, hooks.flags)
        return args

    def on_outputs(self, hooks: CallFrame, out: Any, pre: bool) -> Any:
        """The result, whose values have passed a node on the outputs of a call.

        Args:
            pre: whether it is the one that calls the backward pre hooks; the other one keeps the arriving gradients.
        """
        if pre:
            return self._through(out, hooks.call_pre_hooks)[0]
        out, hooks.n_outputs = self._through(out, hooks.keep_under_jax)
        return out

    def _through(self, tree, function, flags=None):
        """(nested containers, whose values have passed `through_custom_vjp` if jax differentiates them, how many values they have)"""
        leaves, treedef, at = self.find(tree)
        given = [leaves[i] for i in at]
        if self.under_jax_transform(given):
            for i, value in zip(at, self.through_custom_vjp(given, function, flags)):
                leaves[i] = value
            tree = jax.tree.unflatten(treedef, leaves)
        return tree, len(given)


ARRAYS = Values.of_arrays = Values()
