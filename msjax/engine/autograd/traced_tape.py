"""A tape that moves to another trace: that of a traced forward pass, for a backward pass that is traced, or runs, elsewhere.

What the nodes keep of the forward pass is taken out of them, to become results of the traced forward pass, and is put back where the
backward pass runs: as the values of another trace, or as concrete ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.node import FunctionNode, Leaf
from msjax.common.run_state import Edge, Node
from msjax.common.tensor import Tensor, root_of, wrap
from msjax.core.base.arrays import is_tracer
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.backward import run_backward
from msjax.engine.autograd.op import OpNode
from msjax.engine.autograd.recording import GradientScope


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
        self._ends: list[Edge | None] = [_end(t, scope) for t in outputs]
        self._weights = dict.fromkeys(weights)
        self._marked = list(marked)
        self._leaves = list(leaves)
        self._nodes = _reached([end[0] for end in self._ends if end is not None])
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
        value = self._leaves[number].tensor._value
        return wrap(jnp.zeros(value.shape, value.dtype))

    def run_backward(self, cts: Sequence[JaxArray | None]) -> list[Tensor | None]:
        """The gradients of the leaves, None where none arrives; `cts` are those of the outputs, None where there is none."""
        roots = [(*end, ct) for end, ct in zip(self._ends, cts) if end is not None and ct is not None]
        found = run_backward(roots, set(self._leaves), keep=True, weights=self._weights)
        return [wrap(found[leaf]) if leaf in found else None for leaf in self._leaves]


class Held:
    """A context manager: Tensors hold other values; afterwards they have their own values and places on the tape back.

    Args:
        variables: the Tensors.
        values: what they hold meanwhile; their own values if it is left out, until something is written to them or what shares their memory.
    """

    def __init__(self, variables: Sequence[Tensor], values: Sequence[Any] = ()):
        self._variables = variables if values else [*map(root_of, variables)]
        self._values = values

    def __enter__(self) -> None:
        self._before = [
            (v, v._value, {name: v.__dict__[name] for name in ("_node", "_oidx") if name in v.__dict__}) for v in self._variables
        ]
        for variable, value in zip(self._variables, self._values):
            variable._hold(value)

    def __exit__(self, *_exception: object) -> None:
        for variable, value, place in self._before:
            variable._hold(value)
            for name in ("_node", "_oidx"):
                variable.__dict__.pop(name, None)
            variable.__dict__.update(place)


def _end(tensor, scope):
    """The place of an output on the tape; None if no gradient of the scope flows back from it."""
    node = tensor._node
    return (node, tensor._oidx) if node is not None and (node.base is scope.scope or node.base.open) else None


def _keep_type(tensor):
    tensor._value = jax.ShapeDtypeStruct(tensor._value.shape, tensor._value.dtype)


def _reached(stack: list[Node]) -> list[Node]:
    seen: dict[Node, None] = {}
    while stack:
        node = stack.pop()
        if node not in seen:
            seen[node] = None
            stack += [edge[0] for edge in node.edges or () if edge is not None]
            if node.also_run is not None:
                stack.append(node.also_run)
    return list(seen)
