"""Monitors of PyNative mode: they see each operator after it ran, and each node of a backward pass.

`STATE.monitor` is that of this thread. While there is one with `eager` set, compiled functions run in PyNative mode, so that it sees their
operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from msjax.common.run_state import STATE, Need, Node
from msjax.core.base.typing import PyTree
from msjax.core.door import ACTIVITY
from msjax.engine.autograd.op_errors import Operator


class Monitor:
    """Sees what runs; a context manager, in which it is the monitor of this thread.

    Attributes:
        eager: True if compiled functions are to run in PyNative mode meanwhile.
    """

    eager = True

    def __enter__(self) -> Self:
        self._before: Monitor | None = STATE.monitor
        STATE.monitor = self
        ACTIVITY.add(monitors=1)
        return self

    def __exit__(self, *_exception: object) -> None:
        STATE.monitor = self._before
        ACTIVITY.add(monitors=-1)

    def ran(
        self,
        op: Operator,
        operands: Sequence[Any],
        values: Sequence[Any],
        out: PyTree,
        node: Node | None,
        static: tuple[Any, ...] = (),
    ) -> None:
        """Called after an operator ran on concrete values.

        Args:
            op: the operator.
            operands: what it was called with; `values` are their arrays.
            out: the array, or the tuple of arrays, that it computed.
            node: its node on the tape; None if no gradient is recorded.
            static: its settings.
        """

    def recorded(self, node: Node) -> None:
        """Called with the node of an operator that ran on values that jax traces."""

    def called(self, node: Node, operation: str, values: Sequence[Any]) -> None:
        """Called when code that defines its own gradient has made a node for it."""

    def entered(self, owner: Any) -> None:
        """Called when the call of an owner of hooks begins."""

    def pull(self, node: Node, cts: list[Any], need: Need, recorded: bool) -> Sequence[Any]:
        """Run one node of a backward pass; returns the gradients for its edges."""
        return (node.pull_recorded if recorded else node.pull)(cts, need)
