"""The guard of a Cell: by flags and checks of the programs that msjax compiles, by looking at each operator in PyNative mode; bundles of wrong steps,
whose state has names that another process has, too, and how they are replayed."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np

from msjax.bridge.cell_hooks import CellHookSet
from msjax.bridge.pynative_search import PyNativeSearch
from msjax.common.run_state import STATE
from msjax.common.tensor import Tensor, is_leaf, wrap
from msjax.common.tensor_values import TENSORS
from msjax.core.base import jax_slots
from msjax.core.base.errors import shorten
from msjax.core.door import VERSION, CallsAsOutputs, Event
from msjax.core.tools.checking import Check
from msjax.core.tools.checks.finding import find_in, not_again
from msjax.core.tools.checks.flow import Checks
from msjax.core.tools.fault import Fault
from msjax.core.tools.guarding.bundles import Bundle, ReadBundle
from msjax.core.tools.guarding.guard_places import GuardedPlace, Looks, implied
from msjax.core.tools.guarding.guards import ModuleGuard, guard
from msjax.core.tools.hook_set import ModuleHookSet
from msjax.core.tools.model_tools import models_of
from msjax.core.tools.scopes import Scopes
from msjax.engine.autograd.memory import Held
from msjax.engine.compile.trace import RunRejected, program_here, program_under_way
from msjax.engine.processes.groups import PROCESSES
from msjax.functional.functionalize import state_of
from msjax.nn.cell.base import Cell
from msjax.ops.function.control.gradient import HookBackward


class CellGuard(ModuleGuard):
    """The guard of a Cell; `skipped` is how many wrong steps were left out."""

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
        super().__init__(model, check, gradients, kinds)
        self.policy, self.bundle, self.skipped = policy, bundle, 0
        self._eager, self._args, self.passing = eager, (), False
        self._before: list[tuple[Tensor, Any]] = []
        self._state: list[Tensor] = []
        self._version = -1

    def looks(self) -> Looks:
        return _CellLooks(self.check, self.gradients, self.kinds)

    def __enter__(self) -> Self:
        super().__enter__()
        self._looks.search = PyNativeSearch(self.check, self.model, eager=self._eager).__enter__()
        self._looks.search.on_check = self.left_out
        return self

    def __exit__(self, *exception: Any) -> None:
        self._looks.search.__exit__(*exception)
        super().__exit__(*exception)
        self._looks.search = None
        self._before, self._args = [], ()

    def begin(self, args: tuple[Any, ...]) -> None:
        """A call of the network begins."""
        if self._version != VERSION.n:
            trained, rest = state_of(self.model)
            self._state, self._version = [*trained.values(), *rest.values()], VERSION.n
        self._before = [(tensor, tensor._value) for tensor in self._state]
        self._args = args

    def left_out(self, fault: Fault) -> None:
        """A wrong step in PyNative mode ends: the state is as before it."""
        for tensor, value in self._before:
            tensor._set_value(value)
        if self.bundle is not None:
            # Off the tape.
            args = jax.tree.map(lambda v: wrap(v._value) if isinstance(v, Tensor) else v, self._args, is_leaf=is_leaf)
            self._bundle_of(self.model, args, {}).write(self.bundle, fault)
        if self.policy == "skip":
            fault.add_note("policy='skip' leaves out steps that are compiled: ms.jit(step), or graph mode.")

    def passed(self, rejected: RunRejected, finish: Callable[[], Any]) -> Any:
        """The result of a wrong step that is left out; the error of one that isn't."""
        if self.policy != "skip":
            raise rejected
        self.skipped += 1
        self.passing = True
        try:
            return finish()
        finally:
            self.passing = False

    def explain(self, find: Callable[[Callable[[], Any]], Fault], rejected: RunRejected, run: Callable[[], Any]) -> None:
        """Raise the fault of a rejected run, which `find` finds when it is given `run`, which runs the step in PyNative mode."""
        path, self.bundle = self.bundle, None
        bundle = None if path is None or rejected.call is None else self._bundle_of(*rejected.call)
        try:
            if bundle is not None and path is not None:
                bundle.write(path)
            fault = find(run)
        finally:
            self.bundle = path
        if bundle is not None and path is not None:
            bundle.write(path, fault)
        shorten(fault)
        raise fault from None

    def found_in_pynative_mode(self, place: GuardedPlace, run: Callable[[], Any]) -> Fault:
        """The fault of a step that was wrong at a place."""
        try:
            with PyNativeSearch(self.check, self.model):
                run()
        except Fault as fault:
            return fault
        return place.fault(self.check, "in PyNative mode, the same step has no such value")

    def _bundle_of(self, step, args, kwargs):
        """The bundle of a step that calls the guarded Cell."""
        cells, on = _cells_of(step, args, kwargs), self.check.on
        places = [(i, name) for i, cell in enumerate(cells) for name, inner in cell.cells_and_names() if inner is self.model]
        about = {
            "kind": "cells", "on": on if isinstance(on, str) else None, "gradients": self.gradients,
            "model": next(iter(places), (0, "")), "checks": [*self.kinds],
        }  # fmt: skip
        return Bundle(about, args, kwargs, {name: v._value for name, v in _named_state(cells).items()})


