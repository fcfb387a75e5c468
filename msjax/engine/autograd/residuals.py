"""The vjp of an operator, and its residuals: what its compiled forward keeps for its compiled backward.

`jax.grad`, run eagerly, traces again at every call. Here the vjp of an operator is traced once for each signature, or with a call that is
traced itself. The compiled forward returns its results and a flat list of residuals; the structure of that list is in a `ResidualSpec`, to
which the results refer.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.extend.core as jex
import jax.numpy as jnp
import numpy as np

from msjax.common.run_state import Grads, Need
from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer
from msjax.core.base.typing import JaxArray, PyTreeDef
from msjax.engine.programs.cache import ProgramCache
from msjax.engine.programs.signature import shape_of


class Bound:
    """A function of operands: a kernel whose last arguments, the static values, are bound. jax names its programs after the kernel.

    Args:
        fn: the kernel, called with the operands, then the static values. It may have a hand-written gradient, the attribute
            `gradient`; then this function has it, too.
        static: hashable values. Tuples and floats reach the kernel as plain ones.
    """

    def __init__(self, fn: Callable[..., Any], static: tuple[Any, ...]):
        self.fn = fn
        self.static = _thawed(static)
        self.__name__ = getattr(fn, "__name__", "op")

    @property
    def identity(self) -> tuple[Any, ...]:
        """The values that the program depends on; see `programs.originals`."""
        return self.fn, self.static

    def __call__(self, *operands: Any) -> Any:
        return self.fn(*operands, *self.static)

    @property
    def gradient(self) -> Callable[..., Any] | None:
        """The hand-written gradient of the kernel with the same static values; None if it has none."""
        rule = getattr(self.fn, "gradient", None)
        return None if rule is None else lambda slots, *operands: rule(slots, *operands, *self.static)


def _thawed(static):
    """Static values as kernels get them: plain floats, since the float class of cache keys never equals an int."""
    return tuple([
        float(v) if isinstance(v, float) else _thawed(v) if v.__class__ is tuple else v for v in static
    ])  # fmt: skip


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

    def as_data(self) -> list[Any]:
        """The attributes as lists, texts, numbers, True and False."""
        shadow = [[list(shape), np.dtype(dtype).name] for shape, dtype in self.shadow]
        dtypes = [np.dtype(d).name for d in self.in_dtypes]
        return [list(self.slots), dtypes, self.by_rule, self.single, shadow, list(map(bool, self.carries))]

    @staticmethod
    def of_data(data: list[Any]) -> VJP:
        """The vjp whose attributes `as_data` has returned."""
        made = VJP()
        slots, dtypes, made.by_rule, made.single, shadow, carries = data
        made.slots, made.carries, made.in_dtypes = tuple(slots), tuple(carries), list(map(jnp.dtype, dtypes))
        made.shadow = [(tuple(shape), jnp.dtype(name)) for shape, name in shadow]
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
        # A gradient with respect to integers is taken in floats and cast: MindSpore differentiates integers, jax doesn't.
        as_floats = slots if int_grad is True else int_grad or ()
        dtypes = [(i, jnp.result_type(values[i])) for i in slots]
        keep = [
            (i, d) for i, d in dtypes if jnp.issubdtype(d, jnp.inexact) or (i in as_floats and jnp.issubdtype(d, jnp.integer))
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

        # In a shard_map, jax adds up over devices what belongs to an operand that is the same on all of them; a rule doesn't.
        alike = len({jax_slots.varying_axes(jax.typeof(v)) for v in values if v is not None}) < 2
        rule = None if shadowed or not alike else getattr(fn, "gradient", None)
        found = None if rule is None or not self.slots else rule(self.slots, *values)
        self.by_rule = found is not None
        if found is None:
            inputs = [values[i].astype(float) if jnp.issubdtype(d, jnp.integer) else values[i] for i, d in keep]
            found = jax.vjp(along, *inputs)
        out, self.vjp = found
        # jax may keep `along` with the vjp, and the operands' tracers would keep the trace of a program that was dropped.
        held.clear()
        self.single = not isinstance(out, (tuple, list))
        out, self.out = [(o,) if self.single else tuple(o) for o in (out, fn(*values) if shadowed else out)]
        self.shadow = [(o.shape, o.dtype) for o in out]
        self._axes = [tuple(jax_slots.varying_axes(jax.typeof(o))) for o in out]
        self.carries = tuple(bool(self.slots) and jnp.issubdtype(d, jnp.inexact) for _, d in self.shadow)

    def keeps_values(self) -> bool:
        """Whether the gradients depend on values of the forward pass: those of linear operators don't."""
        return any(map(is_tracer, jax.tree.leaves(self.vjp)))

    def __call__(self, cts: Grads, need: Need) -> list[JaxArray | None]:
        """Gradients of the inputs; see `gradients`."""
        # A zero in a shard_map varies as the output does.
        cts = [
            jax.lax.pcast(jnp.zeros(shape, dtype), axes, to="varying") if ct is None and axes else ct
            for ct, axes, (shape, dtype) in zip(cts, self._axes, self.shadow)
        ]
        return self.gradients(cts, need, self.vjp)


