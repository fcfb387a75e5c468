"""Monitors of PyNative mode: they see each operator after it ran, and each node of a backward pass.

`STATE.monitor` is that of this thread; `ACTIVITY.monitor`, which the setting detect_anomaly fills, is that of all others. While
there is one with `eager` set, compiled functions run in PyNative mode, so that it sees their operators.
"""

from __future__ import annotations

import linecache
import os
import sys
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from msjax.errors import cell_path
from msjax.state import ACTIVITY, STATE
from msjax.typing import PyTree

if TYPE_CHECKING:
    from msjax.autograd.op import Op
    from msjax.common.node import Node


_OWN = (os.path.dirname(jax.__file__) + os.sep, os.path.dirname(os.path.dirname(__file__)) + os.sep)


class Line(NamedTuple):
    """A line of the user's code.

    Attributes:
        file, number: where it is.
        function: the name of the function that it is in.
    """

    file: str
    number: int
    function: str

    @property
    def code(self) -> str:
        """Its text; empty if the file can't be read."""
        return linecache.getline(self.file, self.number).strip()

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.number}"


class Made(NamedTuple):
    """How a node of the tape came about.

    Attributes:
        operation: the operator's name.
        path: the cell that called it, as `cell_path` names it.
        cells: the cells under way, outermost first.
        lines: the user's lines that led there, innermost first.
        operands: the shapes and dtypes of the operands.
        call: which call of the cell it was, from 1; 0 if they are not counted.
    """

    operation: str
    path: str
    cells: tuple[Any, ...]
    lines: tuple[Line, ...]
    operands: tuple[Any, ...]
    call: int = 0


class Monitor:
    """Remembers where each node of the tape was made, and sees what runs.

    Attributes:
        eager: True if compiled functions are to run in PyNative mode meanwhile.
    """

    eager = True

    def __init__(self):
        self.made: weakref.WeakKeyDictionary[Any, Made] = weakref.WeakKeyDictionary()

    def ran(self, op: Op, operands: Sequence[Any], values: Sequence[Any], out: PyTree, node: Node | None) -> None:
        """Called after an operator ran on concrete values.

        Args:
            op: the operator.
            operands: what it was called with; `values` are their arrays.
            out: the array, or the tuple of arrays, that it computed.
            node: its node on the tape; None if no gradient is recorded.
        """
        if node is not None:
            self.made[node] = self.here(op.name, values)

    def here(self, operation: str, values: Sequence[Any]) -> Made:
        """How something comes about that is computed now."""
        shapes = tuple([(tuple(v.shape), str(v.dtype)) for v in values if hasattr(v, "shape")])
        return Made(operation, cell_path(), tuple(STATE.cells), user_lines(), shapes)

    def pull(self, node: Node, cts: Sequence[Any], need: Sequence[bool], recorded: bool) -> Sequence[Any]:
        """Run one node of a backward pass; returns the gradients for its edges."""
        try:
            back = (node.pull_recorded if recorded else node.pull)(cts, need)
        except Exception as error:
            self.failed(node, error)
            raise
        given = [c for c in cts if c is not None]
        self.pulled(node, [_array(c) for c in given], [_array(g) for g in back if g is not None])
        return back

    def failed(self, node: Node, error: Exception) -> None:
        """Called when a node's backward raised."""

    def pulled(self, node: Node, given: list[Any], grads: list[Any]) -> None:
        """Called with the gradients that arrived at a node, and those that it passes on, as arrays."""

    def made_by(self, node: Node) -> Made | None:
        """How a node came about; None if it was made before the monitor came, or is no operator's."""
        return self.made.get(node)


def current() -> Monitor | None:
    """The monitor of this thread; None if there is none."""
    monitor = STATE.monitor
    return ACTIVITY.monitor if monitor is None else monitor


def set_monitor(monitor: Monitor | None) -> Monitor | None:
    """Make a monitor that of this thread, or take it off; returns the one before."""
    before, STATE.monitor = STATE.monitor, monitor
    ACTIVITY.add(monitors=(monitor is not None) - (before is not None))
    return before


def user_lines() -> tuple[Line, ...]:
    """The lines of the user's code that are under way, innermost first."""
    frame, found = sys._getframe(1), []
    while frame is not None and len(found) < 8:
        file = frame.f_code.co_filename
        if not file.startswith(_OWN) and not file.startswith("<"):
            found.append(Line(file, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(found)


def _array(value):
    return value._value if hasattr(value, "_value") else value
