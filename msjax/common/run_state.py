"""The state of a thread that runs operators, `STATE`, the hooks that run for all cells, and the tape: how each value was computed, and how gradients pass back.

A Tensor that is being differentiated has a node (`_node`) and the number of its place among the
node's outputs (`_oidx`). A node has one edge for each input that carries a gradient: (node, output
number), or None. Nodes never change what they point to, so in-place writes to Tensors, which give
the Tensor another node, can't spoil a recorded graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias, cast

from msjax.common.bases import TensorBase
from msjax.core.base.typing import JaxArray
from msjax.core.door import STATE as _STATE, VERSION, HookTable, State


class Scope:
    """One run of a gradient function; `ROOT` is the scope of the program outside of all gradient functions.

    Attributes:
        depth: 0 for ROOT, plus one for each nested gradient function.
        parent: the enclosing scope; None for ROOT.
        root: an object that all scopes within one outermost gradient function, or one function that is being compiled, have in common. Nodes
            recorded under another root are treated as plain values.
        open: False once the gradient function has returned; its nodes are then ignored.
        nested: True once something here depends on what an outer scope differentiates, so that
            this scope's backward pass has to be recorded, too.
        level: the trace of jax in which the scope was opened; None if that makes no difference. What is recorded at this level
            can't be used at another one: jax differentiates there, and the tape does not see it.
        outside: within a function that runs as an operator, the root of what is recorded around it; None if nothing is.
    """

    __slots__ = ("depth", "parent", "root", "open", "nested", "level", "outside")

    def __init__(self, parent: Scope | None, level: Any = None, outside: object = None):
        self.parent: Scope | None = parent
        self.root: object = object() if parent is None or parent is ROOT else parent.root
        self.outside: object = outside if parent is None else parent.outside
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.open: bool = True
        self.nested: bool = False
        self.level: Any = level


ROOT = Scope(None)

LOCK = _STATE.lock


class Saving(Protocol):
    """An object for `State.saving`.

    Attributes:
        again: whether a recomputed call runs for the second time, see msjax.engine.autograd.recompute.
    """

    again: bool

    def save(self, node: Any, operands: Sequence[Any], values: Sequence[Any]) -> None:
        """Called with the node of an operator that has just been recorded, its operands and their arrays."""
        ...


class RunState(State):
    """The same object as `msjax.core.base.state.STATE`, with the fields that are added here.

    Attributes:
        scope: the scope of the innermost running gradient function; ROOT outside of all.
        saving: packs the residuals of recorded operators (msjax.engine.autograd.recompute), or None to keep them unpacked.
        cast: converts the operands of operators while a cell set with `to_float` runs (msjax.engine.autograd.precision), or None.
    """

    scope: Scope
    saving: Saving | None
    cast: Callable[[Any, Sequence[Any]], Sequence[Any]] | None


_STATE.add_fields(scope=ROOT, saving=None, cast=None)
STATE = cast(RunState, _STATE)


class Compiler:
    """The entry points of msjax.engine.compile for lower floors; msjax.engine.compile.jit sets them when it is imported.

    Attributes:
        whole: in graph mode, runs a gradient function as one program; see msjax.engine.compile.jit.
        call_cell: in graph mode, runs the call of a cell as one program.
    """

    whole: Callable[..., tuple[bool, Any]]
    call_cell: Callable[..., tuple[bool, Any]]


COMPILER = Compiler()


class GlobalHooks:
    """The owner of the hooks that run for all cells.

    Attributes:
        _hooks: the HookTable, replaced as a whole.
        changed: called with the new table after it was replaced; msjax.nn.cell sets it.
    """

    _hooks: HookTable = HookTable.EMPTY
    changed: Callable[[HookTable], None]

    def _set_hooks(self, table: HookTable) -> None:
        self._hooks = table
        VERSION.changed()
        self.changed(table)


GLOBAL = GlobalHooks()


# The places of nodes in the order of creation; backward goes from the highest to the lowest.
SEQUENCE = itertools.count(1)

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

    def __init__(self, base: Scope, edges: Sequence[Edge | None], nout: int = 1):
        self.seq: int = next(SEQUENCE)
        self.base: Scope = base
        self.edges: Any = edges  # None once released
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
        """`pull` with Tensors in place of arrays, so that the outer scope's tape records the backward pass itself."""
        raise NotImplementedError

    def release(self) -> None:
        """Free what only the backward pass needs."""
        self.edges = None
