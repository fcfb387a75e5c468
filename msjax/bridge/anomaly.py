"""Where the nodes of the tape were made: for `tools.detect_anomaly`, which tells it of an error or a NaN in a backward pass, and in what jax traces."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax

from msjax.common.run_state import STATE, Need, Node
from msjax.core.base.arrays import is_tracer
from msjax.core.base.errors import cell_path, has_note
from msjax.core.base.libraries import Line, user_lines
from msjax.core.base.typing import PyTree
from msjax.core.tools.checking import Check
from msjax.engine.autograd.monitor import Monitor
from msjax.engine.autograd.op_errors import Operator


class Made(NamedTuple):
    """The origin of a node of the tape: the call that made it.

    Attributes:
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


class Origins(Monitor):
    """Remembers where each node of the tape was made."""

    def __init__(self):
        self.made: weakref.WeakKeyDictionary[Node, Made] = weakref.WeakKeyDictionary()

    def ran(
        self,
        op: Operator,
        operands: Sequence[Any],
        values: Sequence[Any],
        out: PyTree,
        node: Node | None,
        static: tuple[Any, ...] = (),
    ) -> None:
        if node is not None:
            self.made[node] = self.here(op.name, values)

    def called(self, node: Node, operation: str, values: Sequence[Any]) -> None:
        self.made[node] = self.here(operation, values)

    def here(self, operation: str, values: Sequence[Any]) -> Made:
        """The origin of a node that is made now."""
        shapes = tuple([(tuple(v.shape), str(v.dtype)) for v in values if hasattr(v, "shape")])
        return Made(operation, tuple(STATE.owners), user_lines(), shapes)


class AnomalyError(FloatingPointError):
    """A gradient is NaN although the gradients that it was computed from are not; see `detect_anomaly`."""


class detect_anomaly(Origins):
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

    def pull(self, node: Node, cts: list[Any], need: Need, recorded: bool) -> Sequence[Any]:
        try:
            back = super().pull(node, cts, need, recorded)
        except Exception as error:
            if not has_note(error, "detect_anomaly") and not isinstance(error, AnomalyError):
                error.add_note(f"detect_anomaly: in the gradient of {self._told(node)}")
            raise
        if _have_nan(back) and not _have_nan(cts):
            raise AnomalyError(f"detect_anomaly: a NaN came from the gradient of {self._told(node)}")
        return back

    def _told(self, node):
        """The operator that a node belongs to, its cell, and the user's lines that led to its call."""
        made = self.made.get(node)
        if made is None:
            return f"{node.name}, which was recorded before detect_anomaly was set, or by no operator."
        shapes = ", ".join(f"{dtype}{list(shape)}" for shape, dtype in made.operands)
        lines = "".join(
            f'\n  File "{line.file}", line {line.number}, in {line.function}\n    {line.code}' for line in reversed(made.lines)
        )
        path = cell_path(made.cells)
        where = f" in cell {path}" if path else ""
        return f"{made.operation} of {shapes}{where}, which the forward pass called here (innermost line last):{lines}"


_NAN = Check("nan", "detect_anomaly")


def _have_nan(gradients):
    arrays = [getattr(g, "_value", g) for g in gradients]
    return _NAN([a for a in arrays if not is_tracer(a)])


class TapeScopes(Monitor):
    """A context that names the backward of each node of the tape as the call in which the node was made, the last of the names of those under way:
    jax knows nothing of that."""

    eager = False

    def __init__(self, under_way: Sequence[str]):
        self.under_way = under_way
        self._names: weakref.WeakKeyDictionary[Node, str] = weakref.WeakKeyDictionary()

    def recorded(self, node: Node) -> None:
        if self.under_way:
            self._names[node] = self.under_way[-1]

    def called(self, node: Node, operation: str, values: Sequence[Any]) -> None:
        self.recorded(node)

    def pull(self, node: Node, cts: list[Any], need: Need, recorded: bool) -> Sequence[Any]:
        with jax.named_scope(self._names[node]) if node in self._names else contextlib.nullcontext():
            return super().pull(node, cts, need, recorded)
