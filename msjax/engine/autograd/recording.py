"""GradientScope: records one run of a function and computes its gradients afterwards.

`TracedTape` is a tape that moves to another trace: that of a traced forward pass, for a backward pass that is traced, or runs, elsewhere.
What the nodes keep of the forward pass is taken out of them, to become results of the traced forward pass, and is put back where the
backward pass runs: as the values of another trace, or as concrete ones.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Self

import jax
import jax.numpy as jnp

from msjax.common.bases import SparseBase
from msjax.common.containers import MUTABLE, MutableDict, MutableList, MutableTuple
from msjax.common.dtype import Type
from msjax.common.node import FunctionNode, Leaf, place_on_tape
from msjax.common.run_state import LOCK, STATE, Edge, Node, Scope
from msjax.common.tensor import Tensor, filled_like, tensors_in, wrap
from msjax.common.tensor_hooks import attach_hooks
from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer
from msjax.core.base.checks import check_kind, check_no_cycle
from msjax.core.base.errors import callable_name, describe
from msjax.core.base.typing import JaxArray, PyTree
from msjax.engine.autograd.backward import LeafGradients, reached, run_backward
from msjax.engine.autograd.op import OpNode
from msjax.engine.settings.current import SETTINGS

# Told when Tensors are leaves no more.
_FREED = threading.Condition(LOCK)


def wait_for(tensors: Iterable[Tensor]) -> None:
    """Wait until none of the Tensors is a leaf of another thread's run; `LOCK` is held before and afterwards.

    All at once, so that of two threads that want the same Tensors none has what the other one waits for. A thread that waits for this one,
    as for a hook that this one calls, is not waited for; whether it does is looked at from time to time.
    """
    own = threading.get_ident()
    while True:
        for tensor in tensors:
            node = tensor._node
            if isinstance(node, Leaf) and node.thread != own and node.thread not in STATE.waiting:
                _FREED.wait(0.05)
                break
        else:
            return


class GradientScope:
    """Records a function that is being differentiated.

    Use it as a context manager around the call, and mark inputs and weights inside. On exit, marked Tensors get their
    earlier place on the tape back, even if the function raised. A Tensor is a leaf for one thread at a time: another one waits (`wait_for`).

    Attributes:
        scope: the scope of the run, from its beginning on.
    """

    scope: Scope
    _before: tuple[Scope, bool]

    def __init__(self):
        # The leaves of the marked Tensors; then the node and output number of each at the end of the run.
        self._marked: list[Leaf] = []
        self._ends: dict[int, tuple[Node | None, int]] = {}
        self._weights: Iterable[Leaf] = ()

    def __enter__(self) -> Self:
        state = STATE
        self._before = (state.scope, state.recording)
        self.scope = state.scope = Scope(state.scope, jax_slots.trace_state())
        state.recording = True
        return self

    def __exit__(self, *_exception: Any) -> None:
        with LOCK:
            for leaf in reversed(self._marked):
                tensor = leaf.tensor
                self._ends.setdefault(id(tensor), (tensor._node, tensor._oidx))
                # Written to in place with a value that is not from this run: it keeps that value's node.
                if tensor._node is not leaf and not (tensor._node is not None and tensor._node.base is self.scope):
                    continue
                tensor._node, tensor._oidx = leaf.before, leaf.oidx_before
                if tensor._hooks is not None:
                    attach_hooks(tensor, tensor._hooks)  # those that came during the run see what arrives outside of it, too
            self.scope.open = False
            STATE.scope, STATE.recording = self._before
            _FREED.notify_all()

    def inputs(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], positions: Iterable[int]
    ) -> tuple[tuple[Any, ...], dict[str, Any], list[PyTree]]:
        """Mark the Tensors among the arguments as leaves; keyword arguments are numbered after the positional ones.

        Returns:
            (positional arguments, keyword arguments, and for each position its argument with every Tensor replaced by its
            leaf). A Tensor object that is passed at two positions becomes two Tensors, so that each position has its own
            gradient.
        """
        positions = tuple(positions)
        values, names, n = [*args, *kwargs.values()], list(kwargs), len(args)
        seen = set()

        def mark(tensor, requested):
            if not isinstance(tensor, Tensor):
                return tensor, None
            if not requested and not jnp.issubdtype(tensor._value.dtype, jnp.inexact):
                return tensor, None
            if id(tensor) in seen:
                leaf: Any = tensor._node  # a Leaf: what is in `seen` was marked
                if SETTINGS.dialect.sums_shared_inputs:
                    leaf.requested |= requested
                    return tensor, leaf
                alias = wrap(tensor._value, leaf.before, leaf.oidx_before)
                alias._hooks = tensor._hooks
                tensor = alias
            seen.add(id(tensor))
            return tensor, self.mark(tensor, requested)

        # Requested positions first: if one object is passed at several positions, a requested one keeps the object itself.
        places = {}
        with LOCK:
            tensors = values
            if {*map(type, values)} != {Tensor}:
                check_no_cycle(values)
                tensors = tensors_in(values)
            wait_for(tensors)
            for i in (*positions, *sorted(set(range(len(values))).difference(positions))):
                values[i], places[i] = _map_tensors(mark, values[i], i in positions)
        return tuple(values[:n]), dict(zip(names, values[n:])), [places[p] for p in positions]

    def weights(self, parameters: Iterable[Tensor]) -> list[Leaf]:
        """Mark Parameters, or other variables, as leaves; returns one leaf for each, the same leaf for one that is listed twice."""
        leaves, parameters = [], list(parameters)
        with LOCK:
            wait_for(parameters)
            for parameter in parameters:
                node = parameter._node
                if not isinstance(node, Leaf) or all(leaf is not node for leaf in self._marked):
                    node = self.mark(parameter, True)
                else:
                    node.requested = True
                leaves.append(node)
        self._weights = dict.fromkeys(leaves)
        return leaves

    def mark(self, tensor: Tensor, requested: bool = True) -> Leaf:
        """Make a Tensor a leaf of this run; returns the leaf. No other thread has it: `LOCK` is held, and `wait_for` was called."""
        leaf = Leaf(tensor, self.scope, requested)
        self._marked.append(leaf)
        tensor._node, tensor._oidx = leaf, 0
        return leaf

    def backward(self, outputs: Sequence[Tensor], cts: Sequence[Tensor], also: PyTree = (), keep: bool = False) -> Gradients:
        """Run the backward pass from `outputs` (Tensors) with the gradients `cts` (Tensors).

        Args:
            also: other results of the run, nested or not; they and `outputs` are taken off the tape, unless an outer scope differentiates
                them.
            keep: True keeps the graph, for another backward pass.
        """
        # The backward pass is recorded if an outer scope differentiates the run or the gradients it starts from.
        recorded = STATE.recording and (self.scope.nested or place_on_tape(cts)[1] is not None)
        ends = zip(map(self.end, outputs), cts)
        roots = [(*end, ct if recorded else ct._value) for end, ct in ends if end is not None]
        targets = {leaf for leaf in self._marked if leaf.requested}
        found = run_backward(roots, targets, recorded=recorded, keep=keep, weights=self._weights)
        if not keep:
            self.forget([*outputs, *tensors_in(also)] if also else outputs)
        return Gradients(found, recorded)

    def place(self, tensor: Tensor) -> tuple[Node | None, int]:
        """(node, output number) of a Tensor at the end of the run; needed because an input may also be an output."""
        return self._ends.get(id(tensor)) or (tensor._node, tensor._oidx)

    def end(self, tensor: Tensor) -> Edge | None:
        """The place of an output on the tape; None if no gradient of this scope flows back from it."""
        node, i = self.place(tensor)
        return (node, i) if node is not None and (node.base is self.scope or node.base.open) else None

    def forget(self, tensors: Iterable[Tensor]) -> None:
        """Take Tensors off the tape, unless an outer scope differentiates them."""
        for tensor in tensors:
            if tensor._node is not None and tensor._node.base is self.scope:
                tensor._node = None
                tensor._oidx = 0


class Gradients:
    """The gradients that a backward pass computed."""

    def __init__(self, found: LeafGradients, recorded: bool):
        self._found = found
        self._recorded = recorded

    def of(self, leaf: Leaf) -> Tensor:
        """The gradient of a leaf; zeros if nothing arrived there."""
        grad = self._found.get(leaf)
        if grad is None:
            return filled_like(leaf.tensor._value, 0)
        return grad if self._recorded else wrap(grad)

    def gradient(self, place: PyTree) -> PyTree:
        """The gradient of one argument, in the form that `GradientScope.inputs` returned; () for a number."""
        if isinstance(place, Leaf):
            return self.of(place)
        if isinstance(place, MUTABLE):  # complete: numbers have zeros there
            return jax.tree.map(
                lambda p: p if isinstance(p, (int, float)) else self.gradient(p),
                place,
                is_leaf=lambda p: not isinstance(p, MUTABLE),
            )
        if isinstance(place, (tuple, list)):
            return tuple(g for g in map(self.gradient, place) if not (isinstance(g, tuple) and g == ()))
        if isinstance(place, dict):
            return {k: self.gradient(v) for k, v in place.items()}
        if isinstance(place, SparseBase):
            return place.with_values(self.of(place.values))
        return ()


def _map_tensors(fn, value, requested):
    """(value with fn's first results, value with fn's second results) for the Tensors in nested containers."""
    kind = type(value)
    place = _or_zero if kind in MUTABLE else itemgetter(1)
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        pairs = [_map_tensors(fn, v, requested) for v in value]
        if kind in (tuple, list, MutableTuple, MutableList):
            return kind(a for a, _ in pairs), kind(map(place, pairs))
        return value, [b for _, b in pairs]
    if isinstance(value, dict) and kind in (dict, MutableDict):
        pairs = {k: _map_tensors(fn, v, requested) for k, v in value.items()}
        return kind((k, a) for k, (a, _) in pairs.items()), kind((k, place(p)) for k, p in pairs.items())
    if isinstance(value, SparseBase):
        return tuple(value.with_values(v) for v in fn(value.values, requested))
    return fn(value, requested)


def _or_zero(pair):
    """What stands for a number's gradient is a zero; its place otherwise."""
    value, place = pair
    return type(value)(0) if place is None and isinstance(value, (int, float)) else place


