"""The compiled parts of one operator: a forward that also returns residuals, and a backward.

`jax.grad`, run eagerly, traces again at every call. Here the vjp of an operator is traced once per
signature. The forward returns its result and a flat list of residuals; the structure of that list
is kept with the compiled program as auxiliary data of its output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.arrays import is_tracer
from msjax.typing import JaxArray


class TracedVJP:
    """The vjp of one traced call: maps gradients of its outputs to gradients of its inputs.

    Args:
        fn: the operator on jax arrays; returns an array or a tuple of arrays.
        values: its operands, some of them traced.
        slots: the operands to differentiate with respect to.

    Attributes:
        out: what `fn` returned, always as a tuple.
        single: True if `fn` returned a bare array.
        carries: for each output, whether a gradient can flow back from it.
        slots: those of the given `slots` that can receive a gradient.
    """

    def __init__(self, fn: Callable[..., Any], values: Any, slots: tuple[int, ...], int_grad: Any):
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

        def along(*inputs):
            full = list(values)
            for i, value in zip(self.slots, inputs):
                full[i] = value
            return fn(*full)

        inputs = [_shadow(values[i]) if jnp.issubdtype(d, jnp.integer) else values[i] for i, d in keep]
        out, self.vjp = jax.vjp(along, *inputs)
        self.single: bool = not isinstance(out, (tuple, list))
        shadow_out = (out,) if self.single else tuple(out)
        self.shadow = [(o.shape, o.dtype) for o in shadow_out]
        if shadowed:
            out = fn(*values)
            self.out = (out,) if self.single else tuple(out)
        else:
            self.out = shadow_out
        self.out_avals = [(o.shape, o.dtype) for o in self.out]
        self.carries = tuple(bool(self.slots) and jnp.issubdtype(d, jnp.inexact) for _, d in self.shadow)

    def keeps_values(self) -> bool:
        """Whether the gradients depend on values of the forward pass: those of linear operators don't."""
        return any(map(is_tracer, jax.tree.leaves(self.vjp)))

    def __call__(self, cts: list[JaxArray], need: tuple[bool, ...], vjp: Any = None) -> list[Any | None]:
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
        return [g.astype(d) if wanted else None for g, d, wanted in zip(grads, self.in_dtypes, need)]


def _shadow(value):
    return value.astype(jnp.float64 if jax.config.jax_enable_x64 else jnp.float32)


class Residuals:
    """The residuals of a compiled forward; `spec` describes them."""

    __slots__ = ("spec", "leaves")

    def __init__(self, spec: ResidualSpec, leaves: Any):
        self.spec = spec
        self.leaves = leaves

    def emptied(self) -> Residuals:
        """The same without values."""
        return Residuals(self.spec, ())


jax.tree_util.register_pytree_node(Residuals, lambda r: (r.leaves, r.spec), Residuals)


class ResidualSpec:
    """Describes the residuals of a compiled forward; there is one for each signature.

    Attributes:
        pull: the traced vjp, without its residuals.
        sources: where each residual comes from: ("in", operand), ("out", output) or ("kept", number). Inputs and
            outputs are not returned a second time: XLA would copy them.
        jit: compiles the backward.
    """

    __slots__ = ("pull", "treedef", "sources", "jit", "_backwards", "needs_values")

    def __init__(self, pull: TracedVJP, treedef: Any, sources: Any, jit: Callable[..., Any]):
        self.pull = pull
        self.treedef = treedef
        self.sources = sources
        self.jit = jit
        self.needs_values: bool = any(kind != "kept" for kind, _ in sources)
        self._backwards = {}

    def backward(self, given: tuple[bool, ...], need: tuple[bool, ...]) -> Any:
        """The backward, compiled for the outputs that have a gradient (`given`) and the inputs that need one (`need`).

        It takes the residuals, then the given gradients, and returns the needed ones.
        """
        try:
            return self._backwards[given, need]
        except KeyError:
            compiled = self._backwards[given, need] = self.jit(self.backward_fn(given, need))
            return compiled

    def backward_fn(self, given: tuple[bool, ...], need: tuple[bool, ...]) -> Callable[..., Any]:
        n = len(self.sources)

        def backward(*args):
            rest = iter(args[n:])
            cts = [next(rest) if there else None for there in given]
            grads = self.pull(cts, need, vjp=jax.tree.unflatten(self.treedef, args[:n]))
            return tuple(g for g in grads if g is not None)

        return backward


def compile_forward(fn: Callable[..., Any], slots: tuple[int, ...], int_grad: Any, jit: Callable[..., Any]) -> Any:
    """A function from operand values to (outputs, Residuals), compiled by `jit`."""

    def forward(*values):
        pull = TracedVJP(fn, values, slots, int_grad)
        leaves, treedef = jax.tree.flatten(pull.vjp)
        sources, kept = [], []
        for leaf in leaves:
            sources.append(_source(leaf, values, pull.out))
            if sources[-1] is None:
                sources[-1] = ("kept", len(kept))
                kept.append(leaf)
        out = pull.out
        # The spec outlives the trace, so it must not hold tracers.
        pull.vjp = pull.out = None
        return out, Residuals(ResidualSpec(pull, treedef, tuple(sources), jit), kept)

    return jit(forward)


def _source(leaf, values, outputs):
    for i, value in enumerate(values):
        if leaf is value:
            return "in", i
    for i, value in enumerate(outputs):
        if leaf is value:
            return "out", i
    return None
