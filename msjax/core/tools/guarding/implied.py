"""Which values of a program can be wrong only if an earlier one is: a guard needs no flag for these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np

from msjax.core.base import jax_slots
from msjax.core.jaxprs.control_flow import body_in_place_of

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