def _is_whole(value):
    return isinstance(value, (Tensor, SparseBase))


def _has_no_gradient(value):
    """Whether something that a function returned can't depend on its inputs in a way that has a gradient, as integers and shapes can't."""
    return isinstance(value, (int, Type)) or (isinstance(value, tuple) and value != () and all(map(_has_no_gradient, value)))


def flatten_tensors(out: PyTree, fn: Callable[..., Any]) -> list[Tensor]:
    """The Tensors in what a function returned, nested containers included; of sparse tensors, the values. There are none in integers and types.

    Raises:
        TypeError: the function returned no Tensor, but something else.
    """
    if isinstance(out, Tensor):
        return [out]
    found = [leaf for leaf in jax.tree.leaves(out, is_leaf=_is_whole) if _is_whole(leaf)]
    tensors = [leaf.values if isinstance(leaf, SparseBase) else leaf for leaf in found]
    if not tensors and not _has_no_gradient(out):
        raise TypeError(f"Function {callable_name(fn)} returned {describe(out)}: no Tensor, and so nothing to differentiate.")
    return tensors


def check_function_or_cell(fn: Any, who: str, name: str = "fn") -> Callable[..., Any]:
    """`fn`, the argument `name`; a TypeError unless it can be called."""
    return check_kind(fn, callable(fn), "be a function or a Cell", name, who)


