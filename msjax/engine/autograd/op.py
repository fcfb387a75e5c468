"""Operators, and `apply`, which runs them: every computation on Tensors goes through it.

An operator is a function of jax arrays. On concrete values without a gradient, `apply` calls the
compiled function. If an operand is on the tape, it calls a compiled forward that also returns
residuals, and adds a node to the tape. While jax traces, it calls the function itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import jax
import numpy as np

from msjax.common.arrays import as_array, in_native_order
from msjax.common.run_state import LOCK, ROOT, SEQUENCE, STATE, Edge, Grads, Need, Node, Scope
from msjax.common.tensor import Tensor, mark_used, tensors_in, wrap
from msjax.core.base import jax_slots
from msjax.core.base.arrays import CONCRETE, huge_ints_as_floats, is_tracer
from msjax.core.base.errors import where
from msjax.core.door import ACTIVITY, CallsAsOutputs, Values
from msjax.engine.autograd.op_errors import raise_op_error
from msjax.engine.autograd.residuals import VJP, Bound, Forward, ResidualSpec, TracedVJP, used_operands
from msjax.engine.programs.cache import ProgramCache
from msjax.engine.programs.compiler_options import is_nested
from msjax.engine.programs.signature import NUMBERS


@dataclass(eq=False, repr=False, slots=True, weakref_slot=True)
class Op:
    """A function of jax arrays as an operator on Tensors.

    Args:
        name: the name in messages.
        fn: takes operands (jax arrays, Python numbers or None), then static values; returns an array or a tuple.
        int_grad: whether integer operands have a gradient, that of the same formula on floats: True for all of them, or
            the positions of those that have one.
        differentiable: False if no gradient ever flows through the operator.
        shape_error: the exception that MindSpore raises for shapes that don't match.
        runs_cells: whether cells with hooks may run within it.
        made_of: of an operator that may be made anew each time that some code runs, what all of these have in common; None of others.

    Attributes:
        jit: compiles its functions; None for the usual way, that of its group of processes for an operator with collectives.
        programs: the compiled function for each tuple of static values.
        forwards: the compiled function that also returns residuals (`Forward`), for each pair of static values and slots, the
            positions of the operands that gradients are taken for.
        accumulation_order: the order of operands in which `Tensor.backward()` passes gradients on, if PyTorch does not go
            from the first operand to the last.
    """

    name: str
    fn: Callable[..., Any]
    _: KW_ONLY
    int_grad: bool | tuple[int, ...] = False
    differentiable: bool = True
    shape_error: type[Exception] = ValueError
    jit: Callable[..., Any] | None = None
    runs_cells: bool = False
    made_of: Hashable = None
    accumulation_order: tuple[int, ...] | None = field(default=None, init=False)
    programs: ProgramCache = field(init=False)
    forwards: ProgramCache = field(init=False)
    _derived: dict[Hashable, Op] = field(default_factory=dict, init=False)

    def __post_init__(self):
        own = weakref.proxy(self)  # so that an operator that is made for one call goes with it, and what it holds
        self.programs = ProgramCache(lambda static: own.bind(static), self.jit, self.name)
        self.forwards = ProgramCache(
            lambda key: Forward(own.bind(key[0]), slots=key[1], int_grad=own.int_grad, jit=own.jit), self.jit, self.name
        )

    def __repr__(self) -> str:
        return f"Op({self.name})"

    def bind(self, static: tuple[Any, ...]) -> Callable[..., Any]:
        """`fn` with its static values bound: a function of the operands only."""
        return Bound(self.fn, static) if static else self.fn

    def derived(self, key: Hashable, make: Callable[[], Op]) -> Op:
        """An operator derived from this one, such as its gradient; cached by `key`."""
        if key not in self._derived:
            self._derived[key] = make()
        return self._derived[key]


def apply(op: Op, operands: Sequence[Any], static: tuple[Any, ...] = ()) -> Any:
    """Run an operator.

    Args:
        op: the operator.
        operands: Tensors, Parameters, arrays, Python numbers or None.
        static: hashable values that the program is compiled for.

    Returns:
        A Tensor, or a tuple of Tensors.
    """
    if ACTIVITY.slow_dispatch:
        STATE.used(operands)
        if STATE.cast is not None:
            operands = STATE.cast(op, operands)
    values = []
    on_tape = False
    traced = False
    huge = False
    for operand in operands:
        if isinstance(operand, Tensor):
            if operand._node is not None:
                on_tape = True
            operand = operand._value
        elif isinstance(operand, (list, tuple)):
            refuse_recorded(operand, op.name)
            operand = as_array(operand)
        elif operand.__class__ is int and operand.bit_length() > 31:
            huge = True
        elif isinstance(operand, np.generic) and operand.dtype.kind in "biufc":
            operand = operand.item()  # a number of numpy's is a number: it widens no Tensor
        elif operand.__class__ is np.ndarray:
            operand = in_native_order(operand)
        values.append(operand)
        if operand.__class__ not in CONCRETE and is_tracer(operand):
            traced = True
    if huge:
        values = huge_ints_as_floats(values)
    on_tape = on_tape and op.differentiable and STATE.recording
    if traced:
        if STATE.nothing_is_traced():
            with LOCK:  # a thread that traces the network has let go of it
                if not any(is_tracer(v._value if isinstance(v, Tensor) else v) for v in operands):
                    return apply(op, operands, static)
        mark_used(operands)
    try:
        return _run(op, operands, values, static, traced, on_tape)
    except Exception as error:
        if not is_nested(error):
            raise_op_error(error, op, operands)
    try:
        return _run(op, operands, values, static, True, on_tape)
    except Exception as error:
        raise_op_error(error, op, operands)


def _run(op, operands, values, static, traced, on_tape):
    if on_tape:
        recorded = _record(op, operands, values, static, traced)
        if recorded is not None:
            return recorded
    out = op.bind(static)(*values) if traced else op.programs[static](*values)
    if traced and STATE.stops_jax():
        out = jax.tree.map(jax.lax.stop_gradient, out)
    if ACTIVITY.slow_dispatch and not traced:
        _after(op, operands, values, out, None, static)
    if out.__class__ is tuple or out.__class__ is list:
        return tuple([wrap(o) for o in out])
    return wrap(out)


def refuse_recorded(operand: Any, name: str) -> None:
    """Raise a TypeError if a list, an operand of the operator with that name, holds a Tensor of the tape: its gradient would be cut."""
    if any(tensor._node is not None and tensor._node.live() for tensor in tensors_in(operand)):
        raise TypeError(
            f"For '{name}'{where()}, an operand is a {type(operand).__name__} with a Tensor whose gradient is being recorded and would be "
            "cut; make one Tensor of it with ops.stack."
        )


def _record(op, operands, values, static, traced):
    """Run the operator and add a node to the tape; None if no operand is on the tape of an open scope."""
    scope = STATE.scope
    root = scope.root
    if traced and scope is ROOT:
        return None  # jax differentiates what it traces there: `backward()` can't be called
    slots, edges, base = [], [], None
    for i, operand in enumerate(operands):
        node = operand._node if isinstance(operand, Tensor) else None
        if node is None or not node.base.open:
            continue
        if node.base.root is not root:
            if node.base.root is scope.outside:
                raise _cut(operand)
            continue
        if traced and node.base.level is not None and node.base.level != jax_slots.trace_state():
            raise _cut(operand)
        slots.append(i)
        edges.append((node, operand._oidx))
        if base is None or node.base.depth < base.depth:
            base = node.base
    if base is None:
        return None
    slots = tuple(slots)
    if traced:
        pull = TracedVJP(op.bind(static), values, slots, op.int_grad)
        out, residuals, spec = pull.out, None, None
    else:
        spec = None
        while spec is None:  # another thread has compiled it, too, and its program took the place of this one's
            out, residuals, token = op.forwards[static, slots](*values)
            spec = token.spec()
        pull = spec.pull
        # Python's garbage collector visits every container that the tape keeps, so there is one for all residuals, and none for no residuals.
        residuals = list(map((*residuals, *values, *out).__getitem__, spec.places)) if spec.places else residuals or ()
    node = None
    if True in pull.carries:
        if pull.slots != slots:
            edges = [e for i, e in zip(slots, edges) if i in pull.slots]
        node = OpNode(base, edges, op, static, pull, spec, residuals)
        if base is not scope:
            scope.nested = True
        if (base is not scope or base is ROOT) and (pull.keeps_values() if spec is None else spec.sources):
            # At ROOT, because backward(create_graph=True) may be called later.
            node.needs_operands = True
            node.values = values
        if STATE.saving is not None:
            STATE.saving.save(node, operands, values)
    if ACTIVITY.slow_dispatch:
        if not traced:
            _after(op, operands, values, out, node, static)
        elif node is not None and (monitor := STATE.monitor) is not None:
            monitor.recorded(node)
    if pull.single:
        return wrap(out[0], node)
    return tuple([wrap(o, node if carries else None, i) for i, (o, carries) in enumerate(zip(out, pull.carries))])


def _cut(operand):
    name = (
        f"the Parameter '{operand.name}'" if hasattr(operand, "requires_grad_") else f"the Tensor of shape {list(operand.shape)}"
    )
    return RuntimeError(
        f"The gradient of {name} is being recorded outside of a function that jax differentiates or compiles, and would be cut where that function "
        "uses it. Pass it to the function as an argument, or stop its gradient with ops.stop_gradient before."
    )


class OpNode(Node):
    """The tape's node of one operator call.

    Attributes:
        pullback: the call's vjp.
        spec: the description of the residuals; None if the call was traced.
        residuals: in the order in which the compiled backward takes them; None if the call was traced: then `pullback` holds them.
        values: operand values, if the backward may be differentiated with respect to them.
        needs_operands: True if the backward itself may be differentiated with respect to the operands.
        saved: where the values are kept elsewhere (see msjax.engine.autograd.recompute), a function that gives them: those of "residuals" or
            of "operands". None where they are here.
    """

    __slots__ = ("op", "static", "pullback", "spec", "residuals", "values", "needs_operands", "saved")

    values: Any  # since they are there only if the backward needs them
    saved: Callable[[str], Sequence[Any]] | None

    def __init__(
        self,
        base: Scope,
        edges: list[Edge | None],
        op: Op,
        static: tuple[Any, ...],
        pullback: VJP,
        spec: ResidualSpec | None,
        residuals: Sequence[Any] | None,
    ):
        # The same as Node.__init__, inlined to save a call for each operator.
        self.seq: int = next(SEQUENCE)
        self.base = base
        self.edges: Any = edges
        self.nout: int = len(pullback.carries)
        self.hooks = self.also_run = None
        self.op = op
        self.static: tuple[Any, ...] = static
        # Any, since `release` sets them to None.
        self.pullback: Any = pullback
        self.spec: Any = spec
        self.residuals: Any = residuals
        self.values = self.saved = None
        self.needs_operands: bool = False

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def accumulation_order(self) -> list[int] | None:
        order = self.op.accumulation_order
        if order is None:
            return None
        slots = self.pullback.slots
        return [slots.index(i) for i in order if i in slots]

    def pull(self, cts: list[Any], need: Need) -> Grads:
        spec = self.spec
        if spec is None:
            if self.op.runs_cells:
                cts = [None if ct is None else STATE.delivery.before_loop(Values.of_arrays, ct) for ct in cts]
            return self.pullback(cts, need)
        if self.nout == 1:
            key = (True,), need
            given = cts
        else:
            key = tuple([c is not None for c in cts]), need
            given = [c for c in cts if c is not None]
        kept = self.residuals if self.saved is None else self.saved("residuals")
        try:  # as `run_cached` does; written out, since every operator's gradient comes here
            grads = spec.backwards[key](*kept, *given)
        except ValueError as error:
            if not is_nested(error):
                raise
            grads = spec.backwards.function(key)(*kept, *given)
        if False not in need:
            return grads
        found = iter(grads)
        return [next(found) if n else None for n in need]

    def _inputs(self, inputs, cts, given, need, gradient):
        """The operands, given as values; those on the tape as Tensors, unless the gradient does not depend on them.

        The derivative by such an operand is no array of zeros: a slope further back may be infinite, and would make NaN of it.
        """
        known = {} if self.spec is None else self.spec.used
        used = known.get((given, need))
        if used is None:
            values = [*inputs, *[ct._value for ct in cts]]
            # Without calls of hooks: the value that orders them is none that a gradient depends on.
            with CallsAsOutputs(dropped=True) if self.op.runs_cells else nullcontext():
                used = known[given, need] = used_operands(gradient, values)
        for slot, (node, i) in zip(self.pullback.slots, self.edges):
            if used[slot]:
                inputs[slot] = wrap(inputs[slot], node, i)
        return inputs

    def pull_recorded(self, cts: list[Tensor | None], need: Need) -> list[Tensor | None]:
        """Like `pull`, but on Tensors and with operators, so that an outer scope can differentiate it."""
        given = tuple([c is not None for c in cts])
        cts = [c for c in cts if c is not None]
        if self.needs_operands:
            # The gradient depends on the inputs, which an outer scope may differentiate: compute it from the inputs again.
            slots, fn, int_grad = self.pullback.slots, self.op.bind(self.static), self.op.int_grad
            runs_cells = self.op.runs_cells
            values = list(self.values if self.saved is None else self.saved("operands"))
            n = len(values)
            # jax keeps what it traces, as gradients of gradients call the same ones again and again; not where the kernel is to see numbers.
            kept = self.spec is None and not runs_cells and not any(v.__class__ in NUMBERS for v in values)

            def gradient_from_inputs(*args):
                rest = iter(args[n:])
                full = [next(rest) if there else None for there in given]
                # Forward hooks of cells were called in the forward pass.
                with CallsAsOutputs(dropped=True) if runs_cells else nullcontext():
                    pull = TracedVJP(fn, args[:n], slots, int_grad)
                return tuple(g for g in pull(full, need) if g is not None)

            key = ("again", self.static, slots, given, need, n, kept)

            def made():
                return self._gradient_op(jax.jit(gradient_from_inputs, inline=True) if kept else gradient_from_inputs, int_grad)

            gradient = self.op.derived(key, made)
            grads = apply(gradient, [*self._inputs(values, cts, given, need, gradient.fn), *cts])
        elif (spec := self.spec) is not None:
            key = ("back", spec, given, need)
            gradient = self.op.derived(key, lambda: self._gradient_op(spec.backwards.function((given, need)), True))
            kept = self.residuals if self.saved is None else self.saved("residuals")
            grads = apply(gradient, [*kept, *cts])
        else:
            pullback = self.pullback

            def back(*cts):
                rest = iter(cts)
                grads = pullback([next(rest) if there else None for there in given], need)
                return tuple(g for g in grads if g is not None)

            grads = apply(self._gradient_op(back, True), cts)
        found = iter(grads)
        return [next(found) if n else None for n in need]

    def _gradient_op(self, fn, int_grad):
        return Op("gradient of " + self.op.name, fn, int_grad=int_grad, jit=self.op.jit)

    def release(self) -> None:
        if self.base is ROOT and self.spec is not None and not self.spec.sources:
            return  # nothing to free; as in PyTorch, several graphs may share such a node and each run backward through it
        self.edges = self.spec = self.residuals = self.values = self.saved = self.pullback = None


def _after(op, operands, values, out, node, static):
    """Wait and tell the monitor, as settings ask, after an operator ran on concrete values."""
    if ACTIVITY.synchronize:
        try:
            jax.block_until_ready(out)
        except Exception as error:
            raise_op_error(error, op, ())
    monitor = STATE.monitor
    if monitor is not None:
        monitor.ran(op, operands, values, out, node, static)
