"""The vjp of one operator: traced with its call, or compiled into a backward that takes residuals.

`jax.grad`, run eagerly, traces again at every call. Here the vjp of an operator is traced once per
signature. The compiled forward (`Op.compile_forward`) returns its result and a flat list of residuals; the structure of that
list is kept with the compiled program as auxiliary data of its output.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.arrays import is_tracer
from msjax.common.programs import Programs, equations
from msjax.typing import JaxArray, PyTreeDef


class TracedVJP:
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
        single: True if `fn` returned a bare array.
        carries: for each output, whether a gradient can flow back from it.
        slots: those of the given `slots` that can receive a gradient.
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
        self.slots: tuple[int, ...] = tuple(i for i, _ in keep)
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
        self.by_rule: bool = found is not None
        if found is None:
            inputs = [_shadow(values[i]) if jnp.issubdtype(d, jnp.integer) else values[i] for i, d in keep]
            found = jax.vjp(along, *inputs)
        out, self.vjp = found
        # jax may keep `along` with the vjp, and the operands' tracers would keep the trace of a program that was dropped.
        held.clear()
        self.single: bool = not isinstance(out, (tuple, list))
        shadow_out = (out,) if self.single else tuple(out)
        self.shadow: list[tuple[Any, Any]] = [(o.shape, o.dtype) for o in shadow_out]
        if shadowed:
            out = fn(*values)
            self.out = (out,) if self.single else tuple(out)
        else:
            self.out = shadow_out
        self.out_avals: list[tuple[Any, Any]] = [(o.shape, o.dtype) for o in self.out]
        self.carries: tuple[bool, ...] = tuple(bool(self.slots) and jnp.issubdtype(d, jnp.inexact) for _, d in self.shadow)

    def keeps_values(self) -> bool:
        """Whether the gradients depend on values of the forward pass: those of linear operators don't."""
        return any(map(is_tracer, jax.tree.leaves(self.vjp)))

    def __call__(self, cts: list[JaxArray], need: tuple[bool, ...], vjp: Callable[..., Any] | None = None) -> list[Any | None]:
        """Gradients of the inputs for which `need` is True, None for the others.

        Args:
            cts: one gradient for each output, None where there is none.
            need: one bool for each of `slots`.
            vjp: called instead of the traced vjp function: the same function with other residuals.
        """
        full = []
        for ct, (shape, dtype) in zip(cts, self.shadow):
            if not jnp.issubdtype(dtype, jnp.inexact):
                full.append(np.zeros(shape, jax.dtypes.float0))
            elif ct is None:
                full.append(jnp.zeros(shape, dtype))
            else:
                full.append(ct.astype(dtype))
        grads = (self.vjp if vjp is None else vjp)(full[0] if self.single else tuple(full))
        if self.by_rule:
            grads = [grads[i] for i in self.slots]
        return [g.astype(d) if wanted else None for g, d, wanted in zip(grads, self.in_dtypes, need)]


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
    return value.astype(jnp.float64 if jax.config.jax_enable_x64 else jnp.float32)


class ResidualSpec:
    """Describes the residuals of a compiled forward; there is one for each signature.

    Attributes:
        pull: the traced vjp, without its residuals.
        sources: where each residual comes from: ("in", operand), ("out", output) or ("kept", number). Inputs and
            outputs are not returned a second time: XLA would copy them.
        backwards: the compiled backward for each pair of (for each output, whether it has a gradient; for each of `slots`,
            whether its gradient is needed). It takes the residuals, then the given gradients, and returns the needed ones.
        fresh: True until the backward has been compiled ahead.
        token: stands for it in the structure of a program's results.
    """

    __slots__ = ("pull", "treedef", "sources", "backwards", "needs_values", "fresh", "token", "__weakref__")

    def __init__(self, pull: TracedVJP, treedef: PyTreeDef, sources: tuple[tuple[str, int], ...], jit: Callable[..., Any] | None):
        self.pull = pull
        self.treedef = treedef
        self.sources: tuple[tuple[str, int], ...] = sources
        self.needs_values: bool = any(kind != "kept" for kind, _ in sources)
        self.backwards = Programs(self.backward_fn, jit)
        self.fresh = True
        self.token = SpecToken(self)

    def compile_ahead(self, kept: Sequence[Any], values: Sequence[Any], out: Sequence[JaxArray]) -> None:
        """Compile the backward in the background while the forward pass goes on, as it will most probably be needed.

        That is for a gradient of the first output only, as of BatchNorm, and of every operand that has one.
        """
        self.fresh: bool = False
        if self.pull.carries[:1] == (True,) and not any(is_tracer(v) for v in values):
            key = (True, *[False] * (len(out) - 1)), (True,) * len(self.pull.slots)
            self.backwards.compile_ahead(key, [*gather(self, kept, values, out), out[0]])

    def backward_fn(self, given_and_need: tuple[tuple[bool, ...], tuple[bool, ...]]) -> Callable[..., Any]:
        """The function of arrays that `backwards` keeps compiled."""
        given, need = given_and_need
        n = len(self.sources)

        def backward(*args):
            rest = iter(args[n:])
            cts = [next(rest) if there else None for there in given]
            grads = self.pull(cts, need, vjp=jax.tree.unflatten(self.treedef, args[:n]))
            return tuple(g for g in grads if g is not None)

        # As those of an addition.
        backward.may_return_operands = True  # pyright: ignore[reportFunctionMemberAccess]
        return backward


class SpecToken:
    """A weak reference to a ResidualSpec."""

    __slots__ = ("spec",)

    def __init__(self, spec: ResidualSpec):
        self.spec = weakref.ref(spec)


def source_of(leaf: Any, values: Sequence[Any], outputs: Sequence[Any]) -> tuple[str, int] | None:
    """The operand or output that a residual is; None if it is neither."""
    for kind, candidates in (("in", values), ("out", outputs)):
        for i, value in enumerate(candidates):
            if leaf is value:
                return kind, i
    return None


def gather(spec: ResidualSpec, kept: Sequence[Any], values: Sequence[Any], out: tuple[JaxArray, ...]) -> list[Any]:
    """All residuals in order, collected from the kept ones, the operands and the results."""
    of = {"kept": kept, "in": values, "out": out}
    return [of[kind][i] for kind, i in spec.sources]
