"""The record of one trace of a program: what it reads and writes, which observers it calls, what it prints.

While a program is compiled, its Python code runs once, on values that are not known yet. What has to happen at every run is
recorded here in order: calls of observers, and printed text. The values that these need become outputs of the program, also those
of observers within a loop or transformation of jax (`msjax.jaxprs.observers`): their calls wait in the program's mailbox until
the events before them have happened.
"""

from __future__ import annotations

import collections
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any, Self

import jax
from flax import nnx

from msjax.base import jax_slots
from msjax.base.arrays import is_tracer
from msjax.base.state import ACTIVITY, LOCK, STATE, Scope, Tracing, swap
from msjax.base.typing import TensorLike
from msjax.common.bases import is_cell
from msjax.common.buffer import Buffer
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, is_leaf
from msjax.compile.debugger import RefuseDebuggers
from msjax.compile.printing import TEXT_IS_USED, Placeholder, goes_to_print
from msjax.hooks.batching import mark_program
from msjax.hooks.returns import check_observer_result

if TYPE_CHECKING:
    from msjax.nn.cell import Cell


_MARK = re.compile("\x02(\\d+):(str|repr|format):([^\x03]*)\x03")


class NeedsPyNative(BaseException):
    """The program can't be compiled as it stands; run in PyNative mode, it may work.

    No Exception, since code between here and the compiler, such as logging's, must not catch it.

    Attributes:
        why: a sentence.
    """

    def __init__(self, why: str):
        super().__init__(why)
        self.why = why


class RunRejected(Exception):
    """Raised by an event after a run, to discard it: its variables and arguments get the values that they had before. The trace's
    `may_be_rejected` has to be set."""

    def again(self, run: Callable[[], Any]) -> Any:
        """Repeat the run in PyNative mode.

        Args:
            run (callable): runs the same code in PyNative mode and undoes its changes.

        Returns:
            The result of the run.
        """
        raise NotImplementedError


class Call:
    """A hook to be called after each run, with values that the program hands out."""

    __slots__ = ("fn", "args", "what")

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], what: str, trace: Trace):
        self.fn = fn
        self.args = trace.keep(tuple(args))
        self.what: str = what


class OwnCall(Call):
    """The same for a function of msjax that changes nothing which programs are compiled for: the run need not be looked after."""

    __slots__ = ()


class Text:
    """Text to be written after each run: strings, and (kept Tensor, kind, format) where that of a Tensor belongs."""

    __slots__ = ("parts",)

    def __init__(self, text: str, marks: Sequence[Any]):
        self.parts, end = [], 0
        for found in _MARK.finditer(text):
            self.parts += [text[end : found.start()], (marks[int(found[1])], found[2], found[3])]
            end = found.end()
        self.parts.append(text[end:])


class Arrivals:
    """Here the observers within a loop or transformation are called.

    Attributes:
        sites: the numbers of the hook sites; no other event lies between them.
    """

    __slots__ = ("sites",)

    def __init__(self, site: int):
        self.sites: set[int] = {site}


class Pending:
    """From here on, if an observer fails, these calls are made: those of hooks that run even if the call of their cell fails.

    Attributes:
        guard: the Guard that it belongs to.
        calls: a list of (function, kept arguments, who it is); None where the guard ends.
    """

    __slots__ = ("guard", "calls")

    def __init__(self, guard: Guard, calls: list[Any] | None):
        self.guard = guard
        self.calls = calls


class Guard:
    """The events of one call of a cell; see `Tracing.guard`."""

    def __init__(self, trace: Trace):
        self.trace = trace

    def pending(self, calls: list[Any]) -> None:
        self._add([(fn, self.trace.keep(tuple(args)), who) for fn, args, who in calls])

    def end(self) -> None:
        self._add(None)

    def _add(self, calls):
        self.trace.flush_text()
        self.trace.events.append(Pending(self, calls))


class Mailbox:
    """The calls of observers within loops and transformations of one run of a program, in program order.

    Attributes:
        own: how many outputs of the program are its own; the others are values for these observers.
        after: the AfterRun that makes calls of these values; known when the program has been compiled.
    """

    def __init__(self):
        self.lock = threading.RLock()
        self.calls = collections.deque()
        self.own: int = 0
        self.after: Callable[[Sequence[Any]], None] | None = None

    def take(self, outs: list[Any]) -> list[Any]:
        """Take the values for the observers out of a run's outputs; returns the program's own."""
        self.calls.clear()  # of a run that failed
        if self.after is not None:
            self.after(outs[self.own :])
        return outs[: self.own]

    def emptied(self) -> collections.deque:
        """The calls, which are no longer in the mailbox."""
        calls, self.calls = self.calls, collections.deque()
        return calls

    def deliver(self, calls: collections.deque, sites: Set[int] | None = None) -> None:
        """Call observers.

        Args:
            calls: those of the run: (site, function, arguments, label), in program order. The calls that are made are taken out.
            sites: up to the calls of these sites; None for all. A site that comes again later waits for its turn.
        """
        if sites is not None and not any(call[0] in sites for call in calls):
            return
        reached = False
        while calls and (sites is None or not reached or calls[0][0] in sites):
            site, fn, args, what = calls.popleft()
            reached = reached or sites is None or site in sites
            result = fn(*args)
            if result is not None:
                check_observer_result(result, what)


