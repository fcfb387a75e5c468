"""guard: stops a step of training at the first NaN, tells where it came from, and leaves the state as it was."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from msjax.common.tensor import Tensor, is_leaf, tensors_in, wrap
from msjax.core.base.errors import shorten
from msjax.core.base.state import STATE, VERSION
from msjax.core.models.frameworks.registry import registry_of
from msjax.core.models.hooked import unhooked
from msjax.core.tools.checking import Check, On
from msjax.core.tools.checks.finding import kinds_of
from msjax.core.tools.fault import Fault, not_hooked
from msjax.core.tools.guarding.cell_checks import CellChecks, CheckRejected
from msjax.core.tools.guarding.guard_places import Guard, Place
from msjax.core.tools.guarding.implied import implied
from msjax.core.tools.guarding.module_guards import ModuleGuard, guarded
from msjax.core.tools.guarding.steps import bundle_of_cells
from msjax.core.tools.hook_set import HookSet
from msjax.core.tools.pynative_search import Search
from msjax.engine.compile.trace import RunRejected
from msjax.engine.functional.functionalize import state_of
from msjax.nn.cell.base import Cell


def guard(
    model: Cell | nnx.Module,
    on: On = "nan",
    gradients: bool = True,
    *,
    policy: str = "raise",
    bundle: str | os.PathLike[str] | None = None,
    state: dict[int, int] | None = None,
    eager: bool = False,
    checks: str | Collection[str] = (),
) -> Any:
    """Raise a `Fault` at the first NaN of a network, with the cell, operation and line that it came from.

    Of a Cell, an nnx module, or what `hooks.hooked` made of a model of linen, equinox or haiku, it is a context manager, in which the
    outputs of all cells are looked at, and the gradients with respect to them and to a Cell's Parameters.

    What msjax compiles (``ms.jit``, graph mode) has one flag more for each of these and calls nothing back. A step with a raised flag
    leaves Parameters, buffers and optimizer state as they were (their old and new values are both in memory while it runs), and is run
    again in PyNative mode to find the operation. In PyNative mode, buffers get the values from before the call. So training can go on,
    with the next batch, say, if the exception is caught. Each step is waited for, so that the exception comes from the call of the
    step that is wrong.

    What jax compiles (``jax.jit``, ``nnx.jit``) calls the guard back with the flags: such a program belongs to the user, and has no
    other way out for them. The fault names the module, not the operation, and is raised at the next ``ms.hooks.barrier()``. In
    ``ms.hooks.jit``, the flags are outputs of the program, and the fault is raised when it has run.

    Of a function of jax arrays, such as a step of training that would be compiled by jax.jit or nnx.jit, it is a function to call in its
    place: it is compiled, its results and the state of nnx modules among its arguments are looked at, and, if one is wrong, the
    operation is found as by `find_nan`, and the modules keep the state that they had.

    Args:
        model: a Cell, an nnx module, a model that `hooks.hooked` made, or a function of jax arrays.
        on (str or callable): what is looked for: "nan"; "inf" for infinite values, too; or a function from a jax array to an array
            of bools. Default: "nan".
        gradients (bool): whether gradients are looked at. Default: True.
        policy (str): "raise"; or "skip": a wrong step that msjax compiles, or that is a guarded function, returns what it has computed,
            but changes no Parameter and no state, and is counted in the attribute `skipped`. Default: "raise".
        bundle (str, optional): the path of a file that a wrong step is written to: its arguments, and Parameters, optimizer and random
            state as they were before it. `tools.replay` runs it again. The state of an optimizer is in it if msjax compiles the step,
            or if it is among the arguments of a guarded function.
        state (dict, optional): for a function with ``policy="skip"``: {number of a result: number of the argument that it takes the
            place of}, such as ``{0: 0, 1: 1}`` for ``params, opt_state, loss = step(params, opt_state, batch)``. A wrong step returns
            those arguments. nnx modules among the arguments need none.
        eager (bool): True runs compiled functions in PyNative mode, where each operator is looked at as it runs. Default: False.
        checks (str or tuple of str): what is looked at in compiled steps beside NaN: "index", indices out of range, which jax clamps or
            drops; "division", integer divisions by zero; "user", the conditions of `tools.check`; "all" of them. What a mask keeps out
            of all results, and an index with ``mode="clip"`` or ``"drop"``, is no fault. Default: none.

    Returns:
        A context manager, or a function. Both have the number of wrong steps that were left out as `skipped`.

    Raises:
        Fault: in the ``with`` block or by the function: a `FloatingPointError` with the place as attributes.
        TypeError, ValueError: an argument is something else.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> class Log(nn.Cell):
        ...     def construct(self, x):
        ...         return ops.log(x)
        >>> net = nn.SequentialCell(nn.Tanh(), Log())
        >>> step = ms.jit(ms.value_and_grad(net))
        >>> with ms.tools.guard(net):
        ...     for x in (ms.Tensor(1.0), ms.Tensor(-1.0)):
        ...         try:
        ...             _ = step(x)
        ...         except ms.tools.Fault as fault:
        ...             print(fault.phase, fault.path, fault.operation)
        forward 1 log
    """
    check = Check(on, "guard")
    if policy not in ("raise", "skip"):
        raise ValueError(f"For 'guard', 'policy' should be 'raise' or 'skip', but got {policy!r}.")
    kinds = kinds_of(checks, "guard")
    if isinstance(model, Cell):
        return _CellGuard(model, check, gradients, policy, bundle, eager, kinds)
    if isinstance(model, nnx.Module) or registry_of(model) is not None:
        if policy == "skip" or bundle is not None or kinds:
            raise ValueError(
                "For 'guard', 'policy', 'bundle' and 'checks' need the step as a function here: step = guard(step, ...)."
            )
        return ModuleGuard(model, check, gradients)
    if not callable(model) or unhooked(model) is not None:
        raise not_hooked(model, "guard", "or a function")
    return guarded(model, check, policy, bundle, state, kinds)


class _Flags(NamedTuple):
    """What is looked at in a program that is being traced.

    Attributes:
        seen: {id: value} of the values.
        found: (place, value), in order of execution.
    """

    seen: dict[int, Any]
    found: list[tuple[Place, Any]]


class _CellGuard(Guard):
    """The guard of a Cell.

    Attributes:
        skipped (int): how many wrong steps were left out.
    """

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

    def __enter__(self) -> _CellGuard:
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
        if STATE.trace is None and not STATE.functional:
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
        return self.looked_at(place, args)

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

    def _flag(self, program, place, values):
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
    def __init__(self, guard: _CellGuard, place: Place):
        super().__init__(f"a {guard.check.what} in {place.path}")
        self.guard, self.place = guard, place

    def passed(self, finish: Callable[[], Any]) -> Any:
        return self.guard.passed(self, finish)

    def again(self, run: Callable[[], Any]) -> Any:
        return self.guard.explain(self, run)