def used_operands(fn: Callable[..., Any], values: Sequence[Any]) -> tuple[bool, ...]:
    """For each value, whether what a function of it computes depends on it at all; not for None."""
    jaxpr = jax.make_jaxpr(fn)(*values).jaxpr
    needed = {v for v in jaxpr.outvars if not isinstance(v, jex.Literal)}
    for eqn in reversed(jaxpr.eqns):
        if not needed.isdisjoint(eqn.outvars):
            needed.update(v for v in eqn.invars if not isinstance(v, jex.Literal))
    variables = iter(jaxpr.invars)
    return tuple([value is not None and next(variables) in needed for value in values])


class Forward:
    """The function that `Op.forwards` keeps compiled: from operands to (outputs, residuals that are kept, `SpecToken`).

    Args:
        fn: the operator's function of operands.
        slots: the positions of the operands that gradients are taken for.
        int_grad, jit: see `Op`.
    """

    __name__ = "forward"  # jax names programs after it

    def __init__(
        self, fn: Callable[..., Any], slots: tuple[int, ...], int_grad: bool | tuple[int, ...], jit: Callable[..., Any] | None
    ):
        self.fn = fn
        self.slots: tuple[int, ...] = slots
        self.int_grad: bool | tuple[int, ...] = int_grad
        self.jit = jit

    @property
    def identity(self) -> tuple[Any, ...]:
        """The values that the program depends on; see `programs.originals`."""
        return self.fn, self.slots, self.int_grad

    def __call__(self, *values: Any) -> tuple[tuple[Any, ...], list[Any], SpecToken]:
        return self.with_metadata(*values)[0]

    # ---- the metadata of its programs, ResidualSpecs: their results refer to these, and jax itself does not keep them

    def with_metadata(self, *values: Any) -> tuple[tuple[tuple[Any, ...], list[Any], SpecToken], ResidualSpec]:
        """(the results, the description of the residuals)."""
        pull = TracedVJP(self.fn, values, self.slots, self.int_grad)
        leaves, treedef = jax.tree.flatten(pull.vjp)
        sources, kept = [], []
        # Of what is in several places, the first one counts: backwards, it is the last that is noted.
        known = {id(value): ("out", i) for i, value in reversed([*enumerate(pull.out)])}
        known |= {id(value): ("in", i) for i, value in reversed([*enumerate(values)])}
        for leaf in leaves:
            sources.append(known.get(id(leaf), ("kept", len(kept))))
            if id(leaf) not in known:
                kept.append(leaf)
        # The spec outlives the trace, so it must not hold tracers.
        spec = ResidualSpec(pull.without_values(), tuple(sources), self, tuple(map(shape_of, values)), treedef)
        return (pull.out, kept, spec.token), spec

    def stored_metadata(self, spec: ResidualSpec) -> list[Any]:
        """The part of the description that is stored with a program on disk: lists, texts, numbers, True and False."""
        return [spec.pull.as_data(), list(map(list, spec.sources))]

    def restored_metadata(self, stored: list[Any], values: Sequence[Any]) -> tuple[ResidualSpec, PyTreeDef]:
        """(the description of the residuals of a program from disk, the structure of its results)."""
        pull, sources = stored
        spec = ResidualSpec(VJP.of_data(pull), tuple((kind, i) for kind, i in sources), self, tuple(map(shape_of, values)))
        kept = [0] * sum(kind == "kept" for kind, _ in spec.sources)
        return spec, jax.tree.structure(((0,) * len(spec.pull.carries), kept, spec.token))


