"""The record of one trace of a program: what it reads and writes, and its events.

While a program is compiled, its Python code runs once, on values that are not known yet. What has to happen at every run is put into
the program as an event, with the values that it needs: calls of observers (`msjax.core.hooks.delivery`), printed text, what tools look at.
`msjax.core.jaxprs.observers` makes outputs of these values, and a function of what happens after each run. Where a debugger starts,
tracing is given up: standard output is captured, and values are not known.
"""

from __future__ import annotations

import bdb
import contextlib
import functools
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flax import nnx

from msjax.common._format import value_text
from msjax.common.bases import CellBase
from msjax.common.parameter import Buffer
from msjax.common.run_state import LOCK, STATE, Scope
from msjax.common.tensor import Tensor, root_of, wrap
from msjax.core.base import jax_slots
from msjax.core.base.arrays import is_tracer
from msjax.core.base.code import effects, goes_to_print
from msjax.core.base.trial_run import OwnOutput
from msjax.core.door import ACTIVITY, CallsAsOutputs, Event, ProgramUnderWay
from msjax.engine.compile.environment import Snapshot

# In a text that is printed while a program is traced: the place of a Tensor's text, and how it is written.
MARK = re.compile("\x02(\\d+):(str|repr|format):([^\x03]*)\x03")


TEXT_IS_USED = "it uses the text of a Tensor for something else than printing it at once"


class Placeholder(str):
    """The text of a Tensor whose value is not known yet; nothing can fit it to a width."""

    __slots__ = ()

    def __format__(self, spec):
        if spec and STATE.trace is not None:
            STATE.trace.refuse(TEXT_IS_USED)
        return str.__format__(self, spec)


def _write(text, *values):
    """Write a text, at each run, with the values of the Tensors that its marks stand for."""
    rest = iter(values)
    sys.stdout.write(MARK.sub(lambda mark: value_text(next(rest), mark[2], mark[3]), text))


@contextlib.contextmanager
def debuggers_refused(refuse: Callable[[str], Any]) -> Iterator[None]:
    """A context in which `breakpoint()`, and debuggers built on `bdb` such as pdb, call `refuse` with a sentence instead of starting.

    Only in this thread: in others, debuggers start as usual.
    """
    hook, start, thread = sys.breakpointhook, bdb.Bdb.set_trace, threading.get_ident()

    def breakpointhook(*args, **kwargs):
        if threading.get_ident() == thread and os.environ.get("PYTHONBREAKPOINT") != "0":
            refuse("it starts a debugger with breakpoint()")
        return hook(*args, **kwargs)

    def set_trace(self, *args, **kwargs):
        if threading.get_ident() == thread:
            refuse(f"it starts a debugger ({type(self).__name__})")
        return start(self, *args, **kwargs)

    sys.breakpointhook, bdb.Bdb.set_trace = breakpointhook, set_trace
    try:
        yield
    finally:
        sys.breakpointhook, bdb.Bdb.set_trace = hook, start


class NeedsPyNative(BaseException):
    """The program can't be compiled as it stands; run in PyNative mode, it may work.

    Its text is a sentence. No Exception, since code between here and the compiler, such as logging's, must not catch it.
    """


class RunRejected(Exception):
    """Raised by an event after a run, to discard it: its variables and arguments get the values that they had before. The trace's
    `may_be_rejected` has to be set.

    Attributes:
        call: (what was called, args, kwargs); None where it is not known.
    """

    call: tuple[Any, tuple[Any, ...], dict[str, Any]] | None = None

    def passed(self, finish: Callable[[], Any]) -> Any:
        """The result of the discarded run, if it is wanted all the same: that of `finish`, after which the other events have happened.

        Raises:
            RunRejected: this one, if it isn't wanted.
        """
        raise self

    def again(self, run: Callable[[], Any]) -> Any:
        """Repeat the run in PyNative mode by `run`, which undoes its changes, and return its result."""
        raise NotImplementedError


