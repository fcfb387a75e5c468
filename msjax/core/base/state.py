"""The state of a thread: the owners of hooks that are being called, the program that their code becomes part of; and counters of the process."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Self

from msjax.core.base import jax_slots

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
    own = threading.get_ident()
    State.waiting.add(own)
    try:
        yield
    finally:
        State.waiting.discard(own)
        for _ in range(held):
            LOCK.acquire()


class _Swap:
    """A context manager that sets fields of STATE, and restores their values at the end."""

    __slots__ = ("_values", "_before")

    def __init__(self, **values: Any):
        self._values = values

    def __enter__(self) -> Self:
        self._before = {name: getattr(STATE, name) for name in self._values}
        STATE.__dict__.update(self._values)
        return self

    def __exit__(self, *_exception: Any) -> None:
        STATE.__dict__.update(self._before)


class State(threading.local):
    """Per-thread state; `swap` sets fields temporarily.

    Attributes:
        lock: of all threads, `LOCK`.
        recording: False under ``ms.no_grad()`` and while hooks run in a backward pass.
        stopped: the state of jax's traces in which ``ms.no_grad()`` was entered, where jax differentiates what is not recorded; else None.
        owners: the owners of hooks that are being called, outermost first: cells, and modules of other frameworks by their hook
            sites. They have `_owner_noun`, "cell" or "module", and ``_named_in(around)``, which returns (path, name of the class) where
            the owners `around` are being called around it.
        trace: the `ProgramUnderWay` in progress in this thread, or None.
        delivery: how hooks are called here, a `msjax.hooks.delivery.Delivery`.
        latest_call: a weak reference to the result of the latest hook call of the program that this thread traces, or None. The tracer
            itself belongs to its trace: the operations that use it keep it, and it goes when they do.
        capture: the capture that traces a function (msjax.core.hooks.places), or None.
        called: the name of the function that the user has called, for the messages of those that it uses, or None.
        hooks_run: True while this thread runs the hooks of programs that jax, not msjax, compiled.
        pulled: while jax, not the tape, runs code of a gradient: the owners of hooks around the call whose gradient it is; else None.
        pulls: how many hooks of gradients this thread runs, one within the gradient that another one computes.
        monitor: the `Monitor` that sees the operators of this thread in PyNative mode (msjax.engine.autograd.monitor), or None.
    """

    delivery: Any  # set on the class by `msjax.hooks.delivery`
    lock: ClassVar[Any] = LOCK
    waiting: ClassVar[set[int]] = set()
    _added: ClassVar[dict[str, Any]] = {}

    def __init__(self):
        self.recording: bool = True
        self.stopped: Any = None
        self.owners: list[Any] = []
        self.trace: Any = None  # a ProgramUnderWay; some of its users ask more of the subclass of theirs
        self.latest_call: weakref.ref[Any] | None = None
        self.capture: Any = None
        self.called: str | None = None
        self.hooks_run: bool = False
        self.pulled: tuple[Any, ...] | None = None
        self.pulls: int = 0
        self.monitor: Any = None  # its class lies above
        self.__dict__.update(self._added)

    @classmethod
    def add_fields(cls, **defaults: Any) -> None:
        """Give the state of each thread more fields: those of code above that `swap` is to set, too."""
        cls._added.update(defaults)
        for name, value in defaults.items():
            setattr(cls, name, value)  # of threads that have a state already

    swap = _Swap

    # ---- what program the code becomes part of

    def in_program(self) -> bool:
        """Whether the code becomes part of a program: msjax compiles it, or it is that of a functionalized network."""
        return self.trace is not None

    def in_functional_run(self) -> bool:
        """Whether it is the code of a functionalized network."""
        return self.trace is not None and self.trace.functional

    def msjax_compiles(self) -> bool:
        """Whether msjax compiles it."""
        return self.trace is not None and not self.trace.functional

    def nothing_is_traced(self) -> bool:
        """Whether this thread traces nothing."""
        return self.trace is None and jax_slots.trace_state() == jax_slots.NO_TRACE

    def at_level_of_program(self) -> bool:
        """Whether values here belong to the program itself, not to a loop or transformation of jax within it."""
        return self.trace is not None and self.trace.here()

    def differentiated_by_jax(self) -> bool:
        """Whether jax, not the tape, differentiates what it traces here: under its transformations, also inside of a program."""
        return self.trace.differentiated_by_jax() if self.at_level_of_program() else True

    def stops_jax(self) -> bool:
        """Whether no gradient of jax's should pass through what is computed here."""
        return self.stopped is not None and self.stopped == jax_slots.trace_state() and self.differentiated_by_jax()

    # ---- what the program is told

    def entered(self, owner: Any) -> None:
        """The call of an owner of hooks has begun."""
        if self.trace is not None:
            self.trace.entered(owner)
        if self.monitor is not None:
            self.monitor.entered(owner)

    def used(self, operands: Sequence[Any]) -> None:
        """An operator is called with these operands."""
        if self.trace is not None:
            self.trace.see(operands)

    def wrote(self, tensor: Any) -> None:
        """A Tensor that is no view has got another value."""
        if self.trace is not None:
            self.trace.wrote(tensor)

    def hooks_change(self, owner: Any) -> None:
        """The hooks of an owner are about to change; see `msjax.core.hooks.worker.before_change`."""
        if self.trace is not None:
            self.trace.hooks_change(owner)

    def stops_gradients(self) -> None:
        """`ops.stop_gradient` is called."""
        if self.trace is not None:
            self.trace.stops_gradients = True

    def communicates_in(self, group: Any) -> None:
        """The code communicates in a group of processes."""
        if self.trace is not None:
            self.trace.groups.add(group)

    def mark(self, tensor: Any, kind: str, spec: str) -> str | None:
        """A placeholder for a Tensor's text, filled in after the run of the program; None if no program fills in texts here."""
        return self.trace.mark(tensor, kind, spec) if self.at_level_of_program() else None

    def comes_to_node(self) -> None:
        """A node whose hooks get gradients, an identity of jax's, is going to be put into the program."""
        if self.at_level_of_program():
            self.trace.comes_to_node()

    def comes_to_event(self) -> None:
        """An event (see `msjax.hooks.events`) is going to be put into the program."""
        if self.trace is not None:
            self.trace.comes_to_event()

    def comes_to_callback(self) -> None:
        """Called before an event that is a host callback is put into the program."""
        if self.trace is not None:
            self.trace.comes_to_callback()
        else:
            ACTIVITY.callbacks = True


