"""Compiled: a function or cell with its programs, and how a call finds the one that serves it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax

from msjax.core.base.arrays import TracedValueError
from msjax.core.door import VERSION, HookNeedsValue, HostNeeded
from msjax.engine.autograd.imperative import BackwardError
from msjax.engine.compile.attempt import FailedInBody, build
from msjax.engine.compile.environment import Environments, objects_among
from msjax.engine.compile.program import Program, SignatureChanged, aliases, signature
from msjax.engine.compile.snapshot import Snapshot
from msjax.engine.compile.trace import NeedsPyNative, RunRejected
from msjax.engine.programs.collector import full_collections_wait
from msjax.engine.programs.limits import CACHE_LIMIT, warn_of_shapes

# So many programs are kept for one function: those used last. A network with a few sizes of batches in a few states has tens.
KEPT = 256

# So many compilations for other shapes, and nothing else, lead to a warning: the number at which operators warn.
_MANY_SHAPES = 64

# After so many programs in a row that changed what they were compiled for, the function runs in PyNative mode. A first call may set
# up state, and a second one may settle it.
_PATIENCE = 3

# What is raised where code can't be traced, but may run.
_CANT_BE_TRACED = (
    NeedsPyNative, HostNeeded, TracedValueError, NotImplementedError, jax.errors.JAXTypeError, jax.errors.JAXIndexError,
)  # fmt: skip


class Compiled:
    """A function or cell as a family of programs, one for each environment and signature.

    Args:
        body: the function that is compiled, called as ``body(subject, args, kwargs)``.
        subject: a function that returns what is compiled: a function or a cell. It may be a weak reference.
        name: as messages show it.
        roots: further objects in which Tensors and settings are looked for.
        fullgraph: True raises where it can't be compiled; False runs it in PyNative mode then.
        again: True for code that has run before, and whose effects on Python's state have happened.

    Attributes:
        compilations: how often it was compiled.
        ways_back: {(program, which gradients are wanted): its gradient} of `compile.gradient`.
        drops_events: whether its programs have no events: of code that another program has run.
    """

    drops_events = False

    def __init__(
        self,
        body: Callable[..., Any],
        subject: Callable[..., Any],
        name: str,
        roots: tuple[Any, ...] = (),
        fullgraph: bool = False,
        again: bool = False,
    ):
        self.fullgraph = fullgraph
        self.again = again
        self.body = body
        self.name = name
        self.subject = subject
        self.roots: tuple[Any, ...] = tuple(roots)
        self._environments = Environments(subject, self.roots)
        self._used = {}  # {program: (environment, key)}, the one used last at the end
        self._latest = None
        self.ways_back = {}
        self._never = {}  # {key of a signature: Fallback} where each run changes what a program would be made for
        self.compilations: int = 0
        self._unused = set()  # the programs that have not been used since the last call of `evict_unused`
        CACHE_LIMIT.register(self)

    def __call__(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run the program for these arguments; it is compiled if it is not there yet."""
        program, leaves = self.find(args, kwargs)
        return self.run(program, leaves, args, kwargs)

    def run(self, program: Program | Fallback, leaves: Sequence[Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run a program that `find` found."""
        if isinstance(program, Fallback):
            return self.run_eagerly(program, args, kwargs)
        try:
            return self.execute(program, leaves)
        except SignatureChanged:
            self.forget(program)
            return self(args, kwargs)
        except RunRejected as rejected:
            rejected.call = self.subject(), args, kwargs
            return rejected.again(lambda: self.run_again(program, args, kwargs))

    def run_again(self, program: Program, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run in PyNative mode what a program has run, and put back what that changes."""
        before, values = Snapshot(self._environments.roots()), [(v, v._value) for v in program.variables]
        try:
            return self.body(self.subject(), args, kwargs)
        finally:
            for variable, value in values:
                variable._hold(value)
            before.restore()

    def execute(self, program: Program, leaves: Sequence[Any], place: Callable[..., Any] | None = None) -> Any:
        """Run a program, and notice what that changed; `place` is that of `Program.run`."""
        result = program.run(leaves, place)
        if program.look_after:
            self._look_after(program)
        return result

    def _look_after(self, program):
        first, program.first = program.first, False
        self.after_run(first)
        program.look_after = program.observes and bool(self._environments.now.guards.contents)

    def find(self, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, Sequence[Any]]:
        """(program, leaves of the arguments) of a call."""
        key, leaves, treedef = signature(args, kwargs)
        objects = objects_among(leaves) if treedef is not None else []
        environments = self._environments
        environment, walk = environments.now, None
        if objects or environment.version != VERSION.n or (environment.guards.checks and not environment.guards.hold()):
            environment, walk = environments.find(objects)
        program = environment.programs.get(key)
        if program is None:
            program = self._make(environment, key, leaves, treedef, objects, walk)
        elif program is not self._latest:
            self._used[program] = self._used.pop(program)
            self._latest = program
            if program in self._unused:
                self._unused.discard(program)
                CACHE_LIMIT.count()
        if program.by_identity and isinstance(program, Program):
            # It matters which arguments are the same object.
            pattern = aliases(leaves, program.variables)
            if pattern != program.aliases:
                key = (key, pattern)
                program = environment.programs.get(key) or self._make(environment, key, leaves, treedef, objects, None)
        if not program.eager and program.shares_memory(leaves):
            fallback = Fallback("it writes to memory that several of its arguments share", key, None)
            fallback.keep = lambda: None
            return fallback, leaves
        return program, leaves

    def run_eagerly(self, program: Fallback, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run what can't be compiled in PyNative mode; where it works, say why it is not compiled, once."""
        result = self.body(self.subject(), args, kwargs)
        self.tell(program)
        return result

    def tell(self, fallback: Fallback) -> None:
        """Say, once, why code was not compiled that has worked in PyNative mode.

        Raises:
            Exception: what tracing raised, where that is a fault of msjax.
        """
        if fallback.error is not None:
            fallback.error.add_note(f"raised while {self.name} was compiled; it works in PyNative mode")
            raise fallback.error
        if fallback.why:
            if self.after_run(first=True):
                self._never[fallback.key] = fallback
            else:
                fallback.keep()
            warnings.warn(f"{self.name} can't be compiled, and runs in PyNative mode: {fallback.why}", stacklevel=6)
            fallback.why = None

    def forget(self, program: Program) -> None:
        """Drop a program: a variable has another shape or dtype than when it was made."""
        if program in self._used:
            self._take_out(program)
        self._latest = None

    def after_run(self, first: bool = False) -> bool:
        """Notice what a run has changed of what programs are made for; returns whether it has. See `Environments.after_run`."""
        return self._environments.after_run(first)

    # ---- programs

    def draws_before(self) -> list[tuple[Any, Any]]:
        """The states of the random operators of code that has run before; see `Trace.draws`."""
        return []

    def _make(self, environment, key, leaves, treedef, objects, walk):
        if not environment.programs:
            self._drop_stale()
        if key in self._never:
            return self._never[key]
        try:
            if self._environments.own_changes >= _PATIENCE:
                raise NeedsPyNative("each run changes a Python value that it was compiled for")
            self.compilations += 1
            with full_collections_wait():
                before = Snapshot([*self._environments.roots(), *objects], walk)
                program = build(self.body, self, environment, leaves, treedef, before)
        except (HookNeedsValue, BackwardError):
            raise
        except NeedsPyNative as error:
            if self.fullgraph:
                raise RuntimeError(f"{self.name} can't be compiled: {error.why}") from error
            return self._fallback(environment, key, error)
        except FailedInBody as failed:
            error: Any = failed.__cause__
            if self.fullgraph or isinstance(error, (HookNeedsValue, BackwardError)):
                raise error from error.__cause__
            # In PyNative mode it either raises where it should, having printed and called what comes before, or it works.
            return self._fallback(environment, key, error)
        self._keep(environment, key, program)
        if treedef is None:
            environment.shapes += 1
            if environment.shapes == _MANY_SHAPES:
                warn_of_shapes(self.name)
        return program

    def _keep(self, environment, key, program):
        CACHE_LIMIT.count()
        environment.programs[key] = program
        self._used[program] = environment, key
        self._latest = program
        while len(self._used) > KEPT:
            self._drop(next(iter(self._used)))

    def _drop(self, program):
        environment = self._take_out(program)
        if not environment.programs:
            self._environments.forget(environment)

    def _drop_stale(self):
        for environment in self._environments.take_stale():
            for program in [*environment.programs.values()]:
                self._take_out(program)
            self._latest = None

    def _take_out(self, program):
        environment, key = self._used.pop(program)
        environment.programs.pop(key, None)
        for way in [way for way in self.ways_back if way[0] is program]:
            del self.ways_back[way]
        return environment

    def evict_unused(self) -> None:
        """Drop the programs that were not used since the last time."""
        for program in self._unused.intersection(self._used):
            self._drop(program)
        self._unused = set(self._used)
        self._latest = None

    def _fallback(self, environment, key, error):
        why = getattr(error, "why", None) or f"{type(error).__name__}: {_first_line(error)}"
        fallback = Fallback(why, key, None if _needs_values(error) else error)
        fallback.keep = lambda: self._keep(environment, key, fallback)
        return fallback


class Fallback:
    """A call that runs in PyNative mode, in the place of a program that can't be made.

    Args:
        why: the reason.
        key: of the call's signature.
        error: an exception that has nothing to do with tracing; if the code works in PyNative mode, it is an error of msjax.

    Attributes:
        why: the reason; None once it has been told.
        keep: a function that files it among the programs, so that later calls of the signature are not traced again. It is called when the
            code has worked in PyNative mode.
    """

    eager = True
    by_identity = False
    keep: Any = None

    def __init__(self, why: str, key: Hashable, error: BaseException | None):
        self.why: str | None = why
        self.key = key
        self.error = error


def _needs_values(error):
    """True if an exception, or one that it came from, says that code can't be traced."""
    while error is not None:
        if isinstance(error, _CANT_BE_TRACED):
            return True
        error = error.__cause__ or error.__context__
    return False


def _first_line(error):
    return str(error).strip().split("\n", 1)[0][:300]
