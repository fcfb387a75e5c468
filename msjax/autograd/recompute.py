"""recompute: values of the forward thrown away, and computed again when the backward comes to them.

The call is recorded as any other, so the tape knows its operators, Parameters and hooks; only the
values that the operators would keep are left out. The backward, when it enters the call from its
end, runs the function once more, as it ran then, and the operators get their values from that run.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import jax

from msjax.autograd.op import gather
from msjax.common.arrays import is_tracer
from msjax.common.bases import is_cell
from msjax.common.node import FunctionNode, RootLeaf, next_seq, place_on_tape
from msjax.common.random import default_generator
from msjax.common.tensor import Tensor, is_tensor, tensors_in, wrap
from msjax.errors import callable_name, describe
from msjax.state import STATE, swap

if TYPE_CHECKING:
    from msjax.nn.cell.base import Cell


__all__ = ["recompute"]


def recompute(
    block: Cell | Callable[..., Any],
    *args: Any,
    use_reentrant: bool = True,
    output_recompute: bool = False,
    early_stop: bool = True,
    context_fn: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Tensor:
    """Call a cell or function such that its inner values are not kept for the backward, but computed again there.

    That takes less memory and more time; values and gradients are the same. Forward hooks of the cells inside run
    again in the backward, before their backward hooks. Random operators repeat the numbers that they drew, and a
    cell's buffers and untrained Parameters, such as moving averages, are left as the first run left them.

    Args:
        block (Cell or callable): what is called. It should do the same both times.
        args: its arguments.
        use_reentrant, output_recompute, early_stop: kept for MindSpore's programs, without effect.
        context_fn (callable, optional): returns two context managers, one around the first run and one around the second.
        kwargs: its keyword arguments.

    Returns:
        What the block returns.

    Raises:
        TypeError: `block` is not callable.
        RuntimeError: in the backward, the block did something else than the first time.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> print(ms.grad(lambda x: ms.recompute(lambda v: ops.exp(v) * v, x))(ms.Tensor(1.0)))
        5.4365635
    """
    if not callable(block):
        raise TypeError(f"For 'recompute', the block should be a Cell or a function, but got {describe(block)}.")
    return call_recomputed(block, args, kwargs, context_fn)


def call_recomputed(
    block: Callable[..., Any], args: tuple[Tensor, ...], kwargs: dict[str, Any], context_fn: Any = None
) -> Tensor:
    """The call that `recompute` makes."""
    first, second = (nullcontext(), nullcontext()) if context_fn is None else context_fn()
    if not STATE.recording or any(is_tracer(t._value) for t in tensors_in((args, kwargs))):
        with first:
            return block(*args, **kwargs)
    return _Region(block, args, kwargs, second).run(first)


class _Region:
    """One call of a block that will be called again."""

    def __init__(self, block: Any, args: Any, kwargs: Any, context: Any):
        self.block = block
        self.context = context
        leaves, self.treedef = jax.tree.flatten((args, kwargs), is_leaf=is_tensor)
        self.leaves = [_Snapshot(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self.given = args, kwargs
        self.scope = STATE.scope
        self.cells = tuple(STATE.cells)
        self.outside = {}  # id: _Snapshot of each Tensor from elsewhere that a recorded operator read
        self.signature = []  # (operator, static values, slots) of each recorded operator that keeps values
        self.store = None  # after the second run: for each of those its values, until they are used
        self.random = default_generator.state._value
        self.start = next_seq()

    def run(self, context):
        """The first run; its Tensors leave through a node that calls the block again when the backward comes."""
        args, kwargs = self.given
        self.given = None
        with swap(saving=self), context:
            out = self.block(*args, **kwargs)
        if not self.signature:
            return out
        leaves, treedef = jax.tree.flatten(out, is_leaf=is_tensor)
        at = [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]
        edges, base = place_on_tape([leaves[i] for i in at])
        if base is None:
            return out
        node = FunctionNode(base, edges, len(at), self._enter, "recompute", keeps=[leaves[i] for i in at])
        for k, (i, edge) in enumerate(zip(at, edges)):
            if edge is not None:
                leaves[i] = wrap(leaves[i]._value)
                leaves[i]._node, leaves[i]._oidx = node, k
        return jax.tree.unflatten(treedef, leaves)

    def save(self, node, operands, values):
        """Take over the values of a node that has just been recorded, in the first run or the second."""
        first = self.store is None
        if first:
            for operand in operands:
                if isinstance(operand, Tensor) and operand._node is not None and self._is_outside(operand._node):
                    self.outside.setdefault(id(operand), _Snapshot(operand))
        residuals = node.residuals
        if residuals is None or not residuals.spec.sources:
            return
        seen = (node.op, node.static, node.way_back.slots)
        if first:
            node.saved = _Recomputed(self, len(self.signature))
            self.signature.append(seen)
        else:
            n = len(self.store)
            if n >= len(self.signature) or self.signature[n] != seen:
                expected = f"{self.signature[n][0].name!r}" if n < len(self.signature) else "no further operator"
                raise RuntimeError(
                    f"For 'recompute', {callable_name(self.block)} did something else in its second run: operator "
                    f"{node.op.name!r} came where the first run had {expected}."
                )
            self.store.append((gather(residuals.spec, residuals.leaves, node.values, node.out), values))  # pyright: ignore[reportOptionalMemberAccess]
        node.values = node.out = None
        node.residuals = residuals.emptied()

    def _is_outside(self, node) -> bool:
        return node.seq < self.start or node.__class__ is RootLeaf

    def _enter(self, grads):
        self._run_again()
        return grads

    def _run_again(self):
        """The second run: computes the values anew, with everything as it was in the first."""
        scopes = list(_chain(self.scope))
        were_open = [scope.open for scope in scopes]
        random = default_generator.state._value
        buffers = [(b, b._value) for b in _buffers(self.block)]
        now = [_Snapshot(snapshot.tensor) for snapshot in self.outside.values()]
        args, kwargs = jax.tree.unflatten(self.treedef, [x.copy() if isinstance(x, _Snapshot) else x for x in self.leaves])
        for scope in scopes:
            scope.open = True
        default_generator.state._value = self.random
        self.store = []
        try:
            for snapshot in self.outside.values():
                snapshot.put_back()
            with swap(scope=self.scope, recording=True, saving=self, cells=list(self.cells)), self.context:
                self.block(*args, **kwargs)
            if len(self.store) != len(self.signature):
                raise RuntimeError(
                    f"For 'recompute', {callable_name(self.block)} did something else in its second run: it recorded "
                    f"{len(self.store)} operators, in the first run {len(self.signature)}."
                )
        finally:
            for scope, was in zip(scopes, were_open):
                scope.open = was
            default_generator.state._value = random
            for snapshot in now:
                snapshot.put_back()
            for buffer, value in buffers:
                buffer._value = value

    def take(self, i):
        """(residuals, operands) of an operator; they are handed over, and computed once more for another backward."""
        if self.store is None or self.store[i] is None:
            self._run_again()
        taken, self.store[i] = self.store[i], None  # pyright: ignore[reportOptionalSubscript]
        return taken


class _Recomputed:
    """Where a node finds its values: in the second run."""

    __slots__ = ("region", "i")

    def __init__(self, region: Any, i: Any):
        self.region = region
        self.i = i

    def residuals(self, node):
        return self.region.take(self.i)[0]

    def operands(self, node):
        return self.region.take(self.i)[1]


class _Snapshot:
    """What a Tensor was at one moment: its value and place on the tape."""

    __slots__ = ("tensor", "value", "node", "oidx")

    def __init__(self, tensor: Any):
        self.tensor = tensor
        self.value, self.node, self.oidx = tensor._value, tensor._node, tensor._oidx

    def copy(self) -> Tensor:
        """Another Tensor that is what this one was."""
        copy = wrap(self.value)
        copy._node, copy._oidx = self.node, self.oidx
        return copy

    def put_back(self):
        """Make the Tensor what it was."""
        self.tensor._value, self.tensor._node, self.tensor._oidx = self.value, self.node, self.oidx


def _chain(scope):
    """The scope and those around it."""
    while scope is not None:
        yield scope
        scope = scope.parent


def _buffers(block):
    """The state of a cell that a run may change: buffers and Parameters that are not trained."""
    if not is_cell(block):
        block = getattr(block, "__self__", None)
        if not is_cell(block):
            return []
    return [*block.untrainable_params(), *block.buffers()]  # pyright: ignore[reportOptionalMemberAccess]
