"""Operators, and `apply`, which runs them: every computation on Tensors goes through it.

An operator is a function of jax arrays. On concrete values without a gradient, `apply` calls the
compiled function. If an operand is on the tape, it calls a compiled forward that also returns
residuals, and adds a node to the tape. While jax traces, it calls the function itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax

from msjax.autograd.monitor import current
from msjax.autograd.op_errors import raise_op_error
from msjax.autograd.residuals import TracedVJP, compile_forward
from msjax.common import dtype as mstype
from msjax.common.arrays import CONCRETE, as_array, is_tracer
from msjax.common.node import SEQUENCE, Node, wrap
from msjax.common.tensor import Tensor, is_tensor
from msjax.errors import where
from msjax.state import ACTIVITY, ROOT, STATE
from msjax.typing import JaxArray, TensorLike

if TYPE_CHECKING:
    from msjax.autograd.residuals import Residuals, ResidualSpec
    from msjax.state import Scope


class Op:
    """A function of jax arrays as an operator on Tensors.

    Args:
        name: the name in messages.
        fn: takes operands (jax arrays, Python numbers or None), then static values; returns an array or a tuple.
        int_grad: whether integer operands have a gradient, that of the same formula on floats: True for all of them, or
            the positions of those that have one.
        differentiable: False if no gradient ever flows through the operator.
        shape_error: the exception that MindSpore raises for shapes that don't match.

    Attributes:
        jit: compiles its functions; an operator with collectives has that of its group of processes.
        accumulation_order: the order of operands in which `Tensor.backward()` passes gradients on, if PyTorch does not go
            from the first operand to the last.
    """

    __slots__ = (
        "name",
        "fn",
        "int_grad",
        "differentiable",
        "shape_error",
        "jit",
        "accumulation_order",
        "_plain",
        "_forward",
        "_derived",
    )

    def __init__(
        self,
        name: str,
        fn: Callable[..., Any],
        *,
        int_grad: bool = False,
        differentiable: bool = True,
        shape_error: Any = ValueError,
        jit: Callable[..., Any] = jax.jit,
    ):
        self.name: str = name
        self.fn = fn
        self.int_grad: bool = int_grad
        self.differentiable: bool = differentiable
        self.shape_error = shape_error
        self.jit = jit
        self.accumulation_order = None
        self._plain = {}
        self._forward = {}
        self._derived = {}

    def __repr__(self) -> str:
        return f"Op({self.name})"

    def bind(self, static: Any) -> Any:
        """`fn` with its static values bound: a function of the operands only."""
        return _Bound(self.fn, static) if static else self.fn

    def compiled(self, static: Any) -> Any:
        try:
            return self._plain[static]
        except KeyError:
            compiled = self._plain[static] = self.jit(self.bind(static))
            return compiled

    def forward(self, static: Any, slots: tuple[int, ...]) -> Any:
        try:
            return self._forward[static, slots]
        except KeyError:
            compiled = self._forward[static, slots] = compile_forward(self.bind(static), slots, self.int_grad, self.jit)
            return compiled

    def derived(self, key: Any, make: Any) -> Any:
        """An operator derived from this one, such as its gradient; cached by `key`."""
        try:
            return self._derived[key]
        except KeyError:
            made = self._derived[key] = make()
            return made


class _Bound:
    """`fn` with its static values bound. Not a partial, since jax names programs after `__name__`."""

    def __init__(self, fn: Any, static: Any):
        self.fn = fn
        self.static = _thawed(static)
        self.__name__ = getattr(fn, "__name__", "op")

    def __call__(self, *operands: Any) -> Any:
        return self.fn(*operands, *self.static)


def _thawed(static):
    """Static values as kernels get them: plain floats, since the float class of cache keys never equals an int."""
    return tuple([
        float(v) if isinstance(v, float) else _thawed(v) if v.__class__ is tuple else v for v in static
    ])  # fmt: skip


def apply(op: Op, operands: Any, static: tuple[Any, ...] = ()) -> Any:
    """Run an operator.

    Args:
        op: the operator.
        operands: Tensors, Parameters, arrays, Python numbers or None.
        static: hashable values that the program is compiled for.

    Returns:
        A Tensor, or a tuple of Tensors.
    """
    if ACTIVITY.slow_dispatch:
        if STATE.trace is not None:
            STATE.trace.see(operands)
        if STATE.cast is not None:
            operands = STATE.cast(op, operands)
    values = []
    on_tape = False
    traced = False
    for operand in operands:
        if isinstance(operand, Tensor):
            if operand._node is not None:
                on_tape = True
            operand = operand._value
        elif isinstance(operand, (list, tuple)):
            operand = _array_of_list(operand, op)
        values.append(operand)
        if operand.__class__ not in CONCRETE and is_tracer(operand):
            traced = True
    try:
        if on_tape and op.differentiable and STATE.recording:
            recorded = _record(op, operands, values, static, traced)
            if recorded is not None:
                return recorded
        out = op.bind(static)(*values) if traced else op.compiled(static)(*values)
    except Exception as error:
        raise_op_error(error, op, operands)
    if ACTIVITY.slow_dispatch and not traced:
        _after(op, operands, values, out, None)
    if out.__class__ is tuple or out.__class__ is list:
        return tuple([wrap(o) for o in out])
    return wrap(out)


def _array_of_list(operand, op):
    for item in jax.tree.leaves(operand, is_leaf=is_tensor):
        if isinstance(item, Tensor) and item._node is not None and item._node.live():
            raise TypeError(
                f"For '{op.name}'{where()}, an operand is a {type(operand).__name__} with a Tensor whose gradient is being recorded and would be "
                "cut; make one Tensor of it with ops.stack."
            )
    return as_array(operand)


def _record(op, operands, values, static, traced):
    """Run the operator and add a node to the tape; None if no operand is on the tape of an open scope."""
    scope = STATE.scope
    root = scope.root
    slots, edges, base = [], [], None
    for i, operand in enumerate(operands):
        node = getattr(operand, "_node", None) if isinstance(operand, Tensor) else None
        if node is None or not node.base.open or node.base.root is not root or (node.is_leaf and not node.live()):
            continue
        slots.append(i)
        edges.append((node, operand._oidx))
        if base is None or node.base.depth < base.depth:
            base = node.base
    if base is None:
        return None
    slots = tuple(slots)
    if traced:
        pull = TracedVJP(op.bind(static), values, slots, op.int_grad)
        out, residuals = pull.out, None
    else:
        forward = op._forward.get((static, slots)) or op.forward(static, slots)
        out, residuals = forward(*values)
        pull = residuals.spec.pull
    single = pull.single
    tensors = [wrap(out[0])] if single else [wrap(o) for o in out]
    node = None
    if True in pull.carries:
        if pull.slots != slots:
            edges = [e for i, e in zip(slots, edges) if i in pull.slots]
        node = OpNode(base, edges, op, static, pull, residuals)
        if base is not scope:
            scope.nested = True
        if (base is not scope or base is ROOT) and (pull.keeps_values() if residuals is None else residuals.spec.sources):
            # At ROOT, because backward(create_graph=True) may be called later.
            node.needs_operands = True
            node.values = values
        if residuals is not None and residuals.spec.needs_values:
            node.values = values
            node.out = out
        if STATE.saving is not None:
            STATE.saving.save(node, operands, values)
        for i, tensor in enumerate(tensors):
            if pull.carries[i]:
                tensor._node = node
                tensor._oidx = i
    if ACTIVITY.slow_dispatch and not traced:
        _after(op, operands, values, out, node)
    return tensors[0] if single else tuple(tensors)


def snapshot(operand: Any, value: TensorLike | None = None) -> Any:
    """A copy of the operand with its present value and node, since it may be written to later."""
    if not isinstance(operand, Tensor):
        return operand if value is None else value
    copy = wrap(operand._value)
    if operand._node is not None:
        copy._node, copy._oidx = operand._node, operand._oidx
    return copy


class OpNode(Node):
    """The tape's node of one operator call.

    Attributes:
        way_back: the call's vjp.
        residuals: those of the compiled forward; None if the call was traced: then `way_back` holds them.
        values, out: operand values and results, if the backward needs them.
        needs_operands: True if the backward itself may be differentiated with respect to the operands.
        saved: the object that holds values, results and residuals instead (see msjax.autograd.saved), or None.
    """

    __slots__ = ("op", "static", "way_back", "residuals", "values", "out", "needs_operands", "saved")

    def __init__(self, base: Scope, edges: Any, op: Op, static: Any, way_back: TracedVJP, residuals: Residuals):
        # The same as Node.__init__, inlined to save a call for each operator.
        self.seq: int = next(SEQUENCE)
        self.base = base
        self.edges = edges
        self.nout: int = len(way_back.carries)
        self.hooks = self.also_run = None
        self.op = op
        self.static = static
        self.way_back = way_back
        self.residuals = residuals
        self.values = self.out = self.saved = None
        self.needs_operands: bool = False

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def accumulation_order(self) -> list[int] | None:
        order = self.op.accumulation_order
        if order is None:
            return None
        slots = self.way_back.slots  # pyright: ignore[reportOptionalMemberAccess]
        return [slots.index(i) for i in order if i in slots]

    def pull(self, cts: list[JaxArray], need: tuple[bool, ...]) -> list[Any | None]:
        if self.residuals is None:
            return self.way_back(cts, need)  # pyright: ignore[reportOptionalCall]
        spec = self.residuals.spec
        if self.nout == 1:
            compiled = spec.backward((True,), need)
            given = cts
        else:
            compiled = spec.backward(tuple([c is not None for c in cts]), need)
            given = [c for c in cts if c is not None]
        kept = self.residuals.leaves if self.saved is None and not spec.needs_values else self._residuals(spec)
        grads = compiled(*kept, *given)
        if False not in need:
            return grads
        found = iter(grads)
        return [next(found) if n else None for n in need]

    def _residuals(self, spec):
        if self.saved is not None:
            return self.saved.residuals(self)
        kept = self.residuals.leaves  # pyright: ignore[reportOptionalMemberAccess]
        return gather(spec, kept, self.values, self.out) if spec.needs_values else kept

    def _inputs(self):
        """The operands at the time of the call; those on the tape as Tensors."""
        inputs = list(self.values if self.saved is None else self.saved.operands(self))
        for slot, (node, i) in zip(self.way_back.slots, self.edges):  # pyright: ignore[reportOptionalMemberAccess]
            tensor = inputs[slot] = wrap(inputs[slot])
            tensor._node, tensor._oidx = node, i
        return inputs

    def pull_recorded(self, cts: Any, need: Any) -> list[Tensor | None]:
        """Like `pull`, but on Tensors and with operators, so that an outer scope can differentiate it."""
        given = tuple([c is not None for c in cts])
        cts = [c for c in cts if c is not None]
        if self.needs_operands:
            # The gradient depends on the inputs, which an outer scope may differentiate: compute it from the inputs again.
            inputs = self._inputs()
            n, slots, fn, int_grad = len(inputs), self.way_back.slots, self.op.bind(self.static), self.op.int_grad  # pyright: ignore[reportOptionalMemberAccess]

            def gradient_from_inputs(*args):
                rest = iter(args[n:])
                full = [next(rest) if there else None for there in given]
                grads = TracedVJP(fn, args[:n], slots, int_grad)(full, need)
                return tuple(g for g in grads if g is not None)

            key = ("again", self.static, slots, given, need, n)
            gradient = self.op.derived(key, lambda: self._gradient_op(gradient_from_inputs, int_grad))
            grads = apply(gradient, [*inputs, *cts])
        elif self.residuals is not None:
            spec = self.residuals.spec
            key = ("back", spec, given, need)
            gradient = self.op.derived(key, lambda: self._gradient_op(spec.backward_fn(given, need), True))
            grads = apply(gradient, [*self._residuals(spec), *cts])
        else:
            way_back = self.way_back

            def back(*cts):
                rest = iter(cts)
                grads = way_back([next(rest) if there else None for there in given], need)  # pyright: ignore[reportOptionalCall]
                return tuple(g for g in grads if g is not None)

            grads = apply(self._gradient_op(back, True), cts)
        found = iter(grads)
        return [next(found) if n else None for n in need]

    def _gradient_op(self, fn, int_grad):
        return Op("gradient of " + self.op.name, fn, int_grad=int_grad, jit=self.op.jit)

    def release(self) -> None:
        if self.base is ROOT and self.residuals is not None and not self.residuals.spec.sources:
            return  # nothing to free; as in PyTorch, several graphs may share such a node and each run backward through it
        self.edges = self.residuals = self.values = self.out = self.saved = self.way_back = None


def gather(spec: ResidualSpec, kept: Any, values: Any, out: tuple[JaxArray, ...]) -> list[Any]:
    """All residuals in order, collected from the kept ones, the operands and the results."""
    of = {"kept": kept, "in": values, "out": out}
    return [of[kind][i] for kind, i in spec.sources]


def _after(op, operands, values, out, node):
    """What settings ask for after an operator ran on concrete values."""
    if ACTIVITY.synchronize:
        _wait(out, op)
    monitor = current()
    if monitor is not None:
        monitor.ran(op, operands, values, out, node)


def _wait(out, op):
    try:
        jax.block_until_ready(out)
    except Exception as error:
        raise_op_error(error, op, ())


def type_of(value: TensorLike) -> Any:
    """The msjax data type of an operand: a Tensor's, an array's or that of a Python number."""
    if isinstance(value, Tensor):
        return value.dtype
    if hasattr(value, "dtype"):
        return mstype.from_np(value.dtype)
    return mstype.pytype_to_dtype(type(value))
