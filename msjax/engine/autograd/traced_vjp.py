"""The vjp of one operator, as it is traced: with a call, or once for all calls of a signature (`msjax.engine.autograd.residuals`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np

from msjax.common.tape import Grads, Need
from msjax.core.base.arrays import is_tracer
from msjax.core.base.typing import JaxArray
from msjax.engine.programs.compiler_options import equations


class VJP:
    """A vjp of one call without its function: how gradients of the outputs are handed to it, and those of the inputs back.

    Attributes:
        single: True if the operator returned a bare array.
        carries: for each output, whether a gradient can flow back from it.
        slots: the operands that can receive a gradient.
        in_dtypes: their dtypes.
        shadow: for each output, (shape, dtype) of what is differentiated in its place: integers are, as floats.
        by_rule: whether the operator's hand-written gradient is used, which returns one for every operand.
    """

    slots: tuple[int, ...]
    in_dtypes: list[np.dtype[Any]]
    by_rule: bool
    single: bool
    shadow: list[tuple[tuple[int, ...], np.dtype[Any]]]
    carries: tuple[bool, ...]

    def without_values(self) -> VJP:
        """A copy of the metadata only."""
        copy = VJP()
        copy.__dict__.update({name: self.__dict__[name] for name in VJP.__annotations__})
        return copy

    def as_data(self) -> dict[str, Any]:
        """The attributes as lists, texts, numbers, True and False."""
        shadow = [[list(shape), np.dtype(dtype).name] for shape, dtype in self.shadow]
        return {
            "slots": list(self.slots),
            "in_dtypes": [np.dtype(d).name for d in self.in_dtypes],
            "by_rule": self.by_rule,
            "single": self.single,
            "shadow": shadow,
            "carries": list(map(bool, self.carries)),
        }

    @staticmethod
    def of_data(data: dict[str, Any]) -> VJP:
        """The vjp whose attributes `as_data` has returned."""
        made = VJP()
        made.slots, made.carries = tuple(data["slots"]), tuple(data["carries"])
        made.in_dtypes = [jnp.dtype(name) for name in data["in_dtypes"]]
        made.by_rule, made.single = data["by_rule"], data["single"]
        made.shadow = [(tuple(shape), jnp.dtype(name)) for shape, name in data["shadow"]]
        return made

    def gradients(self, cts: Grads, need: Need, vjp: Callable[..., Any]) -> list[JaxArray | None]:
        """Gradients of the inputs for which `need` is True, None for the others.

        Args:
            cts: one gradient for each output, None where there is none.
            need: one bool for each of `slots`.
            vjp: the function that `jax.vjp` or the hand-written gradient returned.
        """
        full = []
        for ct, (shape, dtype) in zip(cts, self.shadow):
            if not jnp.issubdtype(dtype, jnp.inexact):
                full.append(np.zeros(shape, jax.dtypes.float0))
            elif ct is None:
                full.append(jnp.zeros(shape, dtype))
            else:
                full.append(ct.astype(dtype))
        grads = vjp(full[0] if self.single else tuple(full))
        if self.by_rule:
            grads = [grads[i] for i in self.slots]
        return [g.astype(d) if wanted else None for g, d, wanted in zip(grads, self.in_dtypes, need)]


class TracedVJP(VJP):
    """The vjp of one traced call: maps gradients of its outputs to gradients of its inputs.

    Args:
        fn: the operator on jax arrays; returns an array or a tuple of arrays. It may have a hand-written gradient, the attribute
            `gradient`: called with `slots` and the operands, it returns (what `fn` returns, a `jax.tree_util.Partial` that maps
            the gradients of that to a tuple with the gradients of the operands, None outside `slots`), or None if the rule
            does not cover the case.
        values: its operands, some of them traced.
        slots: the operands to differentiate with respect to.

    Attributes:
        out: what `fn` returned, always as a tuple.
        vjp: maps the gradients of that; see `VJP.gradients`.
    """

    def __init__(self, fn: Callable[..., Any], values: Sequence[Any], slots: tuple[int, ...], int_grad: bool | tuple[int, ...]):
        dtypes = [jnp.result_type(values[i]) for i in slots]
        # A gradient with respect to integers is taken in floats and cast: MindSpore differentiates integers, jax doesn't.
        as_ints = [jnp.issubdtype(d, jnp.integer) for d in dtypes]
        keep = [
            (i, d)
            for i, d, is_int in zip(slots, dtypes, as_ints)
            if jnp.issubdtype(d, jnp.inexact) or (is_int and (int_grad is True or (int_grad and i in int_grad)))
        ]
        self.slots = tuple(i for i, _ in keep)
        self.in_dtypes = [d for _, d in keep]
        shadowed = any(jnp.issubdtype(d, jnp.integer) for d in self.in_dtypes)

        held = list(values)

        def along(*inputs):
            full = list(held)
            for i, value in zip(self.slots, inputs):
                full[i] = value
            return fn(*full)

        rule = None if shadowed else getattr(fn, "gradient", None)
        found = None if rule is None or not self.slots else rule(self.slots, *values)
        self.by_rule = found is not None
        if found is None:
            inputs = [_shadow(values[i]) if jnp.issubdtype(d, jnp.integer) else values[i] for i, d in keep]
            found = jax.vjp(along, *inputs)
        out, self.vjp = found
        # jax may keep `along` with the vjp, and the operands' tracers would keep the trace of a program that was dropped.
        held.clear()
        self.single = not isinstance(out, (tuple, list))
        shadow_out = (out,) if self.single else tuple(out)
        self.shadow = [(o.shape, o.dtype) for o in shadow_out]
        if shadowed:
            out = fn(*values)
            self.out = (out,) if self.single else tuple(out)
        else:
            self.out = shadow_out
        self.carries = tuple(bool(self.slots) and jnp.issubdtype(d, jnp.inexact) for _, d in self.shadow)

    def keeps_values(self) -> bool:
        """Whether the gradients depend on values of the forward pass: those of linear operators don't."""
        return any(map(is_tracer, jax.tree.leaves(self.vjp)))

    def __call__(self, cts: Grads, need: Need) -> list[JaxArray | None]:
        """Gradients of the inputs; see `gradients`."""
        return self.gradients(cts, need, self.vjp)


