"""Per-thread state: the running cells, the gradient scope and whether operators are recorded; and process-wide counters."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, Self


class Scope:
    """One run of a gradient function; `ROOT` is the scope of the program outside of all gradient functions.

    Attributes:
        depth: 0 for ROOT, plus one for each nested gradient function.
        parent: the enclosing scope; None for ROOT.
        root: the outermost gradient function, or a function that is being compiled; ROOT for itself. Nodes recorded under
            another root are treated as plain values.
        open: False once the gradient function has returned; its nodes are then ignored.
        nested: True once something here depends on what an outer scope differentiates, so that
            this scope's backward pass has to be recorded, too.
        level: the trace of jax in which the scope was opened; None if that makes no difference. What is recorded at this level
            can't be used at another one: jax differentiates there, and the tape does not see it.
        outside: of the scope of a function that runs as an operator, the root of what is recorded around it; None if nothing is.
    """

    __slots__ = ("depth", "parent", "root", "open", "nested", "level", "outside")

    def __init__(self, parent: Scope | None, level: Any = None, outside: Scope | None = None):
        self.parent: Scope | None = parent
        self.root: Scope = self if parent is None or parent is ROOT else parent.root
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.open: bool = True
        self.nested: bool = False
        self.level: Any = level
        self.outside: Scope | None = outside


ROOT = Scope(None)

# Held while a program is traced or a function differentiated: variables then hold tracers, and leaves of the tape, which are those of
# one thread.
LOCK = threading.RLock()


@contextlib.contextmanager
def without_lock() -> Iterator[None]:
    """Lets other threads have `LOCK`, if this one holds it, while it waits for them."""
    held = 0
    with contextlib.suppress(RuntimeError):  # raised by the first release that is one too many
        while True:
            LOCK.release()
            held += 1
    try:
        yield
    finally:
        for _ in range(held):
            LOCK.acquire()


class Saving(Protocol):
    """An object for `State.saving`.

    Attributes:
        again: whether a recomputed call runs for the second time, see msjax.engine.autograd.recompute.
    """

    again: bool

    def save(self, node: Any, operands: Sequence[Any], values: Sequence[Any]) -> None:
        """Called with the node of an operator that has just been recorded, its operands and their arrays."""
        ...


class State(threading.local):
    """Per-thread state; `swap` sets fields temporarily.

    Attributes:
        scope: the scope of the innermost running gradient function; ROOT outside of all.
        recording: False under ``ms.no_grad()`` and while hooks run in a backward pass.
        owners: the owners of hooks that are being called, outermost first: cells, and modules of other frameworks by their hook
            sites. See `msjax.core.base.calls`.
        saving: packs the residuals of recorded operators (msjax.engine.autograd.saved), or None to keep them unpacked.
        cast: converts the operands of operators while a cell set with `to_float` runs (msjax.engine.autograd.precision), or None.
        trace: the `ProgramUnderWay` in progress in this thread, or None.
        delivery: how hooks are called here, a `msjax.hooks.delivery.Delivery`.
        latest_call: a weak reference to the result of the latest hook call of the program that this thread traces, or None. The tracer
            itself belongs to its trace: the operations that use it keep it, and it goes when they do.
        capture: the capture that traces a function (msjax.core.hooks.places), or None.
        called: the name of the function that the user has called, for the messages of those that it uses, or None.
        hooks_run: True while this thread runs the hooks of programs that jax, not msjax, compiled.
        pulled: while jax, not the tape, runs code of a gradient: the owners of hooks around the call whose gradient it is; else None.
        monitor: the `Monitor` that sees the operators of this thread in PyNative mode (msjax.engine.autograd.monitor), or None.
    """

    delivery: Any  # set on the class by `msjax.hooks.delivery`

    def __init__(self):
        self.scope: Scope = ROOT
        self.recording: bool = True
        self.owners: list[Any] = []
        self.saving: Saving | None = None
        self.cast: Callable[[Any, Sequence[Any]], Sequence[Any]] | None = None
        self.trace: Any = None  # a ProgramUnderWay; some of its users ask more of the subclass of theirs
        self.latest_call: weakref.ref[Any] | None = None
        self.capture: Any = None
        self.called: str | None = None
        self.hooks_run: bool = False
        self.pulled: tuple[Any, ...] | None = None
        self.monitor: Any = None  # its class lies above


STATE = State()


class swap:
    """A context manager that sets fields of STATE, and restores their values at the end.

    Example:
        >>> from msjax.core.base.state import STATE, swap
        >>> with swap(recording=False):
        ...     STATE.recording
        False
        >>> STATE.recording
        True
    """

    __slots__ = ("_values", "_before")

    def __init__(self, **values: Any):
        self._values = values

    def __enter__(self) -> Self:
        fields = STATE.__dict__
        self._before = {name: fields[name] for name in self._values}
        fields.update(self._values)
        return self

    def __exit__(self, *_exception: Any) -> None:
        STATE.__dict__.update(self._before)


class ProgramUnderWay:
    """A trace under way in this thread, `STATE.trace`: Python code runs to become part of a program that msjax compiles, or as a
    hook on the host within one.

    Attributes:
        uses_callbacks: True once the program contains host callbacks.
        falls_back: whether code that can't become part of the program runs in PyNative mode instead.
        on_host: whether the code runs within a callback of XLA, so that new Tensors have numpy arrays.
        stops_gradients: True once `ops.stop_gradient` was called.
        forward_hooks: (hook, weak reference to a Tensor that it was given, sentence that names it) of the traced forward hooks.
        groups: the groups of processes over which the program communicates.
        functional: whether it is a functionalized network that runs, under any jax transformation or none.
        draws: [(operator and its seed, state)] of the random operators that the code calls, in their order. Code that is traced again
            finds its states there.
    """

    uses_callbacks = stops_gradients = False
    falls_back = False
    on_host = functional = False

    def __init__(self):
        self.forward_hooks: list[tuple[Callable[..., Any], weakref.ref[Any], str]] = []
        self.groups: set[Any] = set()
        self.draws: list[tuple[Any, Any]] = []
        self._drawn = 0

    def state_of_draw(self, key: Any, make: Callable[[], Any]) -> Any:
        """The state of the random operator that the code calls next, which `make` makes where there is none."""
        if self._drawn == len(self.draws) or self.draws[self._drawn][0] != key:
            self.draws[self._drawn :] = [(key, make())]
        self._drawn += 1
        return self.draws[self._drawn - 1][1]

    def here(self) -> bool:
        """Whether values now belong to this program itself, not to a loop or transformation within it."""
        return False

    def entered(self, owner: Any) -> None:
        """Called when the call of an owner of hooks begins."""

    def differentiated_by_jax(self) -> bool:
        """Whether jax differentiates this program's own values, where a node that calls hooks with gradients is not on the tape."""
        return False

    def comes_to_event(self) -> None:
        """Called before an event (see `msjax.core.hooks.events`) is put into the program."""

    def comes_to_callback(self) -> None:
        """The same of an event that is a host callback."""
        self.uses_callbacks = True
        self.comes_to_event()

    def mark(self, tensor: Any, kind: str, spec: str) -> str | None:
        """A placeholder for a Tensor's text, filled in after the run; None if the program fills in no texts."""
        return None

    def see(self, operands: Sequence[Any]) -> None:
        """Called with the operands of every operator."""