class _CellLooks(Looks):
    """Looks at the cells of a network: by flags of the programs that msjax compiles, where those are; at the values, elsewhere.

    `search` sees the operators of PyNative mode; it is None between blocks.
    """

    kind = TENSORS
    search: Any = None

    def __init__(self, check: Check, gradients: bool, kinds: Sequence[str]):
        # {a program that is being traced: {id of a value: (its place, it)}}, in order of execution.
        self._flags: weakref.WeakKeyDictionary[Any, dict[int, tuple[GuardedPlace, Any]]] = weakref.WeakKeyDictionary()
        hooks = CellHookSet()
        hooks.add("forward_pre", self._begin, "")
        if kinds:
            CellChecks(kinds, self._reject).add_hooks(hooks, lambda cell: self.name(cell))
        super().__init__(check, gradients, hooks)
        if gradients:
            hooks.add_of_parameters(self._of_parameter)

    def _begin(self, cell, args):
        if not STATE.in_program():
            self.user.begin(args)
            self.search.forget()

    def before(self, module: Any, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        # What msjax compiles is run again, to find out whether a gradient was wrong before or behind a cell.
        if jax_slots.trace_state() == jax_slots.NO_TRACE or program_here() is not None:
            return None
        return super().before(module, args)

    def after(self, module: Any, args: tuple[Any, ...], output: Any) -> None:
        # What an operator has just computed has been looked at by the search.
        if self.search.right is None or getattr(output, "_value", None) is not self.search.right:
            super().after(module, args, output)

    def _of_parameter(self, name, grad):
        self.look(GuardedPlace("backward", name, "Parameter"), [grad._value])
        return grad  # so that it is part of the program

    def passed_through(self, place: GuardedPlace, leaf: Any) -> Any:
        node = HookBackward(lambda grads: self.look(place, [grads[0]._value]), traced=True)
        return node(leaf) if isinstance(leaf, Tensor) else node(wrap(leaf))._value

    def found(self, place: GuardedPlace, values: Sequence[Any], args: tuple[Any, ...] | None) -> None:
        monitor = STATE.monitor
        name = f"the {'output' if place.phase == 'forward' else 'gradient'} of {place.path or 'the model'}"
        fault = place.fault(self.check)
        if isinstance(monitor, PyNativeSearch):
            fault = monitor.fault(values, name, fault if place.phase == "backward" else None) or fault
        self.user.left_out(fault)
        raise fault

    # ---- in a program

    def flag(self, place: GuardedPlace, values: Sequence[Any]) -> None:
        program = program_here()
        if program is None:
            super().flag(place, values)
            return
        if program not in self._flags:
            self._flags[program] = {}
            program.ends.append(functools.partial(self._close, self._flags[program], weakref.ref(program)))
        for value in values:
            # The output of a cell is often that of the last cell in it, too.
            self._flags[program].setdefault(id(value), (place, value))

    def _close(self, flags, program, changed):
        """The end of a program: one flag for all places that can be the first to be wrong rejects the run."""
        places, values = zip(*flags.values())
        flags.clear()
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

    def _check_flag(self, places, numbers, wrong, *rows):
        if np.asarray(wrong) and not self.user.passing:
            found = [i for at, row in zip(numbers, rows) for i, measured in zip(at, row) if self.check.raised(measured)]
            place = places[min(found)]
            raise _Rejected(self.user, functools.partial(self.user.found_in_pynative_mode, place))

    def _reject(self, find):
        if not self.user.passing:
            raise _Rejected(self.user, lambda run: find())


class _Rejected(RunRejected):
    """A run in which a guard has found something; for `find`, see `CellGuard.explain`."""

    def __init__(self, guard: CellGuard, find: Callable[[Callable[[], Any]], Fault]):
        super().__init__(f"the guard has found a {guard.check.what}, or a check has failed")
        self._guard, self._find = guard, find

    def passed(self, finish: Callable[[], Any]) -> Any:
        return self._guard.passed(self, finish)

    def again(self, run: Callable[[], Any]) -> Any:
        return self._guard.explain(self._find, self, run)


# The record is looked at before the flags of NaN: what was read from a wrong place may be one.
_BEFORE_FLAGS = 2


class CellChecks:
    """The checks of the programs that call a Cell.

    Args:
        reject: called with a function that finds the fault, when a run was wrong; it raises `RunRejected`, or lets the run pass.
    """

    def __init__(self, kinds: Sequence[str], reject: Callable[[Callable[[], Fault]], None]):
        self.kinds, self._reject = tuple(kinds), reject
        self._scopes = Scopes()
        self._traces: weakref.WeakSet[Any] = weakref.WeakSet()

    def add_hooks(self, hooks: ModuleHookSet, name: Callable[[Any], str]) -> None:
        """Add the hooks that tell, while a program is traced, which cell of a network is called; `name` tells its path."""
        hooks.add("forward_pre", functools.partial(self._entered, name))
        hooks.add("forward", self._left, always_call=True)

    def _entered(self, name, cell, args):
        trace = program_under_way()
        if trace is None:
            return
        if trace not in self._traces:
            self._traces.add(trace)
            self._scopes.begin()
            trace.may_be_rejected = True
            trace.rewrites.append(self._with_record)
        self._scopes.enter(name(cell), type(cell).__name__)

    def _left(self, cell, args, output):
        if program_under_way() is not None:
            self._scopes.leave()

    def _with_record(self, closed):
        checks = Checks(closed, self.kinds)
        if not checks.sources:
            return closed

        def program(*inputs):
            outs, (record,) = checks.run(inputs)
            look = functools.partial(self._look, closed)
            CallsAsOutputs.put_event(*Event.own(look, (record, list(inputs)), "guard", _BEFORE_FLAGS))
            return outs

        inputs = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in closed.in_avals]
        return jax.make_jaxpr(program, axis_env=PROCESSES.axes())(*inputs)

    def _look(self, closed, record, inputs):
        if record.any():
            self._reject(functools.partial(self._found, closed, inputs))

    def _found(self, closed, inputs):
        return find_in(closed, inputs, self.kinds, self._scopes) or not_again(self.kinds)


