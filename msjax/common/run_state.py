"""The state of a thread that runs operators: `STATE` with the scope of gradients, what residuals and operands pass through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from msjax.core.door import STATE as _STATE, State


class Scope:
    """One run of a gradient function; `ROOT` is the scope of the program outside of all gradient functions.

    Attributes:
        depth: 0 for ROOT, plus one for each nested gradient function.
        parent: the enclosing scope; None for ROOT.
        root: the outermost gradient function, or a function that is being compiled; ROOT for itself. Nodes recorded under
            another root are treated as plain values.
        open: False once the gradient function has returned; its nodes are then ignored.
        nested: True once something here depends on what an outer scope differentiates, so that
            this scope's backward pass has to be recorded, too.
        level: the trace of jax in which the scope was opened; None if that makes no difference. What is recorded at this level
            can't be used at another one: jax differentiates there, and the tape does not see it.
    """

    __slots__ = ("depth", "parent", "root", "open", "nested", "level")

    def __init__(self, parent: Scope | None, level: Any = None):
        self.parent: Scope | None = parent
        self.root: Scope = self if parent is None or parent is ROOT else parent.root
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
        saving: packs the residuals of recorded operators (msjax.engine.autograd.saved), or None to keep them unpacked.
        cast: converts the operands of operators while a cell set with `to_float` runs (msjax.engine.autograd.precision), or None.
    """

    scope: Scope
    saving: Saving | None
    cast: Callable[[Any, Sequence[Any]], Sequence[Any]] | None


_STATE.add_fields(scope=ROOT, saving=None, cast=None)
STATE = cast(RunState, _STATE)


class Compiler:
    """The entry points of msjax.engine.compile for lower floors; msjax.engine.compile sets them when it is imported.

    Attributes:
        whole: in graph mode, runs a gradient function as one program; see msjax.engine.compile.graph_mode.
        call_cell: in graph mode, runs the call of a cell as one program.
    """

    whole: Callable[..., tuple[bool, Any]]
    call_cell: Callable[..., tuple[bool, Any]]


COMPILER = Compiler()
