"""The residuals of an operator on the tape: what its compiled forward keeps for its compiled backward.

`jax.grad`, run eagerly, traces again at every call. Here the vjp of an operator is traced once for each signature. The compiled
forward returns its results and a flat list of residuals; the structure of that list is in a `ResidualSpec`, to which the results
refer.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax

from msjax.common.tape import Need
from msjax.core.base.arrays import is_tracer
from msjax.core.base.typing import JaxArray, PyTreeDef
from msjax.engine.autograd.traced_vjp import VJP, TracedVJP, recomputed_if_cheap
from msjax.engine.programs.cache import ProgramCache
from msjax.engine.programs.signature import shape_of


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
        """The values that the program depends on; see `programs.description`."""
        return self.fn, self.slots, self.int_grad

    def __call__(self, *values: Any) -> tuple[tuple[Any, ...], list[Any], SpecToken]:
        return self.with_metadata(*values)[0]

    # ---- a `programs.store.FunctionWithMetadata`, whose metadata are ResidualSpecs

    def with_metadata(self, *values: Any) -> tuple[tuple[tuple[Any, ...], list[Any], SpecToken], ResidualSpec]:
        """(the results, the description of the residuals)."""
        pull = TracedVJP(recomputed_if_cheap(self.fn, values), values, self.slots, self.int_grad)
        leaves, treedef = jax.tree.flatten(pull.vjp)
        sources, kept = [], []
        for leaf in leaves:
            source = source_of(leaf, values, pull.out)
            sources.append(source or ("kept", len(kept)))
            if source is None:
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
        treedef: the structure of the vjp function whose leaves are the residuals; None if the compiled forward comes from
            disk: then it is found when it is needed.

    Attributes:
        sources: where each residual comes from: ("in", operand), ("out", output) or ("kept", number). Inputs and
            outputs are not returned a second time: XLA would copy them.
        backwards: the compiled backward for each pair of (for each output, whether it has a gradient; for each of `slots`,
            whether its gradient is needed). It takes the residuals, then the given gradients, and returns the needed ones.
        fresh: True until the backward has been compiled ahead.
        used: for each pair as in `backwards`, which operands and given gradients the gradient depends on.
        token: the reference to this object in the structure of a program's results.
    """

    __slots__ = (
        "pull", "sources", "forward", "shapes", "backwards", "needs_values", "fresh", "used", "token", "_treedef", "__weakref__",
    )  # fmt: skip

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
        self.forward = forward
        self.shapes: tuple[Any, ...] = shapes
        self._treedef = treedef
        self.needs_values: bool = any(kind != "kept" for kind, _ in sources)
        self.backwards = ProgramCache(self.backward_fn, forward.jit)
        self.fresh = True
        self.used: dict[tuple[tuple[bool, ...], Need], tuple[bool, ...]] = {}
        self.token = SpecToken(self)

    @property
    def treedef(self) -> PyTreeDef:
        """The structure of the vjp function whose leaves are the residuals."""
        if self._treedef is None:
            found = []
            jax.eval_shape(lambda *values: found.append(self.forward.with_metadata(*values)[1]), *self.shapes)
            if found[0].sources != self.sources:
                raise RuntimeError(f"The gradient of {self.forward.fn} is traced otherwise than when its program was stored.")
            self._treedef = found[0].treedef
        return self._treedef

    @property
    def identity(self) -> tuple[Any, ...]:
        """The values that the backward programs depend on; see `programs.description`."""
        return self.forward, [None if s is None else (s.shape, s.dtype, s.weak_type) for s in self.shapes]

    def collected(self, kept: Sequence[Any], values: Sequence[Any], out: Sequence[Any]) -> list[Any]:
        """All residuals in the backward's order: those that were returned, and those among the operands and results of the call."""
        of = {"kept": kept, "in": values, "out": out}
        return [of[kind][i] for kind, i in self.sources]

    def compile_ahead(self, residuals: Sequence[Any], out: Sequence[JaxArray]) -> None:
        """Compile the backward in the background while the forward pass goes on, as it will most probably be needed.

        That is for a gradient of the first output only, as of BatchNorm, and of every operand that has one.
        """
        self.fresh: bool = False
        operands = [*residuals, out[0]]
        if self.pull.carries[:1] == (True,) and not any(map(is_tracer, operands)):
            key = (True, *[False] * (len(out) - 1)), (True,) * len(self.pull.slots)
            self.backwards.compile_ahead(key, operands)

    def backward_fn(self, given_and_need: tuple[tuple[bool, ...], Need]) -> Callable[..., Any]:
        """The function of arrays that `backwards` keeps compiled."""
        return Backward(self, *given_and_need)


class Backward:
    """The function of residuals and gradients that a `ResidualSpec` keeps compiled."""

    __name__ = "backward"  # jax names programs after it
    may_return_operands = True  # as that of an addition

    def __init__(self, spec: ResidualSpec, given: tuple[bool, ...], need: Need):
        self.spec = spec
        self.given: tuple[bool, ...] = given
        self.need: Need = need

    @property
    def identity(self) -> tuple[Any, ...]:
        """The values that the program depends on; see `programs.description`."""
        return self.spec.identity, self.given, self.need

    def __call__(self, *args: Any) -> Any:
        n = len(self.spec.sources)
        rest = iter(args[n:])
        cts = [next(rest) if there else None for there in self.given]
        grads = self.spec.pull.gradients(cts, self.need, jax.tree.unflatten(self.spec.treedef, args[:n]))
        return tuple(g for g in grads if g is not None)


@jax.tree_util.register_static
class SpecToken:
    """The reference to a ResidualSpec as a static part of a program's results.

    It is weak, since jax keeps the structures of results for long; whoever keeps the program keeps the spec.
    """

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
