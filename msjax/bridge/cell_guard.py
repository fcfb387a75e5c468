"""The guard of a Cell: by flags of the programs that msjax compiles, by looking at each operator in PyNative mode."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from msjax.bridge.cell_checks import CellChecks, CheckRejected
from msjax.bridge.cell_hooks import HookSet
from msjax.bridge.cell_steps import bundle_of_cells
from msjax.bridge.pynative_search import Search
from msjax.common.run_state import STATE
from msjax.common.tensor import Tensor, is_leaf, tensors_in, wrap
from msjax.common.tensor_values import TENSORS
from msjax.core.base.errors import shorten
from msjax.core.base.state import VERSION
from msjax.core.tools.checking import Check
from msjax.core.tools.fault import Fault
from msjax.core.tools.guarding.guard_places import Guard, Place
from msjax.core.tools.guarding.implied import implied
from msjax.engine.compile.trace import RunRejected, program_here
from msjax.engine.functional.functionalize import state_of
from msjax.nn.cell.base import Cell
from msjax.ops.function.control.gradient import HookBackward


class _Flags(NamedTuple):
    """What is looked at in a program that is being traced.

    Attributes:
        seen: {id: value} of the values.
        found: (place, value), in order of execution.
    """

    seen: dict[int, Any]
    found: list[tuple[Place, Any]]


class CellGuard(Guard):
    """The guard of a Cell.

    Attributes:
        skipped (int): how many wrong steps were left out.
    """

    kind = TENSORS

    def __init__(
        self,
        model: Cell,
        check: Check,
        gradients: bool,
        policy: str = "raise",
        bundle: str | os.PathLike[str] | None = None,
        eager: bool = False,
        kinds: Sequence[str] = (),
    ):
        super().__init__(model, check, gradients)
        self.policy, self.bundle, self.skipped = policy, bundle, 0
        self._eager, self._args, self._passing = eager, (), False
        self._search: Any = None
        self._flags: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._before = []
        self._state: list[Tensor] = []
        self._version = -1
        self._hooks = HookSet()
        self.checks = CellChecks(model, kinds, self._reject) if kinds else None
        if self.checks is not None:
            self.checks.add_hooks(self._hooks)
        self._hooks.add(model, "forward_pre", self._begin)
        for path, cell in model.cells_and_names():
            name = type(cell).__name__
            self._hooks.add(cell, "forward", functools.partial(self._after, Place("forward", path, name)))
            if gradients:
                place = Place("backward", path, name)
                self._hooks.add(cell, "backward_pre", functools.partial(self._gradient, place))
                self._hooks.add(cell, "forward_pre", functools.partial(self._inputs, place))
        for path, parameter in model.parameters_and_names() if gradients else ():
            if parameter.requires_grad:
                place = Place("backward", path, "Parameter")
                self._hooks.add_of_parameter(parameter, functools.partial(self._of_parameter, place))

    def __enter__(self) -> CellGuard:
        self._hooks.on()
        self._search = Search(self.check, self.model, eager=self._eager).__enter__()
        self._search.on_check = self._left_out
        return self

    def __exit__(self, *exception: Any) -> None:
        self._search.__exit__(*exception)
        self._hooks.off()
        self._before, self._args = [], ()
        if isinstance(exception[1], Fault):
            shorten(exception[1], keep=1)

    def _begin(self, cell, args):
        if not STATE.in_program():
            if self._version != VERSION.n:
                trained, rest = state_of(self.model)
                self._state, self._version = [*trained.values(), *rest.values()], VERSION.n
            self._before = [(tensor, tensor._value) for tensor in self._state]
            self._args = args
            self._search.forget()

    def _after(self, place, cell, args, output):
        self.look(place, [t._value for t in tensors_in([output])])

    def _gradient(self, place, cell, grads):
        self.look(place, [t._value for t in tensors_in(grads)])

    def _inputs(self, place, cell, args):
        # What msjax compiles is run again, to find out whether a gradient was wrong before or behind a cell.
        return self.looked_at(place, args) if program_here() is None else None

    def passed_through(self, place: Place, leaf: Any) -> Any:
        node = HookBackward(lambda grads: self.look(place, [grads[0]._value]), traced=True)
        return node(leaf) if isinstance(leaf, Tensor) else node(wrap(leaf))._value

    def _of_parameter(self, place, grad):
        self.look(place, [grad._value])
        return grad  # so that it is part of the program

    def found(self, place: Place, values: Sequence[Any], args: tuple[Any, ...] | None) -> None:
        monitor = STATE.monitor
        name = f"the {'output' if place.phase == 'forward' else 'gradient'} of {place.path or 'the model'}"
        fault = place.fault(self.check)
        if isinstance(monitor, Search):
            fault = monitor.fault(values, name, fault if place.phase == "backward" else None) or fault
        self._left_out(fault)
        raise fault

    def _left_out(self, fault):
        """A wrong step in PyNative mode ends: the state is as before it."""
        for tensor, value in self._before:
            tensor._value = value
        if self.bundle is not None:
            # Off the tape.
            args = jax.tree.map(lambda v: wrap(v._value) if isinstance(v, Tensor) else v, self._args, is_leaf=is_leaf)
            self._written(self.model, args, {})
            fault.bundle = os.fspath(self.bundle)
        if self.policy == "skip":
            fault.add_note("policy='skip' leaves out steps that are compiled: ms.jit(step), or graph mode.")

    # ---- in a program

    def flag(self, place: Place, values: Sequence[Any]) -> None:
        program = program_here()
        if program is None:
            super().flag(place, values)
            return
        if program not in self._flags:
            self._flags[program] = _Flags({}, [])
            program.at_end(functools.partial(self._close, self._flags[program], weakref.ref(program)))
        seen, found = self._flags[program]
        # The output of a cell is often that of the last cell in it, too.
        values = [v for v in values if id(v) not in seen]
        seen.update({id(v): v for v in values})
        found += [(place, v) for v in values]

    def _close(self, flags, program, changed):
        """The end of a program: one flag for all places that can be the first to be wrong rejects the run."""
        places, values = zip(*flags.found)
        measured = {i: self.check.measured(values[i]) for i, known in enumerate(implied(values, self.check.on)) if not known}
        by_dtype: dict[Any, list[int]] = {}
        for i in measured:
            by_dtype.setdefault(measured[i].dtype, []).append(i)
        # One comparison for all: a flag each would take longer than looking at a small array.
        rows = [jnp.stack([measured[i] for i in at]) for at in by_dtype.values()]
        wrong = functools.reduce(jnp.logical_or, map(self.check.raised, rows), jnp.array(False))
        look = functools.partial(self._check_flag, places, [*by_dtype.values()])
        # Before the observers of this run, which are called when it is run again.
        program().after_run(look, (wrong, *rows), "guard", first=True, may_reject=True)
        flags.seen.clear()
        flags.found.clear()

    def _check_flag(self, places, numbers, wrong, *rows):
        if np.asarray(wrong) and not self._passing:
            found = [i for at, row in zip(numbers, rows) for i, measured in zip(at, row) if self.check.raised(measured)]
            raise _Rejected(self, places[min(found)])

    def _reject(self, find):
        if not self._passing:
            raise CheckRejected(find, self.passed, self._raise)

    def _raise(self, rejected, fault):
        if self.bundle is not None and rejected.call is not None:
            self._written(*rejected.call)
            fault.bundle = os.fspath(self.bundle)
        shorten(fault)
        raise fault from None

    def passed(self, rejected: RunRejected, finish: Callable[[], Any]) -> Any:
        """The result of a wrong step that is left out.

        Raises:
            RunRejected: the step isn't left out.
        """
        if self.policy != "skip":
            raise rejected
        self.skipped += 1
        self._passing = True
        try:
            return finish()
        finally:
            self._passing = False

    def explain(self, rejected: _Rejected, run: Callable[[], Any]) -> None:
        """Run a step in PyNative mode, in which its fault was raised, and raise it.

        Raises:
            Fault: always.
        """
        if self.bundle is not None and rejected.call is not None:
            self._written(*rejected.call)
        bundle, self.bundle = self.bundle, None
        try:
            with Search(self.check, self.model):
                run()
        except Fault as found:
            fault = found
        else:
            fault = rejected.place.fault(self.check, "in PyNative mode, the same step has no such value")
        finally:
            self.bundle = bundle
        fault.bundle = None if bundle is None or rejected.call is None else os.fspath(bundle)
        shorten(fault)
        raise fault from None

    def _written(self, step, args, kwargs):
        assert self.bundle is not None
        kinds = () if self.checks is None else self.checks.kinds
        bundle_of_cells(self.model, step, args, kwargs, self.check, self.gradients, kinds=kinds).write(self.bundle)


class _Rejected(RunRejected):
    def __init__(self, guard: CellGuard, place: Place):
        super().__init__(f"a {guard.check.what} in {place.path}")
        self.guard, self.place = guard, place

    def passed(self, finish: Callable[[], Any]) -> Any:
        return self.guard.passed(self, finish)

    def again(self, run: Callable[[], Any]) -> Any:
        return self.guard.explain(self, run)
