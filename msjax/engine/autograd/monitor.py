"""Monitors of PyNative mode: they see each operator after it ran, and each node of a backward pass.

`STATE.monitor` is that of this thread. While there is one with `eager` set, compiled functions run in PyNative mode, so that it sees their
operators.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import jax.numpy as jnp
import numpy as np

from msjax.common.run_state import STATE, Need, Node
from msjax.core.base.arrays import is_at_hand, is_tracer
from msjax.core.base.errors import cell_path
from msjax.core.base.typing import PyTree
from msjax.core.base.user_lines import Line, user_lines
from msjax.core.door import ACTIVITY
from msjax.engine.autograd.op_errors import Operator


class Made(NamedTuple):
    """The origin of a node of the tape: the call that made it.

    Attributes:
        operation: the operator's name.
        cells: the cells under way, outermost first.
        lines: the user's lines that led there, innermost first.
        operands: the shapes and dtypes of the operands.
        call: which call of the cell it was, from 1; 0 if they are not counted.
    """

    operation: str
    cells: tuple[Any, ...]
    lines: tuple[Line, ...]
    operands: tuple[Any, ...]
    call: int = 0

    @property
    def path(self) -> str:
        """The cell that called it, as `cell_path` names it."""
        return cell_path(self.cells)


class Monitor:
    """Remembers where each node of the tape was made, and sees what runs; a context manager, in which it is that of this thread.

    Attributes:
        eager: True if compiled functions are to run in PyNative mode meanwhile.
    """

    eager = True

    def __init__(self):
        self.made: weakref.WeakKeyDictionary[Node, Made] = weakref.WeakKeyDictionary()

    def __enter__(self) -> Self:
        self._before: Monitor | None = STATE.monitor
        _set_monitor(self)
        return self

    def __exit__(self, *_exception: object) -> None:
        _set_monitor(self._before)

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
        if node is not None:
            self.made[node] = self.here(op.name, values)

    def recorded(self, node: Node) -> None:
        """Called with the node of an operator that ran on values that jax traces."""

    def here(self, operation: str, values: Sequence[Any]) -> Made:
        """The origin of a node that is made now."""
        shapes = tuple([(tuple(v.shape), str(v.dtype)) for v in values if hasattr(v, "shape")])
        return Made(operation, tuple(STATE.owners), user_lines(), shapes)

    def entered(self, owner: Any) -> None:
        """Called when the call of an owner of hooks begins."""

    def pull(self, node: Node, cts: list[Any], need: Need, recorded: bool) -> Sequence[Any]:
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

    def called(self, node: Node, operation: str, values: Sequence[Any]) -> None:
        """Called when code that defines its own gradient has made a node for it."""
        self.made[node] = self.here(operation, values)


class AnomalyError(FloatingPointError):
    """A gradient is NaN although the gradients that it was computed from are not; see `detect_anomaly`."""


class detect_anomaly(Monitor):
    """A context manager in which an error or a NaN of a backward pass names the line of the forward pass that it belongs to.

    It looks at each gradient, which takes time: use it to find a fault. What msjax would compile runs in PyNative mode meanwhile. Only
    what the forward pass computes within it is known.

    Raises:
        AnomalyError: in the block: a gradient is NaN although those that it was computed from are not. It is a FloatingPointError.

    Example:
        >>> from msjax import Tensor, grad, ops, tools
        >>> def loss(x):
        ...     return ops.sqrt(x * 0).sum()
        >>> with tools.detect_anomaly():
        ...     try:
        ...         grad(loss)(Tensor([2.0]))
        ...     except FloatingPointError as error:
        ...         print(str(error).splitlines()[0][:59])
        detect_anomaly: a NaN came from the gradient of Mul of floa
    """

    def failed(self, node: Node, error: Exception) -> None:
        if not getattr(error, "_msjax_anomaly", False) and not isinstance(error, AnomalyError):
            error.add_note(f"detect_anomaly: in the gradient of {self.told(node)}")
            with contextlib.suppress(AttributeError):
                error._msjax_anomaly = True  # pyright: ignore[reportAttributeAccessIssue]

    def pulled(self, node: Node, given: list[Any], grads: list[Any]) -> None:
        if any(map(_has_nan, grads)) and not any(map(_has_nan, given)):
            raise AnomalyError(f"detect_anomaly: a NaN came from the gradient of {self.told(node)}")

    def told(self, node: Node) -> str:
        """The operator that a node belongs to, its cell, and the user's lines that led to its call."""
        made = self.made.get(node)
        if made is None:
            return f"{node.name}, which was recorded before detect_anomaly was set, or by no operator."
        shapes = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in made.operands)
        lines = "".join(
            f'\n  File "{line.file}", line {line.number}, in {line.function}\n    {line.code}' for line in reversed(made.lines)
        )
        where = f" in cell {made.path}" if made.path else ""
        return f"{made.operation} of {shapes}{where}, which the forward pass called here (innermost line last):{lines}"


def _has_nan(value):
    if not hasattr(value, "dtype") or not jnp.issubdtype(value.dtype, jnp.inexact) or is_tracer(value):
        return False
    # numpy sees an array on the CPU without a copy, and needs no program for its shape.
    return bool(np.isnan(np.asarray(value)).any() if is_at_hand(value) else jnp.isnan(value).any())


def _set_monitor(monitor):
    before, STATE.monitor = STATE.monitor, monitor
    ACTIVITY.add(monitors=(monitor is not None) - (before is not None))


def _array(value):
    return value._value if hasattr(value, "_value") else value
