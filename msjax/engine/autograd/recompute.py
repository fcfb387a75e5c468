"""recompute: drops the residuals of a call, and computes them again in the backward pass.

The call is recorded like any other, so the tape has its operators, Parameters and hooks, but not the
residuals. When the backward pass reaches the end of the call, it runs the function a second time,
under the same conditions, and the operators get their residuals from that run.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

import jax

from msjax.common.bases import is_cell
from msjax.common.node import FunctionNode, RootLeaf, next_seq, place_on_tape
from msjax.common.random import default_generator
from msjax.common.run_state import STATE
from msjax.common.tensor import Tensor, is_tensor, renewed, tensors_in, wrap
from msjax.core.base.arrays import is_tracer
from msjax.core.base.errors import callable_name, describe

__all__ = ["recompute"]

TwoContexts: TypeAlias = "tuple[AbstractContextManager[Any], AbstractContextManager[Any]]"


def recompute(
    block: Callable[..., Any],
    *args: Any,
    use_reentrant: bool = True,
    output_recompute: bool = False,
    early_stop: bool = True,
    context_fn: Callable[[], TwoContexts] | None = None,
    **kwargs: Any,
) -> Any:
    """Call a cell or function without keeping its inner values; the backward pass computes them again.

    That takes less memory and more time; values and gradients are the same. Forward hooks of the cells inside run
    again in the backward pass, before their backward hooks. Random operators draw the same numbers again. A
    cell's buffers and untrained Parameters, such as moving averages, keep the values of the first run.

    Args:
        block (Cell or callable): what to call; both runs should do the same.
        args: its arguments.
        use_reentrant, output_recompute, early_stop: accepted for compatibility with MindSpore; without effect.
        context_fn (callable, optional): returns two context managers, for the first and the second run.
        kwargs: its keyword arguments.

    Returns:
        What the block returns.

    Raises:
        TypeError: `block` is not callable.
        RuntimeError: in the backward pass, the second run recorded other operators than the first.

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
    block: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    context_fn: Callable[[], TwoContexts] | None = None,
) -> Any:
    """`recompute` after its checks; `Cell.recompute` uses it too."""
    first, second = (nullcontext(), nullcontext()) if context_fn is None else context_fn()
    if not STATE.recording or any(is_tracer(t._value) for t in tensors_in((args, kwargs))):
        with first:
            out = block(*args, **kwargs)
        return _behind_node(out)
    return _Region(block, args, kwargs, second).run(first)


def _behind_node(out: Any, back: Callable[[list[Any]], list[Any]] = list, kept: bool = False) -> Any:
    """The result of a block behind a node of its own: the hooks of its Tensors are not those of an argument that the block returns."""
    leaves, treedef = jax.tree.flatten(out, is_leaf=is_tensor)
    at = [i for i, leaf in enumerate(leaves) if is_tensor(leaf)]
    edges, base = place_on_tape([leaves[i] for i in at])
    if base is None:
        return renewed(out)
    node = FunctionNode(base, edges, len(at), back, "recompute", keeps=[leaves[i] for i in at] if kept else ())
    for k, (i, edge) in enumerate(zip(at, edges)):
        leaves[i] = wrap(leaves[i]._value, None if edge is None else node, k)
    return jax.tree.unflatten(treedef, leaves)