def _cells_of(step: Any, args: Any, kwargs: Any) -> list[Any]:
    """The Cells that a step may call: itself, those among its arguments, and the variables that it reads."""
    return [model for model in models_of(step, args, kwargs) if isinstance(model, Cell)]


def _named_state(cells: Sequence[Any]) -> dict[str, Any]:
    """{number of a cell and path: Parameter, buffer or random state} of cells."""
    found, seen = {}, set()
    for i, cell in enumerate(cells):
        for part in state_of(cell):
            for name, variable in part.items():
                if id(variable) not in seen:
                    seen.add(id(variable))
                    found[f"{i}.{name}"] = variable
    return found


def replay(
    bundle: ReadBundle, step: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], check: Check
) -> Fault | None:
    """Run the step of a bundle again; the fault, or None. The values of before are put back."""
    cells, state = _cells_of(step, args, kwargs), bundle.state()
    variables = _named_state(cells)
    if variables.keys() != state.keys():
        others = {"lacking": state.keys() - variables.keys(), "not in the file": variables.keys() - state.keys()}
        told = "; ".join(f"{what}: {', '.join(sorted(names)[:5])}" for what, names in others.items() if names)
        raise ValueError(f"For 'replay', the step in {bundle.path!r} is another one: {told}")
    number, path = bundle.about["model"]
    model = dict(cells[number].cells_and_names())[path]
    with Held([*variables.values()]):
        for name, variable in variables.items():
            if variable._value.shape != state[name].shape:
                raise ValueError(
                    f"For 'replay', {name} has the shape {list(variable._value.shape)}, but in {bundle.path!r} {list(state[name].shape)}."
                )
            variable._set_value(state[name])
        try:
            kinds = bundle.about.get("checks", ())
            if kinds:
                with guard(model, check.on, False, checks=kinds):
                    step(*args, **kwargs)
            with guard(model, check.on, bundle.about["gradients"], eager=True):
                step(*args, **kwargs)
        except Fault as fault:
            return fault
    return None
