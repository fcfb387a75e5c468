"""Finds the operator that first computes a wrong value in PyNative mode, in the forward or the backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msjax.autograd.monitor import Made, Monitor, set_monitor
from msjax.autograd.op import Op
from msjax.base.arrays import is_tracer
from msjax.base.state import STATE
from msjax.base.typing import PyTree
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.models.module_paths import paths
from msjax.tools.checking import Check
from msjax.tools.fault import Fault, Statistics

if TYPE_CHECKING:
    from msjax.common.node import Node
    from msjax.nn.cell import Cell


class Search(Monitor):
    """Watches the operators of this thread, and keeps the first fault; a context manager.

    Args:
        check (Check): what counts as wrong.
        model (Cell, optional): the network that paths start from, and whose operators count; None for all operators.
        eager (bool): True if compiled functions run in PyNative mode meanwhile.

    Attributes:
        first (Fault): the first fault that was seen; None if there was none.
    """

    def __init__(self, check: Check, model: Cell | None = None, eager: bool = True):
        super().__init__()
        self.check, self.eager, self.first, self._infinite = check, eager, None, None
        self._cause = Check("inf", "find_nan") if check.on == "nan" else None
        self._names = {} if model is None else {id(cell): name for name, cell in model.cells_and_names()}
        self._model = model
        self._pulling = None
        # How often each owner of hooks was called since the outermost call began, and which call is under way at each depth.
        self._counts: dict[int, int] = {}
        self._numbers: dict[int, int] = {}

    def __enter__(self) -> Search:
        self._before = set_monitor(self)
        return self

    def __exit__(self, *_exception: Any) -> None:
        set_monitor(self._before)

    def entered(self, owner: Any) -> None:
        depth = len(STATE.owners)
        if depth == 1:
            self._counts = {}
        self._numbers[depth] = self._counts[id(owner)] = self._counts.get(id(owner), 0) + 1

    def ran(self, op: Op, operands: Sequence[Any], values: Sequence[Any], out: PyTree, node: Node | None) -> None:
        super().ran(op, operands, values, out, node)
        outs = out if isinstance(out, (tuple, list)) else (out,)
        if self.first is not None or not (self._wrong(outs) or self._is_cause(outs)):
            return
        made = self.here(op.name, values) if node is None else self.made[node]
        if self._pulling in self.made and not any(id(cell) in self._names for cell in made.cells):
            # Code of the user's that computes a gradient, after the call of its cell.
            made = made._replace(cells=self.made[self._pulling].cells, call=self.made[self._pulling].call)
        if self._model is None or made.cells or self._pulling is not None:
            self._keep(
                made, "forward" if self._pulling is None else "backward", values, outs, _came(operands, values, self.check)
            )

    def pull(self, node: Node, cts: Sequence[Any], need: Sequence[bool], recorded: bool) -> Sequence[Any]:
        before, self._pulling = self._pulling, node
        try:
            return super().pull(node, cts, need, recorded)
        finally:
            self._pulling = before

    def pulled(self, node: Node, given: list[Any], grads: list[Any]) -> None:
        if self.first is None and (self._wrong(grads) or self._is_cause(grads)):
            made = self.made.get(node) or Made(node.name, "", (), (), ())
            note = "the gradient that arrived was wrong already" if self._wrong(given) else ""
            self._keep(made, "backward", given, grads, note)

    def here(self, operation: str, values: Sequence[Any]) -> Made:
        return super().here(operation, values)._replace(call=self._numbers.get(len(STATE.owners), 0))

    def place(self, cells: Sequence[Cell]) -> tuple[str | None, str]:
        """(path in the model, class) of the innermost of some cells."""
        for cell in reversed(cells):
            if id(cell) in self._names:
                return self._names[id(cell)], type(cell).__name__
        return (None, "") if not cells else _path_from(cells)

    def _is_cause(self, outs):
        return self._cause is not None and self._infinite is None and self._cause([v for v in outs if not is_tracer(v)])

    def _keep(self, made, phase, values, outs, note):
        check = self.check if self._wrong(outs) else self._cause
        fault = self._fault(made, phase, values, outs, note, check)
        if check is self.check:
            self.first = fault
        else:
            self._infinite = fault

    def _fault(self, made, phase, values, outs, note, check):
        path, cls = self.place(made.cells)
        wrong = next(value for value in outs if check((value,)))
        return Fault(
            check.what, phase, path, cls=cls, operation=made.operation, line=made.lines[0] if made.lines else None,
            call=made.call, inputs=[Statistics.of(v) for v in values if hasattr(v, "dtype")], output=Statistics.of(wrong), note=note,
            cause=self._infinite,
        )  # fmt: skip

    def _wrong(self, values):
        return self.check([value for value in values if not is_tracer(value)])


def _path_from(owners):
    """(path, class) of the innermost owner of hooks: a module of another framework knows its path; that of a cell starts from the
    outermost cell, or from the module around it."""
    last = owners[-1]
    if hasattr(last, "hook_path"):
        path, _, cls = last.hook_path.rpartition(" (")
        return path, cls.rstrip(")")
    cls = type(last).__name__
    around = next((owner for owner in reversed(owners) if hasattr(owner, "hook_path")), None)
    module = owners[0] if around is None else getattr(around, "module", lambda: None)()
    inside = {} if module is None else {id(one): name for name, one in paths(module).items()}
    name = inside.get(id(last), cls)
    return ".".join(filter(None, (around.path, name))) if around is not None else name, cls


def _came(operands, values, check):
    """A note on operands that were wrong before the operator ran."""
    for i, (operand, value) in enumerate(zip(operands, values)):
        if check([value]):
            name = f"the Parameter {operand.name!r}" if isinstance(operand, Parameter) else "an argument or constant"
            return f"input {i}, {name if isinstance(operand, Tensor) else 'a constant'}, was wrong before"
    return ""
