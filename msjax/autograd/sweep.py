"""The backward sweep over recorded nodes, from the last created to the first."""

from contextlib import contextmanager

import jax

from msjax.autograd.op import Op, apply
from msjax.common.node import Leaf, ParameterLeaf
from msjax.common.tensor import Tensor, wrap
from msjax.state import STATE

_ADD = Op("add gradients", lambda a, b: a + b, int_grad=True)
_add_arrays = jax.jit(lambda a, b: a + b)


def sweep(roots, targets, *, recorded=False, keep=False):
    """Send gradients back from `roots`.

    Args:
        roots: (node, output number, gradient) triples; gradients are arrays, or Tensors if `recorded`.
        targets: the leaves whose gradients are wanted; only what lies between them and the roots runs. None: all
            leaves.
        recorded: True puts the sweep itself on the tape of the surrounding scope.
        keep: True leaves the graph as it is, for another sweep.

    Returns:
        {leaf: gradient} of the leaves that were reached.

    Raises:
        RuntimeError: an earlier sweep has freed the graph.
    """
    order, wanted, pending = _plan([node for node, _, _ in roots], targets)
    grads = {}
    add = _add_recorded if recorded else _add_arrays
    for node, i, grad in roots:
        if node in wanted:
            _accumulate(grads, node, i, grad, add)
    found = {}
    with _recording(recorded):
        for node in order:
            if node in found or (node not in wanted and node not in wanted.partners):
                continue
            cts = grads.pop(node, None)
            if cts is None:
                if node not in wanted.partners:
                    continue
                cts = [None] * node.nout
            if isinstance(node, (Leaf, ParameterLeaf)) and wanted.is_target(node):
                found[node] = _through_leaf_hooks(node, cts[0], recorded)
                continue
            if node.hooks is not None:
                cts = _through_hooks(node, cts, recorded)
            need = tuple([e is not None and e[0] in wanted for e in node.edges])
            edges = node.edges
            back = (node.pull_recorded if recorded else node.pull)(cts, need)
            # Last operand first, as MindSpore does: a bias reports before its weight.
            for edge, grad, needed in zip(reversed(edges), reversed(back), reversed(need)):
                if not needed:
                    continue
                target, i = edge
                if grad is not None:
                    _accumulate(grads, target, i, grad, add)
                if target in pending:
                    pending[target] -= 1
                    if not pending[target] and target in grads:
                        # A leaf's hooks run as soon as its gradient is complete.
                        found[target] = _through_leaf_hooks(target, grads.pop(target)[0], recorded)
            if not keep and node.base is not None and not isinstance(node, (Leaf, ParameterLeaf)) and not recorded:
                node.release()
    return found


class _Wanted(set):
    """The nodes that gradients have to pass; `partners` are those that run in any case, when their partner has."""

    def __init__(self, targets):
        super().__init__()
        self.partners = set()
        self.targets = targets

    def is_target(self, node) -> bool:
        return node in self.targets if self.targets is not None else not node.edges


def _plan(roots, targets):
    """(nodes from last to first, those that have to run, {leaf with hooks: edges that lead to it})."""
    reached, stack = set(), list(roots)
    while stack:
        node = stack.pop()
        if node in reached:
            continue
        reached.add(node)
        if targets is not None and node in targets:
            continue
        if node.edges is None:
            raise RuntimeError(_FREED.format(name=node.name))
        for edge in node.edges:
            if edge is not None and edge[0] not in reached:
                stack.append(edge[0])
        if node.partner is not None:
            stack.append(node.partner)
    order = sorted(reached, key=_seq)
    wanted = _Wanted(targets)
    for node in order:
        is_leaf = isinstance(node, (Leaf, ParameterLeaf))
        if (is_leaf and wanted.is_target(node)) or any(e is not None and e[0] in wanted for e in node.edges):
            wanted.add(node)
    order.reverse()
    for node in order:
        if node in wanted and node.partner is not None:
            wanted.partners.add(node.partner)
    pending = {}
    for node in order:
        if node in wanted and not (targets is not None and node in targets):
            for edge in node.edges:
                if edge is not None and isinstance(edge[0], (Leaf, ParameterLeaf)) and wanted.is_target(edge[0]):
                    pending[edge[0]] = pending.get(edge[0], 0) + 1
    return order, wanted, pending


def _seq(node):
    return node.seq


def _add_recorded(a, b):
    return apply(_ADD, (a, b))


def _accumulate(grads, node, i, grad, add):
    cts = grads.get(node)
    if cts is None:
        cts = grads[node] = [None] * node.nout
    cts[i] = grad if cts[i] is None else add(cts[i], grad)


def _through_hooks(node, cts, recorded):
    cts = list(cts)
    for i, hooks in node.hooks.items():
        if cts[i] is not None and hooks:
            cts[i] = _run_tensor_hooks(hooks, cts[i], recorded)
    return cts


def _through_leaf_hooks(leaf, grad, recorded):
    tensor = leaf.tensor
    hooks = None if tensor is None else tensor._hooks
    return _run_tensor_hooks(hooks, grad, recorded) if hooks else grad


def _run_tensor_hooks(hooks, grad, recorded):
    result = hooks.run(grad if recorded else wrap(grad))
    return result if recorded else result._value


@contextmanager
def _recording(recorded):
    """While hooks run: operators are recorded only if the sweep is."""
    state = STATE
    before = state.recording
    state.recording = recorded and before
    try:
        yield
    finally:
        state.recording = before


_FREED = (
    "The gradient was asked for a second time, but the graph of the first was freed on the way (at operator {name!r}). "
    "Call backward(retain_graph=True) the first time, or compute the value again."
)


def is_recorded(tensor) -> bool:
    """True if the Tensor is on the tape."""
    return isinstance(tensor, Tensor) and tensor._node is not None and tensor._node.live()