STATE = State()


class ProgramUnderWay:
    """A trace under way in this thread, `STATE.trace`: Python code runs to become part of a program that msjax compiles.

    Attributes:
        world: the state of jax's traces in which values are this program's own.
        uses_callbacks: True once the program contains host callbacks.
        stops_gradients: True once `ops.stop_gradient` was called.
        groups: the groups of processes over which the program communicates.
        writes: how often the code has written to variables of the program so far.
        functional: whether it is a functionalized network that runs, under any jax transformation or none; of another program, code that can't
            become part of it runs in PyNative mode.
        lacks: what was missing when code first asked for a value that isn't known yet; the code may have caught the error.
        draws: [(operator and its seed, state)] of the random operators that the code calls, in their order. Code that is traced again
            finds its states there.
    """

    uses_callbacks = stops_gradients = False
    writes = 0
    functional = False
    world: Any = None
    lacks: str | None = None

    def __init__(self):
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
        return jax_slots.trace_state() == self.world

    def entered(self, owner: Any) -> None:
        """Called when the call of an owner of hooks begins."""

    def differentiated_by_jax(self) -> bool:
        """Whether jax differentiates this program's own values, where a node that calls hooks with gradients is not on the tape."""
        return False

    def observed(self, fn: Callable[..., Any], text: Callable[[], str]) -> None:
        """Called with an observer that is to be called after each run, as the user wrote it, with those of its arguments that are known; `text`
        gives its name and place, for messages."""

    def comes_to_node(self) -> None:
        """Called before a node whose hooks get gradients of jax's is put into the program."""

    def comes_to_event(self) -> None:
        """Called before an event (see `msjax.core.hooks.events`) is put into the program."""

    def comes_to_callback(self) -> None:
        """Called before an event that is a host callback is put into the program."""
        self.uses_callbacks = True
        self.comes_to_event()

    def mark(self, tensor: Any, kind: str, spec: str) -> str | None:
        """A placeholder for a Tensor's text, filled in after the run; None if the program fills in no texts."""
        return None

    def see(self, operands: Sequence[Any]) -> None:
        """Called with the operands of every operator."""

    def hooks_change(self, owner: Any) -> None:
        """Called before the code changes the hooks of an owner."""

    def wrote(self, tensor: Any) -> None:
        """Called when the code has written to a Tensor, which is no view."""

    def refuse(self, why: str) -> None:
        """Give the program up, if it can run in PyNative mode instead; `why` is a sentence."""


class Activity:
    """Counts what runs in any thread and makes operators take the slow dispatch.

    Attributes:
        traces: the number of programs that are being traced.
        casts: the number of running calls of cells that were set with `to_float`.
        synchronize: the setting pynative_synchronize: operators wait for their results.
        monitors: the number of monitors that are set, see `State.monitor`.
        slow_dispatch: whether any of these is on. Operators read only this.
        callbacks: whether PyNative code has run a jax loop or transformation whose hooks are called by callbacks; the next hook
            has to wait for them.
        late_slots: whether a program that jax compiles calls the hooks in slots by callbacks, which may be late.
        drops: how often the hook calls that wait were dropped, as by Ctrl-C: what is left of those that run ends then.
    """

    def __init__(self):
        self.traces = self.casts = self.monitors = self.drops = 0
        self.synchronize = self.slow_dispatch = self.callbacks = self.late_slots = False

    def add(self, traces: int = 0, casts: int = 0, monitors: int = 0) -> None:
        """Count a trace, cast or monitor that begins (1) or ends (-1)."""
        self.traces += traces
        self.casts += casts
        self.monitors += monitors
        self._update()

    def set_synchronize(self, value: bool) -> None:
        self.synchronize: bool = value
        self._update()

    def _update(self):
        self.slow_dispatch: bool = self.traces > 0 or self.casts > 0 or self.synchronize or self.monitors > 0


ACTIVITY = Activity()


class Version:
    """Counts changes of what compiled programs depend on: members, settings, hooks.

    A compiled function that checked its guards at the present count need not check them again.

    Attributes:
        n: the number of the present state. An exact undo may restore the earlier number.
        latest: the largest number so far.
        classes: the count of changes of class attributes of cells only.
    """

    n: int = 0
    latest: int = 0
    classes: int = 0

    def changed(self) -> None:
        """Make compiled programs check their guards at the next call, since something they may depend on has changed."""
        self.latest += 1
        self.n = self.latest


VERSION = Version()
