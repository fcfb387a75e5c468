"""Leaves of the tape, nodes whose backward is a Python function, and the functions that put Tensors behind them."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from msjax.common.run_state import ROOT, STATE, Edge, Grads, Need, Node, RecordedGrads, Scope
from msjax.common.tensor import Tensor, wrap
from msjax.core.base.typing import JaxArray


class Leaf(Node):
    """A leaf whose gradient is asked for: an input or weight of a gradient function, or a Tensor that requires one.

    An edge, if there is one, leads to what the same Tensor was on the tape of the outer scope.

    Attributes:
        before, oidx_before: the Tensor's node and output number until then.
    """

    __slots__ = ("tensor", "requested", "earlier", "thread", "before", "oidx_before")

    is_leaf = True

    def __init__(self, tensor: Tensor, scope: Scope, requested: bool):
        self.before, self.oidx_before = outer, oidx = tensor._node, tensor._oidx
        if outer is not None and outer.live():
            super().__init__(outer.base, [(outer, oidx)])
        else:
            super().__init__(scope, ())
        self.tensor: Tensor = tensor
        self.requested: bool = requested
        self.thread: int = threading.get_ident()
        # Where the Tensor was written to since: (the hooks that it had before,), else (). Its present ones are of what was written.
        self.earlier: tuple[Any, ...] = ()
        if self.base is not scope:
            scope.nested = True

    def pull(self, cts: list[Any], need: Need) -> list[Any]:
        return cts * len(self.edges)

    pull_recorded = pull

    def release(self) -> None:
        """Does nothing: a leaf keeps no values."""


class RootLeaf(Node):
    """The leaf of a Parameter, or of a Tensor that requires a gradient, outside of gradient functions.

    `backward()` adds to the `grad` of its Tensor. The Tensor owns its leaf, not the other way round; `hooks` is the
    Tensor's HookList, in case the Tensor has been freed when its gradient arrives.
    """

    __slots__ = ("ref",)

    is_leaf = True

    def __init__(self, tensor: Tensor):
        super().__init__(ROOT, ())
        self.ref, self.hooks = weakref.ref(tensor), tensor._hooks

    @property
    def tensor(self) -> Tensor | None:
        return self.ref()

    def live(self) -> bool:
        # A gradient function differentiates only what it was asked for.
        return STATE.scope is ROOT and STATE.recording


class FunctionNode(Node):
    """A step whose backward is a Python function of Tensors: hooks, custom bprop.

    Args:
        function: takes a list with one gradient (Tensor or None) per output, returns a list with one per edge.
        label: its name, or an object whose text that is.
        keeps: the Tensors of the forward pass that the function keeps; the backward pass frees them.
    """

    __slots__ = ("function", "label", "keeps")

    def __init__(
        self,
        base: Scope,
        edges: list[Edge | None],
        nout: int,
        function: Callable[[list[Tensor | None]], Sequence[Tensor | None]],
        label: object,
        keeps: Sequence[Tensor] = (),
    ):
        super().__init__(base, edges, nout)
        self.function: Any = function  # None once released
        self.label = label
        self.keeps: Sequence[Tensor] = keeps

    @property
    def name(self) -> str:
        return str(self.label)

    def pull(self, cts: list[JaxArray | None], need: Need) -> Grads:
        grads = self.function([None if c is None else wrap(c) for c in cts])
        return [None if g is None else g._value for g in grads]

    def pull_recorded(self, cts: list[Tensor | None], need: Need) -> RecordedGrads:
        return self.function(list(cts))

    def release(self) -> None:
        if self.keeps or self.base is not ROOT:
            self.edges = self.function = None


def through_node(
    tensor: Tensor, function: Callable[[list[Tensor | None]], Sequence[Tensor | None]], label: object
) -> Tensor | None:
    """A copy of a Tensor that is the output of a new FunctionNode; None if the Tensor is not on the tape."""
    node, state = tensor._node, STATE
    if node is None or not state.recording or not node.live():
        return None
    if node.base is not state.scope:
        state.scope.nested = True
    return wrap(tensor._value, FunctionNode(node.base, [(node, tensor._oidx)], 1, function, label))


def place_on_tape(tensors: Sequence[Tensor]) -> tuple[list[Edge | None], Scope | None]:
    """(edges, base) of a new node with these inputs; an edge is None where no gradient is recorded.

    `base` is None if no input is on the tape.
    """
    state = STATE
    if not state.recording:
        return [None] * len(tensors), None
    scope, edges, base = state.scope, [], None
    root = scope.root
    for tensor in tensors:
        node = tensor._node
        # As its `live` does; written out, since compiled networks have many.
        if node is None or not (scope is ROOT if node.__class__ is RootLeaf else node.base.open and node.base.root is root):
            edges.append(None)
            continue
        edges.append((node, tensor._oidx))
        if base is None or node.base.depth < base.depth:
            base = node.base
    if base is not None and base is not scope:
        scope.nested = True
    return edges, base
