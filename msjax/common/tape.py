"""The tape: how each value was computed, and how gradients pass back.

A Tensor that is being differentiated has a node (`_node`) and the number of its place among the
node's outputs (`_oidx`). A node has one edge for each input that carries a gradient: (node, output
number), or None. Nodes never change what they point to, so in-place writes to Tensors, which give
the Tensor another node, can't spoil a recorded graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msjax.common.run_state import STATE, Scope
from msjax.core.base.typing import JaxArray

if TYPE_CHECKING:
    from msjax.common.bases import TensorBase


SEQUENCE = itertools.count(1)


def next_seq() -> int:
    """The next place in the order of creation; backward goes from the highest to the lowest."""
    return next(SEQUENCE)


# A node, and the number of its output.
Edge: TypeAlias = "tuple[Node, int]"
# One gradient for each output or edge; None where there is none.
Grads: TypeAlias = "Sequence[JaxArray | None]"
# The same, while an outer scope records the backward pass.
RecordedGrads: TypeAlias = "Sequence[TensorBase | None]"
# For each edge, whether a gradient is wanted there; part of the keys of compiled backwards.
Need: TypeAlias = "tuple[bool, ...]"


class Node:
    """One recorded step.

    Attributes:
        seq: its place in the order of creation.
        base: the outermost scope whose differentiation it takes part in. While that scope is open, the node counts.
        edges: for each input, (node, output number) or None.
        nout: how many outputs it has.
        hooks: {output number: HookList} of the Tensor hooks on its outputs; a RootLeaf has its Tensor's HookList; None for none.
        also_run: a node that runs whenever this one does, although no gradient flows to it.
    """

    __slots__ = ("seq", "base", "edges", "nout", "hooks", "also_run", "__weakref__")

    is_leaf = False
    # The order in which `backward()` passes gradients to the edges; None for their own.
    accumulation_order: list[int] | None = None

    def __init__(self, base: Scope, edges: list[Edge | None], nout: int = 1):
        self.seq: int = next(SEQUENCE)
        self.base: Scope = base
        self.edges: Any = edges  # a list; None once released
        self.nout: int = nout
        self.hooks: Any = None  # the class HookList lies above
        self.also_run: Node | None = None

    def live(self) -> bool:
        """True while a gradient may still be asked for through this node."""
        return self.base.open and self.base.root is STATE.scope.root

    @property
    def name(self) -> str:
        return type(self).__name__

    def pull(self, cts: list[JaxArray | None], need: Need) -> Grads:
        """Gradients for the edges from those of the outputs."""
        raise NotImplementedError

    def pull_recorded(self, cts: list[Any], need: Need) -> RecordedGrads:
        """The same with Tensors, so that the outer scope's tape records the backward pass itself."""
        raise NotImplementedError

    def release(self) -> None:
        """Free what only the backward pass needs."""
        self.edges = None
