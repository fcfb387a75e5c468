"""The places that `guard` looks at: by a flag in a program that msjax compiles, by a callback in one that jax does."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from msjax.core.base.arrays import is_tracer
from msjax.core.hooks.delivery import Frame
from msjax.core.hooks.values import ARRAYS, Values
from msjax.core.hooks.worker import WORKER
from msjax.core.models.functions import hook_gradient
from msjax.core.tools.checking import Check
from msjax.core.tools.fault import Fault
from msjax.core.tools.hook_set import ModuleHookSet, Standing, of_all_examples


class GuardedPlace(NamedTuple):
    """One value that is looked at: the outputs of a cell, or the gradient of them or of a Parameter."""

    phase: str
    path: str
    cls: str

    def fault(self, check: Check, note: str = "") -> Fault:
        return Fault(check.what, self.phase, self.path, cls=self.cls, note=note)


class _Look:
    """Looks at a flag when it has arrived, in a program that jax compiled; a hook with a name for messages."""

    def __init__(self, place: GuardedPlace, check: Check):
        self.place, self.check = place, check
        self.__qualname__ = "tools.guard"

    def __call__(self, flag: Any) -> None:
        # Of all places that are wrong in a run, the first is told.
        if bool(flag) and not isinstance(WORKER.failures.first, Fault):
            raise self.place.fault(self.check, _COMPILED_BY_JAX)


class Looks(Standing):
    """Looks at the places of a guarded model, by hooks of its modules.

    Attributes:
        kind: finds the values among the arguments of a call.
        name: from a module, as hooks get it, to its path.
    """

    kind: Values = ARRAYS
    name: Callable[[Any], str]

    def __init__(self, check: Check, gradients: bool, hooks: ModuleHookSet):
        self.check, self.hooks = check, hooks
        hooks.add("forward", self.after)
        if gradients:
            hooks.add("forward_pre", self.before)
            hooks.add("backward_pre", self._of_gradients)

    def before(self, module: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The forward pre hook of modules whose gradients are looked at."""
        return self.looked_at(self._place("backward", module), args)

    def after(self, module: Any, args: tuple[Any, ...], output: Any) -> None:
        """The forward hook of all modules."""
        self.look(self._place("forward", module), self.kind.arrays(output), (module, args))

    def _of_gradients(self, module, grads):
        self.look(self._place("backward", module), self.kind.arrays(grads))

    def _place(self, phase, module):
        return GuardedPlace(phase, self.name(module), type(module).__name__)

    def look(self, place: GuardedPlace, values: Sequence[Any], args: tuple[Any, ...] | None = None) -> None:
        """Look at the arrays of a place: now, or by a flag in the program."""
        values = [v for v in values if self.check.applies(v)]
        if any(map(is_tracer, values)):
            self.flag(place, values)
        elif self.check(values):
            self.found(place, values, args)

    def flag(self, place: GuardedPlace, values: Sequence[Any]) -> None:
        """Look at traced arrays by a flag, as an observer: by a callback under jax.jit, as an output in hooks.jit."""
        flag = _any_example(functools.reduce(jnp.logical_or, map(self.check.traced, values)))
        Frame(ARRAYS).observe(_Look(place, self.check), (flag,), "hook")

    def looked_at(self, place: GuardedPlace, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The arguments of a call in a program that jax compiles, so that the gradients with respect to them are looked at, too: there,
        nothing is run again to find out whether a gradient was wrong before or behind a cell. None if they stay as they are."""
        leaves, treedef = jax.tree.flatten(args, is_leaf=self.kind.is_leaf)
        arrays = [self.kind.raw(leaf) if self.kind.is_value(leaf) else leaf for leaf in leaves]
        chosen = [is_tracer(array) and self.check.applies(array) for array in arrays]
        if not any(chosen):
            return None
        return jax.tree.unflatten(treedef, [self.passed_through(place, v) if c else v for v, c in zip(leaves, chosen)])

    def passed_through(self, place: GuardedPlace, leaf: Any) -> Any:
        """A value that is traced, whose gradient is looked at as that of a place."""
        return hook_gradient(lambda grad: self.look(place, [grad]), traced=True)(leaf)

    def found(self, place: GuardedPlace, values: Sequence[Any], args: tuple[Any, ...] | None) -> None:
        """Raise the fault of a place that is wrong."""
        raise NotImplementedError


_any_example = of_all_examples(jnp.any)
_COMPILED_BY_JAX = "in a program that jax compiled: tools.guard(step) or tools.find_nan(step, ...) finds the operation"