class ResidualSpec:
    """The description of the residuals of a compiled forward, and its compiled backwards; there is one for each signature.

    Args:
        pull: the vjp, without its residuals.
        sources: see below.
        forward: the function that was traced.
        shapes: of its operands.
        treedef: see `Backward`.

    Attributes:
        sources: where each residual comes from: ("in", operand), ("out", output) or ("kept", number). Inputs and
            outputs are not returned a second time: XLA would copy them.
        places: where each is in (*what the forward kept, *operands, *outputs); empty if all are kept, which are in order.
        backwards: the compiled backward for each pair of (for each output, whether it has a gradient; for each of `slots`,
            whether its gradient is needed). It takes the residuals, then the given gradients, and returns the needed ones.
        used: for each pair as in `backwards`, which operands and given gradients the gradient depends on.
        token: the reference to this object in the structure of a program's results.
    """

    __slots__ = ("pull", "sources", "treedef", "places", "backwards", "used", "token", "__weakref__")

    def __init__(
        self,
        pull: VJP,
        sources: tuple[tuple[str, int], ...],
        forward: Forward,
        shapes: tuple[Any, ...],
        treedef: PyTreeDef | None = None,
    ):
        self.pull = pull
        self.sources: tuple[tuple[str, int], ...] = sources
        self.treedef = treedef
        n_kept = sum(kind == "kept" for kind, _ in sources)
        begin = {"kept": 0, "in": n_kept, "out": n_kept + len(shapes)}
        self.places: tuple[int, ...] = tuple([begin[kind] + i for kind, i in sources]) if n_kept < len(sources) else ()
        # jax keeps what it compiles for long: that refers to no spec, and so not to what was compiled beside it.
        self.backwards = ProgramCache(lambda key: Backward(pull, sources, forward, shapes, treedef, *key), forward.jit)
        self.used: dict[tuple[tuple[bool, ...], Need], tuple[bool, ...]] = {}
        self.token = SpecToken(self)


@dataclass(eq=False)
class Backward:
    """The function of residuals and gradients that a `ResidualSpec` keeps compiled.

    Attributes:
        pull, sources, forward, shapes: see `ResidualSpec`.
        treedef: the structure of the vjp function whose leaves are the residuals; None if the compiled forward comes from
            disk: then it is found when it is needed.
        given: for each output, whether it has a gradient.
        need: for each of the vjp's slots, whether its gradient is needed.
    """

    pull: VJP
    sources: tuple[tuple[str, int], ...]
    forward: Forward
    shapes: tuple[Any, ...]
    treedef: PyTreeDef | None
    given: tuple[bool, ...]
    need: Need

    __name__ = "backward"  # jax names programs after it

    @property
    def identity(self) -> tuple[Any, ...]:
        """The values that the program depends on; see `programs.originals`."""
        types = [None if s is None else (s.shape, s.dtype, s.weak_type) for s in self.shapes]
        return self.forward, types, self.given, self.need

    def __call__(self, *args: Any) -> Any:
        if self.treedef is None:
            found = []
            jax.eval_shape(lambda *values: found.append(self.forward.with_metadata(*values)[1]), *self.shapes)
            if found[0].sources != self.sources:
                raise RuntimeError(f"The gradient of {self.forward.fn} is traced otherwise than when its program was stored.")
            self.treedef = found[0].treedef
        n = len(self.sources)
        rest = iter(args[n:])
        cts = [next(rest) if there else None for there in self.given]
        grads = self.pull.gradients(cts, self.need, jax.tree.unflatten(self.treedef, args[:n]))
        return tuple(g for g in grads if g is not None)


@jax.tree_util.register_static
class SpecToken:
    """The reference to a ResidualSpec as a static part of a program's results.

    It is weak, since jax keeps the structures of results for long; whoever keeps the program keeps the spec.
    """

    __slots__ = ("spec",)

    def __init__(self, spec: ResidualSpec):
        self.spec = weakref.ref(spec)