def main_and_aux(out: Any, who: str) -> tuple[Any, tuple[Any, ...]]:
    """The first output of a function, which is differentiated, and the others.

    Raises:
        ValueError: there are less than two.
    """
    if not isinstance(out, (tuple, list)) or len(out) < 2:
        raise ValueError(f"For '{who}', has_aux=True needs a function of at least two outputs, but it returned {describe(out)}.")
    return out[0], tuple(out[1:])


class TracedTape:
    """The recorded nodes of one traced forward pass; between `take_values` and `put_back` they hold no values.

    Args:
        scope: recorded the forward pass, and has not ended yet.
        outputs: the Tensors from which the backward pass starts.
        leaves: those whose gradients are wanted.
        marked: the leaves whose Tensors belong to the trace.
        weights: the leaves whose hooks get zeros where no gradient arrives.

    Attributes:
        carries: for each output, (whether a gradient can flow back from it, whether that was stopped).
    """

    def __init__(
        self,
        scope: GradientScope,
        outputs: Sequence[Tensor],
        leaves: Sequence[Leaf],
        marked: Iterable[Leaf],
        weights: Iterable[Leaf] = (),
    ):
        self.carries = [(t._node is not None, t._stopped) for t in outputs]
        self._ends: list[Edge | None] = [*map(scope.end, outputs)]
        self._weights = dict.fromkeys(weights)
        self._marked = list(marked)
        self._leaves = list(leaves)
        self._nodes = reached([end[0] for end in self._ends if end is not None])
        self._structures: list[Any] = []

    def take_values(self) -> list[Any]:
        """Take out of the nodes what belongs to the present trace; `put_back` is its inverse."""
        taken = []
        for node in self._nodes:
            if isinstance(node, OpNode) and node.residuals is None:
                leaves, treedef = jax.tree.flatten(node.pullback.vjp)
                node.pullback.out = node.values = None
            elif isinstance(node, FunctionNode) and node.keeps:
                leaves, treedef = [t._value for t in node.keeps], None
            else:
                continue
            self._structures.append((node, treedef, [None if is_tracer(leaf) else (leaf,) for leaf in leaves]))
            taken += filter(is_tracer, leaves)
        for leaf in self._marked:
            _keep_type(leaf.tensor)
        self.forget_values()
        return taken

    def forget_values(self) -> None:
        """Leave no values in the nodes."""
        for node, treedef, _ in self._structures:
            if treedef is not None:
                node.pullback.vjp = None
            else:
                for tensor in node.keeps:
                    _keep_type(tensor)

    def put_back(self, values: Iterable[Any]) -> None:
        """Put values into the nodes, in the order in which `take_values` returned them."""
        rest = iter(values)
        for node, treedef, known in self._structures:
            leaves = [next(rest) if leaf is None else leaf[0] for leaf in known]
            if treedef is not None:
                node.pullback.vjp = jax.tree.unflatten(treedef, leaves)
            else:
                for tensor, leaf in zip(node.keeps, leaves):
                    tensor._value = leaf

    def zeros(self, number: int) -> Tensor:
        """A zero gradient of a leaf."""
        return wrap(jnp.zeros_like(self._leaves[number].tensor._value))

    def run_backward(self, cts: Sequence[JaxArray | None]) -> list[Tensor | None]:
        """The gradients of the leaves, None where none arrives; `cts` are those of the outputs, None where there is none."""
        roots = [(*end, ct) for end, ct in zip(self._ends, cts) if end is not None and ct is not None]
        found = run_backward(roots, set(self._leaves), keep=True, weights=self._weights)
        return [wrap(found[leaf]) if leaf in found else None for leaf in self._leaves]


def _keep_type(tensor):
    tensor._value = jax.ShapeDtypeStruct(tensor._value.shape, tensor._value.dtype)