class OutputRef:
    """Something to be given out after each run.

    Attributes:
        kind: "output" (a Tensor around an output of the program), "constant", "cell" (held weakly), or "tree".
        value: the number of the output; the constant; the weak reference; (the members, how they fit together).
    """

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: int):
        self.kind: str = kind
        self.value: int = value


class Trace(Tracing):
    """A program while it is being compiled.

    Args:
        variables: the Tensors that it is known to read or write from outside.

    Attributes:
        events: what has to happen after each run, in order: Call, Text, Arrivals and Pending objects.
        outputs: the values that events need, and what the program returns and writes.
        given: all that hands out outputs, as Tensors or arrays, by their numbers.
        cells: {id: (cell, {name: Tensor} of its attributes before the call)} of those that were called.
        missing: {id: (Tensor, its value)} of those that it used, but was not known to use.
        silent: True while what happens is no part of the program's doings (a forward that is computed again).
        mailbox: where observers within loops and transformations wait for their turn.
        refused: why the program can't be compiled, once that is known.
        may_be_rejected: whether an event may raise `RunRejected`. Then the program writes nothing in the place of what it reads.
        at_end: functions that are called at the end of the code with the trace and a list of (Tensor, earlier value) of those that it
            writes; they may give these other values, and add events.
    """

    falls_back = True

    def __init__(self, variables: list[Buffer]):
        super().__init__()
        self.variables = {id(v): v for v in variables}
        self.events = []
        self.at_end = []
        self.may_be_rejected: bool = False
        self.outputs = []
        self.given = []
        self._index = {}
        self.missing = {}
        self.silent = False
        self.mailbox = Mailbox()
        self.refused = None
        self._sites = 0
        self._marks = []
        self._printed = set()
        self._text = []
        self.cells = {}
        self._swap: Any = None
        self._stdout: Any = None
        self._capture: Any = None
        self._debuggers: Any = None
        self.world = None

    # ---- the world in which it runs

    def __enter__(self) -> Self:
        LOCK.acquire()
        ACTIVITY.add(traces=1)
        self._swap = swap(scope=Scope(None), recording=True, trace=self)
        self._swap.__enter__()
        self._stdout = sys.stdout
        self.world = jax_slots.trace_state()
        self._capture = sys.stdout = Capture(self, sys.stdout)
        self._debuggers = RefuseDebuggers(self.refuse).__enter__()
        return self

    def __exit__(self, *_exception) -> None:
        self._debuggers.__exit__()
        STATE.scope.open = False
        self._swap.__exit__()  # pyright: ignore[reportOptionalMemberAccess]
        sys.stdout = self._stdout
        ACTIVITY.add(traces=-1)
        LOCK.release()

    def here(self) -> bool:
        """True where values are this program's, not those of a loop or a transformation within it."""
        return jax_slots.trace_state() == self.world

    def refuse(self, why: str) -> None:
        """Give up: the program can't be compiled.

        Raises:
            NeedsPyNative: always. Code that catches even that changes nothing.
        """
        self.refused = self.refused or why
        raise NeedsPyNative(why)

    # ---- variables

    def see(self, operands: Sequence[Any]) -> None:
        """Operands of an operator: a Tensor whose value is known came from outside."""
        for operand in operands:
            if isinstance(operand, Tensor) and id(operand) not in self.variables and not is_tracer(operand._value):
                self.missing[id(operand)] = operand, operand._value

    def entered(self, owner: Any) -> None:
        if is_cell(owner):
            self.see_cell(owner)

    def see_cell(self, cell: Cell) -> None:
        """A cell that is called: all its Tensors are the program's variables."""
        if id(cell) in self.cells:
            return
        self.cells[id(cell)] = cell, {name: value for name, value in vars(cell).copy().items() if isinstance(value, Tensor)}
        for tensor in list(cell_tensors(cell)):
            if id(tensor) not in self.variables and not is_tracer(tensor._value):
                self.missing[id(tensor)] = tensor, tensor._value

    # ---- events

    def keep(self, value: Tensor) -> OutputRef:
        """Something to be given out after each run, with the values of that run in the place of Tensors."""
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            return self.keep_output(value._value)
        if value.__class__ in (tuple, list):
            return OutputRef("tree", ([self.keep(v) for v in value], value.__class__))
        if value.__class__ is dict:
            return OutputRef("tree", ([self.keep(v) for v in value.values()], tuple(value)))
        if isinstance(value, nnx.Module):
            return OutputRef("cell", weakref.ref(value))
        if is_tracer(value):
            kept = self.keep_output(value)
            kept.kind = "array"
            return kept
        leaves, treedef = jax.tree.flatten(value, is_leaf=is_leaf)
        if len(leaves) == 1 and leaves[0] is value:
            return OutputRef("constant", value)
        return OutputRef("tree", ([self.keep(v) for v in leaves], treedef))

    def keep_output(self, value: TensorLike) -> OutputRef:
        """A value of the program, to be given out as a Tensor."""
        kept = OutputRef("output", self.output(value))
        self.given.append(kept)
        return kept

    def output(self, value: TensorLike) -> int:
        """The number of a value among the outputs."""
        index = self._index.get(id(value))
        if index is None:
            index = self._index[id(value)] = len(self.outputs)
            self.outputs.append(value)
        return index

    def call(self, fn: Callable[..., Any], args: tuple[Any, ...], what: str) -> None:
        """Call the observer `fn(*args)` after each run."""
        self.flush_text()
        if not self.silent:
            if self.uses_callbacks:
                # A loop whose body jax has traced before deposits nothing again, so the program says what comes before this call.
                mark_program(self.deposit(_nothing, what), what)
            self.events.append(Call(fn, args, what, self))

    def guard(self) -> Guard | None:
        return Guard(self) if self.here() and not self.silent else None

    def deposit(self, fn: Callable[..., Any], what: object) -> Callable[..., Any]:
        """What is called in the place of an observer, which is called when the events before it have happened."""
        site, self._sites = self._sites, self._sites + 1
        mailbox, self.uses_callbacks = self.mailbox, True
        self.flush_text()
        if self.events and isinstance(self.events[-1], Arrivals):
            self.events[-1].sites.add(site)
        else:
            self.events.append(Arrivals(site))

        def arrived(*args):
            mailbox.calls.append((site, fn, args, what))

        return arrived

    def mark(self, tensor: TensorLike, kind: str, spec: str) -> str:
        """The placeholder for a Tensor's text, which each run fills in; text that is not printed at once is refused."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__", "").startswith("msjax.common."):
            frame = frame.f_back
        if sys.stdout is not self._capture or not goes_to_print(frame):
            self.refuse(TEXT_IS_USED)
        self._marks.append(self.keep_output(tensor._value))
        return Placeholder(f"\x02{len(self._marks) - 1}:{kind}:{spec}\x03")

    def write(self, text: str) -> None:
        self._text.append(text)

    def flush_text(self) -> None:
        if self._text:
            text, self._text = "".join(self._text), []
            self._printed.update(int(found[1]) for found in _MARK.finditer(text))
            if not self.silent:
                self.events.append(Text(text, self._marks))

    def forget(self) -> None:
        """Let go of the cells and values that the code worked on."""
        self.cells = {}
        self.outputs = []
        self.at_end = []
        self._index = {}

    def finish(self) -> None:
        """The end of the code: refuse what went wrong unnoticed.

        Raises:
            NeedsPyNative: a placeholder was not printed, or something was refused before.
        """
        self.flush_text()
        if self.refused or len(self._printed) < len(self._marks):
            self.refuse(self.refused or TEXT_IS_USED)


def _nothing():
    """Marks a place among the calls in a mailbox."""


class Capture:
    """Stands for sys.stdout while a program is compiled; other threads write through.

    Args:
        trace: what this thread writes goes to its method `write`.
        stream: sys.stdout.
    """

    def __init__(self, trace: Any, stream: Any):
        self._trace = trace
        self._stream = stream
        self._thread = threading.get_ident()

    def write(self, text):
        if threading.get_ident() == self._thread:
            self._trace.write(text)
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def cell_tensors(cell: Cell) -> Iterator[Any]:
    """The Tensors that are attributes of one cell, in lists, tuples and dicts, too."""
    for value in vars(cell).copy().values():
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (v for v in tuple(value) if isinstance(v, Tensor))
        elif isinstance(value, dict):
            yield from (v for v in tuple(value.values()) if isinstance(v, Tensor))