class _Region:
    """One recomputed call: what is needed to run the block again under the same conditions."""

    def __init__(
        self, block: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], context: AbstractContextManager[Any]
    ):
        self.block = block
        self.context = context
        leaves, self.treedef = jax.tree.flatten((args, kwargs), is_leaf=is_tensor)
        self.leaves = [_TensorState(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        self.given: Any = args, kwargs  # None after the first run
        self.scope = STATE.scope
        self.cells = tuple(STATE.owners)
        self.outside: dict[
            int, _TensorState
        ] = {}  # id: _TensorState of each Tensor from outside the block that a recorded operator read
        self.signature: list[
            tuple[Any, ...]
        ] = []  # (operator or what it is made of, static values, slots, name) of each recorded operator that keeps values
        self.store: Any = None  # after the second run: the residuals of each of those, until they are used
        self.random = default_generator.state._value
        self.buffers = [(buffer, buffer._value) for buffer in _buffers(block)]  # before the first run
        self.start = next_seq()
        # Whether this is a second run, or in one: it registers no hooks.
        self.again = STATE.saving is not None and STATE.saving.again

    def run(self, context):
        """The first run; its outputs get a node that runs the block again in the backward pass."""
        args, kwargs = self.given
        self.given = None
        with STATE.swap(saving=self), context:
            out = self.block(*args, **kwargs)
        return _behind_node(out, self._enter, kept=True) if self.signature else _behind_node(out)

    def save(self, node, operands, values):
        """Drop the residuals of a node recorded in the first run; store those of the second run."""
        first = self.store is None
        if first:
            for operand in operands:
                if isinstance(operand, Tensor) and operand._node is not None and self._is_outside(operand._node):
                    self.outside.setdefault(id(operand), _TensorState(operand))
        spec = node.spec
        if spec is None or not spec.sources:
            return
        seen = (node.op.made_of or node.op, node.static, node.pullback.slots, node.op.name)
        if first:
            node.saved = _Recomputed(self, len(self.signature))
            self.signature.append(seen)
        else:
            n = len(self.store)
            if n >= len(self.signature) or self.signature[n] != seen:
                expected = f"{self.signature[n][-1]!r}" if n < len(self.signature) else "no further operator"
                raise RuntimeError(
                    f"For 'recompute', {callable_name(self.block)} did something else in its second run: it recorded "
                    f"operator {node.op.name!r} where the first run had {expected}."
                )
            self.store.append((spec.collected(node.residuals, node.values, node.out), values))
        node.values = node.out = None
        node.residuals = ()

    def _is_outside(self, node) -> bool:
        return node.seq < self.start or node.__class__ is RootLeaf

    def _enter(self, grads):
        self._run_again()
        return grads

    def _run_again(self):
        """The second run: computes the residuals again, with the Tensors, buffers and random state of the first run."""
        scopes = list(_chain(self.scope))
        were_open = [scope.open for scope in scopes]
        random = default_generator.state._value
        buffers = [(b, b._value) for b, _ in self.buffers]
        now = [_TensorState(snapshot.tensor) for snapshot in self.outside.values()]
        args, kwargs = jax.tree.unflatten(self.treedef, [x.copy() if isinstance(x, _TensorState) else x for x in self.leaves])
        for scope in scopes:
            scope.open = True
        default_generator.state._set_value(self.random)
        for buffer, value in self.buffers:
            buffer._set_value(value)
        self.store = []
        again, self.again = self.again, True
        try:
            for snapshot in self.outside.values():
                snapshot.put_back()
            with STATE.swap(scope=self.scope, recording=True, saving=self, owners=list(self.cells)), self.context:
                self.block(*args, **kwargs)
            if len(self.store) != len(self.signature):
                raise RuntimeError(
                    f"For 'recompute', {callable_name(self.block)} did something else in its second run: it recorded "
                    f"{len(self.store)} operators, in the first run {len(self.signature)}."
                )
        finally:
            self.again = again
            for scope, was in zip(scopes, were_open):
                scope.open = was
            default_generator.state._set_value(random)
            for snapshot in now:
                snapshot.put_back()
            for buffer, value in buffers:
                buffer._set_value(value)

    def take(self, i):
        """(residuals, operands) of an operator, removed from the store; another backward pass computes them again."""
        if self.store is None or self.store[i] is None:
            self._run_again()
        taken, self.store[i] = self.store[i], None  # pyright: ignore[reportOptionalSubscript]
        return taken


class _Recomputed:
    """Residuals of one node that are recomputed on demand, for its `saved`."""

    __slots__ = ("region", "i")

    def __init__(self, region: _Region, i: int):
        self.region = region
        self.i = i

    def residuals(self, node):
        return self.region.take(self.i)[0]

    def operands(self, node):
        return self.region.take(self.i)[1]


class _TensorState:
    """A Tensor's value and node at one moment."""

    __slots__ = ("tensor", "value", "node", "oidx")

    def __init__(self, tensor: Tensor):
        self.tensor = tensor
        self.value, self.node, self.oidx = tensor._value, tensor._node, tensor._oidx

    def copy(self) -> Tensor:
        """A new Tensor with the recorded value and node."""
        return wrap(self.value, self.node, self.oidx)

    def put_back(self):
        """Restore the recorded value and node."""
        self.tensor._value, self.tensor._node, self.tensor._oidx = self.value, self.node, self.oidx


def _chain(scope):
    """The scope and its enclosing scopes."""
    while scope is not None:
        yield scope
        scope = scope.parent


def _buffers(block):
    """The state of a cell that a run may change: buffers and Parameters that are not trained."""
    if not is_cell(block):
        block = getattr(block, "__self__", None)
        if not is_cell(block):
            return []
    return [*block.untrainable_params(), *block.buffers()]
