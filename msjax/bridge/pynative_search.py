"""Finds the operator that a wrong result comes from in PyNative mode, in the forward or the backward pass: for `tools.find_nan` and the guard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.bridge.anomaly import Made, Origins
from msjax.common.parameter import Parameter
from msjax.common.run_state import STATE, Need, Node
from msjax.common.tensor import Tensor, is_leaf, tensors_in, wrap
from msjax.core.base.arrays import is_tracer
from msjax.core.base.libraries import user_lines
from msjax.core.base.typing import PyTree
from msjax.core.hooks.places import is_array
from msjax.core.tools.checking import Check
from msjax.core.tools.fault import Fault, Passed, Statistics, path_from
from msjax.core.tools.model_tools import as_arrays
from msjax.core.tools.search.lines import innermost
from msjax.core.tools.search.names import argument_names
from msjax.core.tools.search.walk import causes, first_index
from msjax.engine.autograd.grad import grad
from msjax.engine.autograd.memory import Held
from msjax.engine.autograd.op import Op
from msjax.functional.functionalize import state_of
from msjax.nn.cell.base import Cell
from msjax.nn.wrap.cell_wrapper import TrainOneStepCell


@dataclass(eq=False)
class _Ran:
    """An operator, or a node of the backward pass, whose result is wrong.

    Attributes:
        made: where it was called; of a node, where the forward pass called its operator.
        ins, outs: arrays and numbers.
        run: from inputs to the list of results; None for what can't be run again.
        node: the node of the backward pass, or None.
        into: the (node, number of its output) that a wrong gradient was passed on to.
        within: the operators that ran in it, if it is a gradient of the user's own.
    """

    made: Made
    phase: str
    ins: list[Any]
    outs: list[Any]
    operands: Sequence[Any] = ()
    run: Callable[[Sequence[Any]], list[Any]] | None = None
    node: Any = None
    into: list[Any] = field(default_factory=list)
    within: list[Any] = field(default_factory=list)


class PyNativeSearch(Origins):
    """Watches the operators of this thread, and remembers those with wrong results; a context manager.

    Args:
        model (Cell, optional): the network that paths start from.
        eager (bool): True if compiled functions run in PyNative mode meanwhile.
        names: {id of an array: what it is called} of arguments.

    Attributes:
        right: the array that an operator has just computed, if that has been looked at and is right.
        on_check: called with the Fault of a condition of the user's that doesn't hold, before it is raised; may be None.
    """

    on_check: Callable[[Fault], None] | None = None

    def __init__(self, check: Check, model: Cell | None = None, eager: bool = True, names: Mapping[int, str] | None = None):
        super().__init__()
        self.check, self.eager, self._arguments = check, eager, names or {}
        self._infinite = Check("inf", "find_nan")
        self._names = {} if model is None else {id(cell): name for name, cell in model.cells_and_names()}
        self._pulling = None
        # How often each owner of hooks was called since the outermost call began, and which call is under way at each depth.
        self._counts: dict[int, int] = {}
        self._numbers: dict[int, int] = {}
        self.forget()

    def forget(self) -> None:
        """Forget what has been seen."""
        self.right: Any = None
        self._by_value: dict[int, tuple[_Ran, int]] = {}
        self._into: dict[tuple[int, int], list[_Ran]] = {}
        self._forward: dict[Any, _Ran] = {}  # by the node of the operator
        self._all: list[_Ran] = []

    def entered(self, owner: Any) -> None:
        depth = len(STATE.owners)
        if depth == 1:
            self._counts = {}
        self._numbers[depth] = self._counts[id(owner)] = self._counts.get(id(owner), 0) + 1

    # ---- what is seen

    def ran(
        self, op: Op, operands: Sequence[Any], values: Sequence[Any], out: PyTree, node: Node | None, static: tuple[Any, ...] = ()
    ) -> None:
        if node is not None:
            self.made[node] = self.here(op.name, values)
        outs = list(out) if isinstance(out, (tuple, list)) else [out]
        self.right = None
        if len(outs) == 1 and self.check.fine(outs[0]):
            self.right = outs[0]
            return
        if not self._is_kept(outs):
            return
        made = self.here(op.name, values) if node is None else self.made[node]
        pulling, pulled = self._pulling, STATE.pulled
        if not any(id(cell) in self._names for cell in made.cells):
            # Code of the user's that computes a gradient, after the call of its cell.
            if pulling is not None and pulling in self.made:
                made = made._replace(cells=self.made[pulling].cells, call=self.made[pulling].call)
            else:
                made = made._replace(cells=getattr(getattr(pulling, "label", None), "owners", None) or pulled or made.cells)

        def run(values):
            found = op.programs[static](*values)
            return list(found) if isinstance(found, (tuple, list)) else [found]

        phase = "forward" if pulling is None and pulled is None else "backward"
        found = _Ran(made, phase, list(values), outs, operands, None if op.runs_cells else run)
        self._keep(found)
        if node is not None:
            self._forward[node] = found

    def pull(self, node: Node, cts: list[Any], need: Need, recorded: bool) -> Sequence[Any]:
        before, self._pulling, edges, n = self._pulling, node, list(node.edges or ()), len(self._all)
        try:
            back = super().pull(node, cts, need, recorded)
        finally:
            self._pulling = before
        grads = [getattr(g, "_value", g) for g in back]
        if self._is_kept(grads):
            given = [getattr(c, "_value", c) for c in cts]
            made = self.made.get(node) or Made(node.name, (), (), ())
            ran = _Ran(made, "backward", given, grads, node=node, within=self._all[n:])
            self._keep(ran)
            for edge, grad in zip(edges, grads):
                if edge is not None and self._is_kept([grad]):
                    self._into.setdefault((id(edge[0]), edge[1]), []).append(ran)
                    ran.into.append(edge)
        return back

    def here(self, operation: str, values: Sequence[Any]) -> Made:
        return Made(operation, tuple(STATE.owners), user_lines(), (), self._numbers.get(len(STATE.owners), 0))

    def _is_kept(self, outs):
        # Of infinite values, a NaN may come later.
        outs = [v for v in outs if v is not None and not is_tracer(v)]
        return self.check(outs) or (self.check.on == "nan" and self._infinite(outs))

    def _keep(self, ran):
        self._all.append(ran)
        for i, out in enumerate(ran.outs):
            if out is not None and id(out) not in self._by_value:
                self._by_value[id(out)] = ran, i

    # ---- what it comes from

    def fault(self, values: Sequence[Any], name: str = "the result", unknown: Fault | None = None) -> Fault | None:
        """The fault that wrong values, called `name`, come from; None if none of them is wrong.

        It is `unknown`, if that is given, where no operator of msjax has made them so.
        """
        wrong = next((v for v in values if self.check([v])), None)
        if wrong is None:
            return None
        chain = [Passed("", None, name, None)]
        index = first_index(self.check.mask(wrong))
        ran, out = self._by_value.get(id(wrong), (None, 0))
        if ran is None:
            # A sum of gradients, or what no operator has made.
            ran, out, index = self._last()
        if ran is None and unknown is not None:
            return unknown
        if ran is None:
            what = self._arguments.get(id(wrong), name)
            how = "is wrong, and no operator has made it so" if what == name else "was wrong before anything was computed"
            return Fault(self.check.what, "forward", None, output=Statistics.of(wrong), chain=chain, note=f"{what} {how}")
        return self._back(ran, out, index, self.check, chain)

    def _last(self):
        last = next((ran for ran in reversed(self._all) if self.check([v for v in ran.outs if v is not None])), None)
        # Of a sum of gradients, the first that was wrong.
        others = [] if last is None else [ran for node, i in last.into for ran in self._into[id(node), i]]
        for ran in [*sorted(others, key=self._all.index), *filter(None, [last])]:
            for out, value in enumerate(ran.outs):
                if value is not None and self.check([value]):
                    return ran, out, first_index(self.check.mask(value))
        return None, 0, ()

    def _back(self, ran, out, index, check, chain):
        """The fault at the end of the way back from an element of a result."""
        seen = set()
        while True:
            seen.add(ran)
            chain.append(self._passed(ran, out))
            source, came = self._came_from(ran, out, index, check)
            source = [found for found in source if found[0] not in seen]
            if not source:
                return self._fault(ran, out, index, check, chain, came)
            ran, out, index = min(source, key=lambda found: self._all.index(found[0]))

    def _came_from(self, ran, out, index, check, wrong=None):
        """([(operator, which of its results, index)], a note on an operand that was wrong before)."""
        if ran.node is not None:
            return self._arrived(ran, check), ""
        ins = [np.asarray(v) if isinstance(v, float) and not np.isfinite(v) else v for v in ran.ins]
        if ran.run is None:
            found = [(i, first_index(check.mask(v))) for i, v in enumerate(ins) if check.applies(v) and check.mask(v).any()][:1]
        else:
            found = causes(lambda values: ran.run(values)[out], ins, index, check, wrong or check, ran.made.operation.lower())
        known = [(*self._by_value[id(ran.ins[i])], at) for i, at in found if id(ran.ins[i]) in self._by_value]
        return known, "" if known or not found else self._operand(ran, found[0][0])

    def _arrived(self, ran, check):
        """What brought the gradients to a node that were wrong there, the operators of a gradient of the user's own, or the node's operator."""
        found = []
        for i, value in enumerate(ran.ins):
            if value is not None and check([value]):
                index = first_index(check.mask(value))
                if id(value) in self._by_value:
                    found.append((*self._by_value[id(value)], index))
                found += [
                    (before, j, first_index(check.mask(grad)))
                    for before in self._into.get((id(ran.node), i), ())
                    for j, grad in enumerate(before.outs)
                    if grad is not None and check([grad])
                ][:1]
        if found:
            return found
        inner = [(other, i, v) for other in ran.within for i, v in enumerate(other.outs) if v is not None and check([v])]
        forward = self._forward.get(ran.node)
        if not inner and forward is not None and any(check.applies(v) and check.mask(v).any() for v in forward.ins):
            # Right gradients met what was wrong in the forward pass already, such as labels.
            inner = [(forward, i, v) for i, v in enumerate(forward.outs) if v is not None and check([v])]
        return [(other, i, first_index(check.mask(v))) for other, i, v in inner[-1:]]

    def _operand(self, ran, i):
        operand = ran.operands[i] if i < len(ran.operands) else None
        if isinstance(operand, Parameter):
            return f"input {i}, the Parameter {operand.name!r}, was wrong before"
        if isinstance(operand, Tensor):
            return f"input {i}, {self._arguments.get(id(operand._value), 'an argument or constant')}, was wrong before"
        return f"input {i}, a constant, was wrong before"

    def _fault(self, ran, out, index, check, chain, note):
        path, cls = self.place(ran.made.cells)
        line, called_from = innermost(ran.made.lines)
        if ran.node is not None and not note and any(v is not None and check([v]) for v in ran.ins):
            note = "the gradient that arrived was wrong already"
        cause = self._cause(ran, out, index) if check.on == "nan" and not note else None
        return Fault(
            check.what, ran.phase, path, cls=cls, operation=ran.made.operation, line=line, call=ran.made.call,
            inputs=_inputs(ran), output=Statistics.of(ran.outs[out]), note=note,
            cause=cause, chain=chain, called_from=called_from,
        )  # fmt: skip

    def _cause(self, ran, out, index):
        """The fault of the infinite value that a NaN was computed from; None if there was none."""
        source, _ = self._came_from(ran, out, index, self._infinite, self.check)
        return self._back(*source[0], self._infinite, []) if source else None

    def _passed(self, ran, out):
        path = self.place(ran.made.cells)[0]
        line, called_from = innermost(ran.made.lines)
        what = f"gradient of {ran.made.operation}" if ran.node is not None else ran.made.operation
        return Passed(ran.phase, path, what, called_from or line, _inputs(ran), Statistics.of(ran.outs[out]))

    def place(self, cells: Sequence[Cell]) -> tuple[str | None, str]:
        """(path in the model, class) of the innermost of some cells."""
        for cell in reversed(cells):
            if id(cell) in self._names:
                return self._names[id(cell)], type(cell).__name__
        return (None, "") if not cells else path_from(cells)


def _inputs(ran):
    return tuple(Statistics.of(v) for v in ran.ins if hasattr(v, "dtype"))


def find_in_pynative_mode(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], check: Check, gradients: bool | None
) -> Fault | None:
    """The fault of a call, forward or backward; None if nothing is wrong."""
    models = [m for m in jax.tree.leaves((fn, args, kwargs), is_leaf=lambda v: isinstance(v, Cell)) if isinstance(m, Cell)]
    args, kwargs = jax.tree.map(
        lambda v: v if isinstance(v, Tensor) or not is_array(v) else wrap(jnp.asarray(v)), (args, kwargs), is_leaf=is_leaf
    )
    model, given = fn if isinstance(fn, Cell) else None, as_arrays((args, kwargs))
    names = dict(zip(map(id, filter(is_array, jax.tree.leaves(given))), argument_names(*given, getattr(fn, "construct", fn))))
    state = [tensor for model in models for part in state_of(model) for tensor in part.values()]
    with Held(state), PyNativeSearch(check, model, names=names) as found:
        out = tensors_in([fn(*args, **kwargs)])
        fault = found.fault([t._value for t in out])
        if fault is None:
            fault = found.fault([t._value for t in state], "a Parameter or buffer")
        if fault is not None:
            return fault
    if gradients is None:
        trains = any(isinstance(cell, TrainOneStepCell) for model in models for _, cell in model.cells_and_names())
        gradients = (isinstance(fn, Cell) and not trains) or [t.shape for t in out] == [()]
    weights = list({id(p): p for model in models for p in model.trainable_params()}.values())
    floats = tuple(i for i, a in enumerate(args) if isinstance(a, Tensor) and a.is_floating_point())
    if not gradients or not (weights or floats) or not any(t.is_floating_point() for t in out):
        return None
    with Held(state), PyNativeSearch(check, model, names=names) as found:
        grads = tensors_in([grad(lambda *args: fn(*args, **kwargs), floats or None, weights or None)(*args)])
    named = [*(names[id(args[i]._value)] for i in floats), *(f"the Parameter {p.name!r}" for p in weights)]
    wrong = next((i for i, g in enumerate(grads) if check([g._value])), None)
    return None if wrong is None else found.fault([grads[wrong]._value], f"the gradient of {named[wrong]}")
