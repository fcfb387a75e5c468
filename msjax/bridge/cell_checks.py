"""The checks of a guarded Cell: programs that msjax compiles hand out a record of what was wrong in them."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax

from msjax.core.door import CallsAsOutputs, OwnCall, Template, Values
from msjax.core.tools.checks.finding import find_in, not_again
from msjax.core.tools.checks.flow import Checks
from msjax.core.tools.fault import Fault
from msjax.core.tools.hook_set import ModuleHookSet
from msjax.core.tools.scopes import Scopes
from msjax.engine.compile.trace import program_under_way
from msjax.engine.processes.groups import PROCESSES

# The record is looked at before the flags of NaN: what was read from a wrong place may be one.
_BEFORE_FLAGS = 2


class CellChecks:
    """The checks of the programs that call a Cell.

    Args:
        kinds: what is checked.
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
            values = Template((record, list(inputs)), Values.of_arrays)
            CallsAsOutputs.put_event(
                OwnCall(functools.partial(self._look, closed), values, "guard", _BEFORE_FLAGS), values.taken()
            )
            return outs

        inputs = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in closed.in_avals]
        return jax.make_jaxpr(program, axis_env=PROCESSES.axes())(*inputs)

    def _look(self, closed, record, inputs):
        if record.any():
            self._reject(functools.partial(self._found, closed, inputs))

    def _found(self, closed, inputs):
        return find_in(closed, inputs, self.kinds, self._scopes) or not_again(self.kinds)
