"""The backward pass: visits the recorded nodes from the newest to the oldest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

import jax.numpy as jnp

from msjax.common.node import Leaf, RootLeaf
from msjax.common.run_state import STATE, Node
from msjax.common.tensor import wrap
from msjax.core.base.arrays import is_tracer
from msjax.core.base.typing import JaxArray
from msjax.core.door import ACTIVITY
from msjax.engine.autograd.op import Op, apply
from msjax.engine.programs.cache import run_cached
from msjax.engine.settings.current import SETTINGS

# {leaf: its gradient}, which is a Tensor if the backward pass was recorded, otherwise an array.
LeafGradients: TypeAlias = "dict[Node, Any]"

_ADD = Op("add gradients", lambda a, b: a + b, int_grad=True)


def add_arrays(a: JaxArray, b: JaxArray) -> JaxArray:
    """The sum of two gradients."""
    return a + b if is_tracer(a) or is_tracer(b) else run_cached(_ADD.programs, (), (a, b))


def run_backward(
    roots: Sequence[tuple[Node, int, Any]],
    targets: Collection[Node] | None,
    *,
    recorded: bool = False,
    keep: bool = False,
    weights: Iterable[Leaf] = (),
    deliver: Callable[[RootLeaf, Any], None] | None = None,
) -> LeafGradients:
    """Propagate gradients backward from `roots`.

    Args:
        roots: (node, output number, gradient) triples; gradients are arrays, or Tensors if `recorded`.
        targets: the leaves whose gradients are wanted; only nodes between them and the roots run. None: all
            RootLeaves.
        recorded: True records the backward pass itself on the tape of the surrounding scope.
        keep: True keeps the graph, for another backward pass.
        weights: leaves whose hooks run even if no gradient arrives there; they then get zeros.
        deliver: called with (leaf, gradient) as soon as a leaf's gradient is complete and its hooks have run. A node then
            passes gradients to its operands from the first to the last, as in PyTorch; without it, from the last to the
            first, as in MindSpore.

    Returns:
        {leaf: gradient} for the leaves that a gradient reached; empty with `deliver`.

    Raises:
        RuntimeError: an earlier backward pass has freed the graph.
    """
    order, needs, also_runs, pending = _plan([node for node, _, _ in roots], targets)
    grads = {}
    add = add_gradients if recorded else add_arrays
    monitor = STATE.monitor if ACTIVITY.slow_dispatch else None
    for node, i, grad in roots:
        if node in needs:
            cts = grads.setdefault(node, [None] * node.nout)
            cts[i] = grad if cts[i] is None else add(cts[i], grad)
    found = {}
    # Nodes of cells whose inputs no gradient reaches: in some dialects they wait for the end of the backward pass.
    waiting = [] if deliver is None and also_runs and SETTINGS.dialect.unreached_inputs_last else None
    turns = {}

    def complete(leaf, cts):
        grad = _through_leaf_hooks(leaf, cts[0], recorded)
        if deliver is None:
            found[leaf] = grad
        else:
            deliver(leaf, grad)

    # While hooks run, operators are recorded only if the backward pass is.
    recording, STATE.recording = STATE.recording, recorded and STATE.recording
    try:
        for node in reversed(order):
            cts = grads.pop(node, None)
            if node in pending:
                if cts is not None:
                    complete(node, cts)
                continue
            need = needs.get(node)
            if cts is None or need is None:
                if node not in also_runs:
                    continue
                if waiting is not None and cts is None and need is None:
                    waiting.append(node)
                    continue
                if cts is None:
                    cts = [None] * node.nout
                if need is None:
                    need = (False,) * len(node.edges)
            if node.hooks is not None:
                cts = _through_hooks(node, cts, recorded)
            if node.also_run is not None:
                turns[node.also_run] = len(turns)
            edges = node.edges
            if monitor is not None:
                back = monitor.pull(node, cts, need, recorded)
            else:
                back = (node.pull_recorded if recorded else node.pull)(cts, need)
            if len(edges) == 1:
                handed = ((edges[0], back[0], need[0]),)
            elif deliver is None:
                handed = zip(reversed(edges), reversed(back), reversed(need))
            elif node.accumulation_order is None:
                handed = zip(edges, back, need)
            else:
                handed = [(edges[i], back[i], need[i]) for i in node.accumulation_order]
            for edge, grad, needed in handed:
                if not needed:
                    continue
                target, i = edge
                if grad is not None:
                    there = grads.get(target)
                    if there is None:
                        there = grads[target] = [None] * target.nout
                    there[i] = grad if there[i] is None else add(there[i], grad)
                if target in pending:
                    pending[target] -= 1
                    if not pending[target] and target in grads:
                        # A leaf's hooks run as soon as its gradient is complete.
                        complete(target, grads.pop(target))
            if not keep and not recorded:
                node.release()
        for node in sorted(waiting or (), key=lambda node: turns.get(node, len(turns))):
            (node.pull_recorded if recorded else node.pull)([None] * node.nout, (False,) * len(node.edges))
            if not keep and not recorded:
                node.release()
        for leaf in weights if roots else ():
            if leaf not in found and leaf.tensor._hooks:
                zeros = wrap(jnp.zeros(leaf.tensor.shape, leaf.tensor._value.dtype))
                complete(leaf, [zeros if recorded else zeros._value])
    finally:
        STATE.recording = recording
    if ACTIVITY.callbacks:
        STATE.delivery.settle()  # hooks in loops of jax's come before what follows
    return found


def _plan(roots, targets):
    """Decide which nodes a backward pass runs.

    Returns:
        (nodes from first to last; {node that has to run: for each edge, whether a gradient is wanted there}; nodes that
        run because another node names them in `also_run`; {target leaf: number of edges that lead to it}).
    """
    found = reached(roots, targets or ())
    freed = next((node for node in found if node.edges is None), None)
    if freed is not None:
        raise RuntimeError(
            "A gradient was computed a second time, but the first backward pass freed the graph (at operator "
            f"{freed.name!r}). Call backward(retain_graph=True) the first time, or compute the value again."
        )
    order: list[Any] = sorted(found, key=attrgetter("seq"))
    needs, also_runs, pending = {}, set(), {}
    for node in order:
        if node.is_leaf and (node.__class__ is RootLeaf if targets is None else node in targets):
            needs[node] = ()
            pending[node] = 0
            continue
        edges = node.edges
        if len(edges) == 1:
            # The most common case: one input, as hook nodes have.
            edge = edges[0]
            if edge is None or edge[0] not in needs:
                continue
            need = (True,)
        else:
            need = tuple([edge is not None and edge[0] in needs for edge in edges])
            if True not in need:
                continue
        needs[node] = need
        for edge in edges:
            if edge is not None and edge[0] in pending:
                pending[edge[0]] += 1
        if node.also_run is not None:
            also_runs.add(node.also_run)
    return order, needs, also_runs, pending


def reached(nodes: list[Node], targets: Collection[Node] = ()) -> list[Node]:
    """The nodes that some lead to, these included, but not beyond targets."""
    found: dict[Node, None] = {}
    while nodes:
        node = nodes.pop()
        if node in found:
            continue
        found[node] = None
        if node not in targets:
            nodes += [edge[0] for edge in node.edges or () if edge is not None]
            if node.also_run is not None:
                nodes.append(node.also_run)
    return list(found)


def add_gradients(a, b):
    return apply(_ADD, (a, b))


def _through_hooks(node, cts, recorded):
    cts = list(cts)
    for i, hooks in node.hooks.items():
        if cts[i] is not None and hooks:
            cts[i] = _run_tensor_hooks(hooks, cts[i], recorded)
    return cts


def _through_leaf_hooks(leaf, grad, recorded):
    tensor = leaf.tensor
    if leaf.__class__ is Leaf and leaf.earlier:
        (hooks,) = leaf.earlier
    else:
        hooks = leaf.hooks if tensor is None else tensor._hooks
    return _run_tensor_hooks(hooks, grad, recorded) if hooks else grad


def _run_tensor_hooks(hooks, grad, recorded):
    result = hooks.run(grad if recorded else wrap(grad))
    return result if recorded else result._value