class Activity:
    """Counts what runs in any thread and makes operators take the slow dispatch.

    Attributes:
        traces: the number of programs that are being traced.
        casts: the number of running calls of cells that were set with `to_float`.
        synchronize: the setting pynative_synchronize: operators wait for their results.
        monitors: the number of threads that have a monitor, see `State.monitor`.
        detect_anomaly: the setting of this name: threads without a monitor of their own have one that looks for NaN gradients.
        slow_dispatch: whether any of these is on. Operators read only this.
        callbacks: whether PyNative code has run a jax loop or transformation whose hooks are called by callbacks; the next hook
            has to wait for them.
        late_slots: whether a program that jax compiles calls the hooks in slots by callbacks, which may be late.
        drops: how often the hook calls that wait were dropped, as by Ctrl-C: what is left of those that run ends then.
    """

    __slots__ = (
        "traces",
        "casts",
        "synchronize",
        "monitors",
        "detect_anomaly",
        "slow_dispatch",
        "callbacks",
        "late_slots",
        "drops",
    )

    def __init__(self):
        self.traces = self.casts = self.monitors = self.drops = 0
        self.synchronize = self.detect_anomaly = self.slow_dispatch = self.callbacks = self.late_slots = False

    def add(self, traces: int = 0, casts: int = 0, monitors: int = 0) -> None:
        """Count a trace, cast or monitor that begins (1) or ends (-1)."""
        self.traces += traces
        self.casts += casts
        self.monitors += monitors
        self._update()

    def set_synchronize(self, value: bool) -> None:
        self.synchronize: bool = value
        self._update()

    def set_detect_anomaly(self, value: bool) -> None:
        self.detect_anomaly: bool = value
        self._update()

    def _update(self):
        self.slow_dispatch: bool = (
            self.traces > 0 or self.casts > 0 or self.synchronize or self.monitors > 0 or self.detect_anomaly
        )


ACTIVITY = Activity()


class Version:
    """Counts changes of what compiled programs depend on: members, settings, hooks.

    A compiled function that checked its guards at the present count need not check them again.

    Attributes:
        n: the number of the present state. An exact undo may restore the earlier number.
        latest: the largest number so far.
        classes: the count of changes of class attributes of cells only.
    """

    __slots__ = ("n", "latest", "classes")

    def __init__(self):
        self.n: int = 0
        self.latest: int = 0
        self.classes: int = 0


VERSION = Version()


def programs_changed() -> None:
    """Make compiled programs check their guards at the next call, since something they may depend on has changed."""
    VERSION.latest += 1
    VERSION.n = VERSION.latest


class Compiler:
    """The entry points of msjax.engine.compile for lower floors; msjax.engine.compile sets them when it is imported.

    Attributes:
        whole: in graph mode, runs a gradient function as one program; see msjax.engine.compile.graph_mode.
        call_cell: in graph mode, runs the call of a cell as one program.
    """

    whole: Callable[..., tuple[bool, Any]]
    call_cell: Callable[..., tuple[bool, Any]]


COMPILER = Compiler()