class Trace(ProgramUnderWay):
    """A program while it is being compiled.

    Args:
        variables: the Tensors that it is known to read or write from outside.
        draws: the states of its random operators, where the code was traced before.
        reads: `Walk.reads`: whether the code may read a container, or a name of something that has names.
        before: the state of Python before the code runs, where hooks are noted that the code changes.

    Attributes:
        cells: {id: (cell, {name: Tensor} of its attributes before the call)} of those that were called.
        missing: {id: (Tensor, its value)} of those that it used, but was not known to use.
        refused: why the program can't be compiled, once that is known.
        may_be_rejected: whether an event may raise `RunRejected`. Then the program writes nothing in the place of what it reads.
        ends: functions that are called at the end of the code, with a list of (Tensor, earlier value) of those that the program writes; they may
            put events into it.
        rewrites: functions from the program, a ClosedJaxpr, to the one that is compiled in its place; they may put events into it.
    """

    def __init__(self, variables: list[Buffer], draws: list[tuple[Any, Any]], reads: Callable[..., bool], before: Snapshot):
        super().__init__()
        self.draws = draws
        self.reads = reads
        self.hooks_change = before.note_hooks
        self.variables = {id(v): v for v in variables}
        self.may_be_rejected: bool = False
        self.missing = {}
        self.refused = None
        self.cells = {}
        self.rewrites: list[Callable[[Any], Any]] = []
        self.ends: list[Callable[[list[tuple[Tensor, Any]]], None]] = []
        self._marks: list[Tensor] = []
        self._printed = set()
        self._text = []
        self._capture: Any = None
        self._level: Any = None

    # ---- the world in which it runs

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The context in which the code runs."""
        stdout = sys.stdout
        with LOCK, STATE.swap(scope=Scope(None), recording=True, trace=self):
            ACTIVITY.add(traces=1)
            self.world, self._level = jax_slots.trace_state(), jax_slots.current_trace()
            self._capture = sys.stdout = OwnOutput(self._text.append, stdout)
            try:
                with debuggers_refused(self.refuse):
                    yield
            finally:
                for tensor, value in self.missing.values():
                    tensor._hold(value)
                STATE.scope.open = False
                sys.stdout = stdout
                ACTIVITY.add(traces=-1)

    def refuse(self, why: str) -> None:
        """Give up: the program can't be compiled.

        Raises:
            NeedsPyNative: always. Code that catches even that changes nothing.
        """
        self.refused = self.refused or why
        raise NeedsPyNative(why)

    # ---- variables

    def wrote(self, tensor: Tensor) -> None:
        self.writes += id(tensor) in self.variables

    def see(self, operands: Sequence[Any]) -> None:
        """Operands of an operator: a Tensor whose value is known came from outside."""
        for operand in operands:
            if isinstance(operand, Tensor) and id(operand) not in self.variables and not is_tracer(operand._value):
                operand = root_of(operand)
                self.missing[id(operand)] = operand, operand._value

    def entered(self, owner: Any) -> None:
        if isinstance(owner, CellBase):
            self.see_cell(owner)

    def observed(self, fn: Callable[..., Any], text: Callable[[], str]) -> None:
        """Refuse an observer that stores into what the code may read in the same run, such as a dict of features that `construct` returns."""
        if any(self.reads(owner, name) for owner, name in effects(fn)[1]):
            self.refuse(f"{text()} stores into what the code may read, which would find there what the run before has stored")

    def see_cell(self, cell: CellBase | nnx.Module) -> None:
        """A cell or an nnx module that is called: all its Tensors, those in lists, tuples and dicts, too, are the program's variables."""
        if id(cell) in self.cells:
            return
        attributes = vars(cell).copy()
        self.cells[id(cell)] = cell, {name: value for name, value in attributes.items() if isinstance(value, Tensor)}
        held: list[Any] = []
        for value in attributes.values():
            held += value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
        self.see(held)

    # ---- events

    def _put(self, fn, values, what, first=False):
        # At the program's own level, whatever loop or transformation of jax is being traced now.
        with jax_slots.within_trace(self._level):
            CallsAsOutputs.put_event(*Event.own(fn, values, what, first))

    def after_run(
        self, fn: Callable[..., Any], values: Sequence[Any] = (), what: str = "", *, first: bool = False, may_reject: bool = False
    ) -> None:
        """Call a function of msjax after each run.

        Args:
            fn: called with the arrays that `values` have in that run. It changes nothing that programs are compiled for.
            values: arrays of the program.
            what: its name, for messages.
            first: whether it is called before the hooks and prints of the run.
            may_reject: whether it may raise `RunRejected`.
        """
        self.may_be_rejected = self.may_be_rejected or may_reject
        self.comes_to_event()
        self._put(fn, values, what, first)

    def mark(self, tensor: Tensor, kind: str, spec: str) -> str:
        """The placeholder for a Tensor's text, which each run fills in; text that is not printed at once is refused."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").startswith(("msjax.common.", "msjax.core.base.")):
            frame = frame.f_back
        if sys.stdout is not self._capture or not goes_to_print(frame):
            self.refuse(TEXT_IS_USED)
        self._marks.append(wrap(tensor._value))  # what is written into the Tensor later is not printed
        return Placeholder(f"\x02{len(self._marks) - 1}:{kind}:{spec}\x03")

    def comes_to_event(self) -> None:
        """Put the text that was printed so far into the program."""
        if self._text:
            text = "".join(self._text)
            self._text.clear()
            numbers = [int(found[1]) for found in MARK.finditer(text)]
            self._printed.update(numbers)
            self._put(functools.partial(_write, text), [self._marks[n]._value for n in numbers], "print")

    def forget(self) -> None:
        """Let go of the cells and values that the code worked on."""
        self.cells = {}
        self._marks = []
        self.ends = []
        self._level = None

    def finish(self) -> None:
        """The end of the code: refuse what went wrong unnoticed.

        Raises:
            NeedsPyNative: a placeholder was not printed, something was refused before, or the code caught the error of a missing value.
        """
        self.comes_to_event()
        why = self.refused or self.lacks
        if why or len(self._printed) < len(self._marks):
            self.refuse(why or TEXT_IS_USED)


def program_under_way() -> Trace | None:
    """The program that msjax compiles and that is being traced in this thread; or None."""
    return STATE.trace if isinstance(STATE.trace, Trace) else None


def program_here() -> Trace | None:
    """`program_under_way`, if what runs here belongs to the program itself, not to a loop or transformation within it."""
    trace = program_under_way()
    return trace if trace is not None and trace.here() else None
