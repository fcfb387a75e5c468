"""The places that `guard` looks at: by a flag in a program that msjax compiles, by a callback in one that jax does. Which values of a program can be
wrong only if an earlier one is: these need no flag."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np

from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer
from msjax.core.hooks.delivery import Frame
from msjax.core.hooks.values import ARRAYS, Values
from msjax.core.hooks.worker import WORKER
from msjax.core.jaxprs.control_flow import body_in_place_of
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


# Operations whose results are among their operands, or as wrong as these.
_PICKS = {
    "abs", "broadcast_in_dim", "clamp", "concatenate", "copy", "copy_p", "cummax", "cummin", "expand_dims", "max", "min", "neg",
    "optimization_barrier", "pad", "reduce_max", "reduce_min", "reduce_window_max", "reduce_window_min", "reshape", "rev", "slice",
    "split", "squeeze", "stack", "stop_gradient", "transpose", "unstack",
}  # fmt: skip
# Operations that are finite or infinite wherever their operand is no NaN; and those that are finite wherever it is.
_NO_NAN = {"ceil", "erf", "exp", "exp2", "expm1", "floor", "logistic", "round", "sign", "tanh"}
_FINITE = _NO_NAN - {"exp", "exp2", "expm1"}
# Of these, only some operands are in the result.
_OPERANDS = {"select_n": slice(1, None), "dynamic_slice": slice(0, 1), "dynamic_update_slice": slice(0, 2)}

# The numbers of the values that make a value wrong; None if it can be wrong by itself.
Roots = frozenset[int] | None
_NEVER: frozenset[int] = frozenset()


def implied(values: Sequence[Any], on: Any) -> list[bool]:
    """Whether each of some values of the program that is being traced is wrong only if one before it is; if `on` is a function, nothing is known."""
    if not isinstance(on, str):
        return [False] * len(values)
    closed = jax_slots.traced_so_far(values)
    numbers: dict[Any, int] = {}
    for i, v in enumerate(closed.jaxpr.outvars):
        if isinstance(v, jex.Var):
            numbers.setdefault(v, i)
    search = _Implied(on, numbers)
    search.look_at(closed.jaxpr, {v: search.of_constant(c) for v, c in zip(closed.jaxpr.constvars, closed.consts)})
    return [isinstance(v, jex.Var) and (v in search.found or numbers[v] < i) for i, v in enumerate(closed.jaxpr.outvars)]


class _Implied:
    """Looks through the operations of a program in their order.

    Attributes:
        numbers: those of the values that are looked at, by variables.
        found: variables of values that are wrong only if an earlier one is.
    """

    def __init__(self, on: str, numbers: dict[Any, int]):
        self.numbers, self.found = numbers, set()
        self._unary = _NO_NAN if on == "nan" else _FINITE
        self._on = on

    def look_at(self, jaxpr: Any, roots: dict[Any, Roots]) -> list[Roots]:
        """The roots of what a jaxpr returns, from those of its inputs; none of its other variables is known."""

        def itself(v):
            return frozenset((self.numbers[v],)) if v in self.numbers else None

        def of(v):
            return self.of_constant(v.val) if isinstance(v, jex.Literal) else roots.get(v, itself(v))

        for eqn in jaxpr.eqns:
            for v, found in zip(eqn.outvars, self._results(eqn, [of(v) for v in eqn.invars])):
                number = self.numbers.get(v)
                if number is None:
                    roots[v] = found
                elif found is not None and all(root < number for root in found):
                    self.found.add(v)
                    roots[v] = found
                else:
                    roots[v] = itself(v)
        return [of(v) for v in jaxpr.outvars]

    def of_constant(self, value: Any) -> Roots:
        """A constant is wrong before anything is computed, or never."""
        if not _is_real(value):
            return _NEVER if not jnp.issubdtype(jnp.result_type(value), jnp.inexact) else None
        value = np.asarray(value)
        return None if (np.isnan(value) if self._on == "nan" else ~np.isfinite(value)).any() else _NEVER

    def _results(self, eqn, operands: list[Roots]) -> list[Roots]:
        name = eqn.primitive.name
        inner = body_in_place_of(eqn)
        if inner is not None:
            constants = {v: self.of_constant(c) for v, c in zip(inner.jaxpr.constvars, inner.consts)}
            found = self.look_at(inner.jaxpr, {**constants, **dict(zip(inner.jaxpr.invars, operands))})
        elif name in _PICKS or name in self._unary or name in _OPERANDS or (name == "convert_element_type" and _keeps(eqn)):
            chosen = operands[_OPERANDS.get(name, slice(None))]
            of_all = None if None in chosen else _NEVER.union(*chosen)
            found = [of_all if all(_is_real(v.aval) for v in eqn.invars) else None] * len(eqn.outvars)
        else:
            found = [None] * len(eqn.outvars)
        dtypes = [getattr(v.aval, "dtype", np.dtype(bool)) for v in eqn.outvars]
        return [roots if jnp.issubdtype(dtype, jnp.inexact) else _NEVER for dtype, roots in zip(dtypes, found)]


def _is_real(value):
    """Whether a value is no complex number, and no key of random numbers."""
    dtype = getattr(value, "dtype", None) or jnp.result_type(value)
    return not (jnp.issubdtype(dtype, jnp.complexfloating) or jnp.issubdtype(dtype, jax.dtypes.extended))


def _keeps(eqn):
    """Whether a change of types leaves each number what it is, or nearly so: to floats with as many bits or more."""
    before, after = eqn.invars[0].aval.dtype, eqn.params["new_dtype"]
    if not jnp.issubdtype(after, jnp.floating):
        return False
    if not jnp.issubdtype(before, jnp.floating):
        return jnp.finfo(after).bits >= 32 or before == np.dtype(bool)
    return before == after or jnp.finfo(after).bits > jnp.finfo(before).bits