# Where a function consists of these, what its gradient needs costs less to compute again than to keep.
_CHEAP = frozenset(
    "abs add and broadcast_in_dim ceil clamp convert_element_type copy custom_jvp_call div eq floor ge gt integer_pow is_finite jit le "
    "lt max min mul ne neg not or pjit reshape round select_n sign square squeeze stop_gradient sub xor".split()
)
# Where it has none of these, there is nothing to compute again.
_NEEDS_RESIDUALS = frozenset("abs clamp div integer_pow max min select_n sign square".split())


class Recomputed:
    """A function whose gradient keeps its operands, and computes from them again what it needs."""

    def __init__(self, fn: Callable[..., Any]):
        self.fn = fn

    def __call__(self, *operands: Any) -> Any:
        return self.fn(*operands)

    def gradient(self, slots: tuple[int, ...], *operands: Any) -> tuple[Any, Callable[..., Any]]:
        """The result and its gradient; see `TracedVJP`."""

        def pull(*operands_and_ct):
            *full, ct = operands_and_ct

            def along(*inputs):
                for i, value in zip(slots, inputs):
                    full[i] = value
                return self.fn(*full)

            grads = dict(zip(slots, jax.vjp(along, *[full[i] for i in slots])[1](ct)))
            return tuple(grads.get(i) for i in range(len(full)))

        return self.fn(*operands), jax.tree_util.Partial(pull, *operands)


def recomputed_if_cheap(fn: Callable[..., Any], operands: Sequence[Any]) -> Callable[..., Any]:
    """A function, as `Recomputed` where that is better: elementwise arithmetic without transcendental functions."""
    if getattr(fn, "gradient", None) is not None:
        return fn
    names = {eqn.primitive.name for eqn in equations(jax.make_jaxpr(fn)(*operands).jaxpr)}
    return Recomputed(fn) if names <= _CHEAP and names & _NEEDS_RESIDUALS else fn


def _shadow(value):
    x64 = jax.config.jax_enable_x64  # pyright: ignore[reportAttributeAccessIssue]
    return value.astype(jnp.float64 if x64 else jnp.float32)


def used_operands(fn: Callable[..., Any], values: Sequence[Any]) -> tuple[bool, ...]:
    """For each value, whether what a function of it computes depends on it at all; not for None."""
    jaxpr = jax.make_jaxpr(fn)(*values).jaxpr
    needed = {v for v in jaxpr.outvars if not isinstance(v, jex.Literal)}
    for eqn in reversed(jaxpr.eqns):
        if not needed.isdisjoint(eqn.outvars):
            needed.update(v for v in eqn.invars if not isinstance(v, jex.Literal))
    variables = iter(jaxpr.invars)
    return tuple([value is not None and next(variables) in needed for value in values])
