"""Compiled: a function or cell with its programs, and how a call finds the one that serves it.

The programs stand with the cell or function that they were made of (`compiled_for`), so that they go when it goes.

Where a gradient is recorded around it in PyNative mode, a call is an operator like others, a node of the tape (`CallNode`): its forward
program also returns what the backward pass needs, and the backward pass is a program of that. The user's code is traced on a tape of its own
(`msjax.engine.autograd.recording.TracedTape`): what its nodes keep are the residuals, and the backward program goes back over it. Outside of
gradient functions, where `backward()` may follow or not, the plain program runs, and the forward pass runs once more where `backward()` is
called. A backward pass that can't be traced goes back over the same tape in PyNative mode.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import jax

from msjax.common.node import place_on_tape
from msjax.common.run_state import LOCK, ROOT, SEQUENCE, STATE, Edge, Grads, Need, Node
from msjax.common.tensor import Tensor, wrap
from msjax.core.base.arrays import TracedValueError
from msjax.core.base.typing import JaxArray
from msjax.core.door import HookNeedsValue
from msjax.engine.autograd.imperative import BackwardError
from msjax.engine.autograd.memory import Held
from msjax.engine.compile.attempt import Body, FailedInBody, build
from msjax.engine.compile.environment import Environments, Snapshot, objects_among
from msjax.engine.compile.guards import Recompilations
from msjax.engine.compile.program import (
    VALUE,
    Program,
    SignatureChanged,
    aliases,
    is_argument,
    is_input,
    leaf_key,
    raw,
    results,
    signature,
    tensors_among,
)  # fmt: skip
from msjax.engine.compile.trace import NeedsPyNative, RunRejected
from msjax.engine.programs.limits import MANY_SIGNATURES, warn_of_shapes

# So many programs are kept for one function; where there are more, it begins anew. A network with a few sizes of batches in a few states has tens.
KEPT = 256

# After so many programs in a row that changed what they were compiled for, the function runs in PyNative mode. A first call may set
# up state, and a second one may settle it.
_PATIENCE = 3

# What is raised where code can't be traced, but may run.
_CANT_BE_TRACED = (NeedsPyNative, TracedValueError, NotImplementedError, jax.errors.JAXTypeError, jax.errors.JAXIndexError)


class Compiled:
    """A function or cell as a family of programs, one for each environment and signature.

    Args:
        body: the function that is compiled, called as ``body(subject, args, kwargs)``.
        subject: a function that returns what is compiled: a function or a cell. It may be a weak reference.
        name: as messages show it.
        roots: further objects in which Tensors and settings are looked for.
        fullgraph: True raises where it can't be compiled; False runs it in PyNative mode then.

    Attributes:
        compilations: how often it was compiled.
    """

    def __init__(
        self,
        body: Callable[..., Any],
        subject: Callable[..., Any],
        name: str,
        roots: tuple[Any, ...] = (),
        fullgraph: bool = False,
    ):
        self.fullgraph = fullgraph
        self.body = body
        self.name = name
        self.subject = subject
        self._environments = Environments(subject, roots)
        self._kept = 0  # how many programs there are
        self._recompilations = Recompilations(name)
        self._never = {}  # {key of a signature: Fallback} where each run changes what a program would be made for
        self.compilations: int = 0

    def __call__(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run the program for these arguments; it is compiled if it is not there yet. No gradient is recorded."""
        program, leaves = self.find(args, kwargs)
        return self._run(program, leaves, args, kwargs, None)

    def call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call the program, as an operator of the tape if a gradient of one of its inputs is recorded."""
        state = STATE
        scope = state.scope
        if not state.recording:
            return self(args, kwargs)
        program, leaves = self.find(args, kwargs, scope.depth == 1)
        node = None
        # A step of training differentiates within itself.
        if not (program.eager or (program.trains and scope is ROOT)):
            given = leaves if program.inputs is None else tensors_among(leaves)
            edges, base = place_on_tape([*program.variables, *given])
            if base is not None:
                if scope.depth > 1:
                    # An outer gradient function also differentiates the backward: it has to see each operator.
                    program.undo_trace()
                    return self.body(self.subject(), args, kwargs)
                if program.tape is None and not program.differentiable_later:
                    program = self.with_tape(program, edges, leaves)
                    edges, base = place_on_tape([*program.variables, *given])
                node = CallNode(base, edges, self, program, leaves)
        return self._run(program, leaves, args, kwargs, node)

    def _run(self, program, leaves, args, kwargs, node):
        if program.eager:
            result = self.body(self.subject(), args, kwargs)
            self.tell(program)
            return result
        try:
            result = program.run(leaves, node)
            if program.first:
                program.first = False
                self._environments.after_run(objects_among(leaves))
        except SignatureChanged:
            # A variable has another shape or dtype than when it was made.
            self._environments.now.drop(program.of or program)
            return self(args, kwargs) if node is None else self.call(args, kwargs)
        except RunRejected as rejected:
            rejected.call = self.subject(), args, kwargs
            return rejected.again(lambda: self.run_again(program, args, kwargs))
        if node is not None:
            node.place((result,) if result.__class__ is Tensor else results(result))
        return result

    def run_again(self, program: Program, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Run in PyNative mode what a program has run, and put back what that changes."""
        # Tracing has changed the state for the first run.
        with program.before.in_place() if program.first else nullcontext():
            before = Snapshot(self._environments.walk(), observers=True)
            try:
                with Held(program.variables):
                    return self.body(self.subject(), args, kwargs)
            finally:
                before.restore()

    def find(self, args: tuple, kwargs: dict[str, Any], recorded: bool = False) -> tuple[Any, Sequence[Any]]:
        """(program, leaves of the arguments) of a call.

        Args:
            recorded: whether a gradient of its inputs may be recorded.
        """
        key, leaves, treedef = signature(args, kwargs)
        objects = objects_among(leaves) if treedef is not None else []
        (environment, walk), body = self._environments.find(objects), None
        if recorded:
            key, body = self._recorded(key, leaves, treedef, environment.variables)
        program = environment.programs.get(key)
        if program is None:
            program = self._make(environment, key, body, leaves, treedef, objects, walk)
        if program.by_identity and isinstance(program, Program):
            # It matters which arguments are the same object.
            pattern = aliases(leaves, program.variables)
            if pattern != program.aliases:
                key = (key, pattern)
                program = environment.programs.get(key) or self._make(environment, key, body, leaves, treedef, objects, None)
        if isinstance(program, Program) and program.writes_memory and program.shares_memory(leaves):
            program.undo_trace()
            return Fallback(NeedsPyNative("it writes to memory that several of its arguments share")), leaves
        return program, leaves

    def with_tape(self, program: Program, edges: Sequence[Any], leaves: Sequence[Any]) -> Program:
        """This program with one more output: what a gradient of its inputs needs.

        Args:
            edges: of its variables and the Tensors among the arguments, None for those whose gradients are not wanted.
            leaves: of the arguments.

        Raises:
            RuntimeError: it can be traced, but not while it is recorded.
        """
        n = len(program.variables)
        wanted = [edge is not None for edge in edges]
        known = {id(v) for v, is_wanted in zip(program.variables, wanted) if is_wanted}
        body = Body(self.body, self.subject(), self.name, True, program.draws, lambda v: id(v) in known, wanted[n:])
        with program.before.in_place():
            found = self.derived(program, tuple(wanted), body, leaves, program.arguments, objects_among(leaves))
        if found.eager:
            raise RuntimeError(
                f"The gradient of {self.name}, which is compiled, can't be traced: {found.why}. Run it in PyNative mode."
            ) from found.error
        return found

    def derived(
        self, program: Program, purpose: Hashable, body: Body, leaves: Sequence[Any], treedef: Any, objects: Sequence[Any]
    ) -> Any:
        """A program for the gradient of another one, or a `Fallback`; `purpose` says what it is for, for all else see `attempt.build`."""
        environment, walk = self._environments.find(objects)
        key = purpose, environment
        found = program.derived.get(key)
        if found is None:
            found: Any = self._build(body, list(program.variables), leaves, treedef, objects, walk)
            if found.eager:
                found.keep = lambda: program.derived.update({key: found})
            else:
                program.derived[key], found.of = found, program
        return found

    def _recorded(self, key, leaves, treedef, variables):
        """(key, Body) of the program that also returns what a gradient needs; (the same key, None) where no gradient is recorded."""
        n, root = len(variables), STATE.scope.root
        edges, base = place_on_tape([*variables, *(leaves if treedef is None else tensors_among(leaves))])
        if base is None:
            return key, None
        wanted = [edge is not None for edge in edges]

        def is_wanted(variable):
            node = variable._node
            return node is not None and node.base.open and node.base.root is root

        body = Body(self.body, self.subject(), self.name, wanted=is_wanted, wanted_arguments=wanted[n:])
        return (key, tuple([i for i in range(n) if wanted[i]]), tuple(wanted[n:])), body

    def tell(self, fallback: Fallback) -> None:
        """Say, once, why code was not compiled that has worked in PyNative mode.

        Raises:
            Exception: what tracing raised, where that is a fault of msjax.
        """
        if fallback.error is not None:
            fallback.error.add_note(f"raised while {self.name} was compiled; it works in PyNative mode")
            raise fallback.error
        if fallback.why:
            if self._environments.after_run():
                self._never[fallback.key] = fallback
            else:
                fallback.keep()
            warnings.warn(f"{self.name} can't be compiled, and runs in PyNative mode: {fallback.why}", stacklevel=5)
            fallback.why = None

    # ---- programs

    def _make(self, environment, key, body, leaves, treedef, objects, walk):
        if key in self._never:
            return self._never[key]
        body = body or Body(self.body, self.subject(), self.name)
        changes = self._environments.own_changes >= _PATIENCE
        self.compilations += not changes
        inputs = [(value.shape, value.dtype) for value in map(raw, filter(is_input, leaves))]
        purpose = None if body.wanted is None else tuple(body.wanted_arguments)
        self._recompilations.count((treedef, *inputs, purpose), [*map(leaf_key, leaves)], environment.guards.found)
        made = self._build(body, environment.variables, leaves, treedef, objects, walk, changes)
        if isinstance(made, Fallback):
            made.key, made.keep = key, lambda: self._keep(environment, key, made)
            return made
        # Should a state come back that the code has changed, it has to do so again.
        if not self._environments.changed(objects):
            self._keep(environment, key, made)
        if treedef is None:
            environment.shapes += 1
            if environment.shapes == MANY_SIGNATURES:
                warn_of_shapes(self.name)
        return made

    def _build(self, body, variables, leaves, treedef, objects, walk, changes=False) -> Program | Fallback:
        """Trace and compile, see `attempt.build`; a `Fallback` where it can't be.

        Args:
            walk: the one that has just found the environment; None if there was none.
            changes: whether each run changes a Python value that it is compiled for.

        Raises:
            Exception: it is a fault of the user's, or `fullgraph` was asked for.
        """
        try:
            if changes:
                raise NeedsPyNative("each run changes a Python value that it was compiled for")
            walk = walk or self._environments.walk(objects)
            if walk.refused is not None:
                raise NeedsPyNative(walk.refused)
            self._environments.latest = before = Snapshot(walk, earlier=self._environments.latest)
            return build(body, variables, leaves, treedef, before, walk)
        except NeedsPyNative as error:
            if self.fullgraph:
                raise RuntimeError(f"{self.name} can't be compiled: {error}") from error
            return Fallback(error)
        except FailedInBody as failed:
            error: Any = failed.__cause__
            if self.fullgraph or isinstance(error, (HookNeedsValue, BackwardError)):
                raise error from error.__cause__
            # In PyNative mode it either raises where it should, having printed and called what comes before, or it works.
            return Fallback(error)

    def _keep(self, environment, key, program):
        self._kept += 1
        if self._kept > KEPT:
            self._environments.drop_all()
            self._kept = 1
        environment.programs[key] = program


class Fallback:
    """A call that runs in PyNative mode, in the place of a program that can't be made.

    Args:
        error: what tracing raised. One that has nothing to do with tracing is an error of msjax if the code works in PyNative mode.

    Attributes:
        why: the reason; None once it has been told.
        error: such an error of msjax; None for others.
        key: of the call's signature.
        keep: a function that files it among the programs, so that later calls of the signature are not traced again. It is called when the
            code has worked in PyNative mode.
    """

    eager = True
    by_identity = False
    key: Hashable = None
    keep: Any = staticmethod(lambda: None)

    def __init__(self, error: BaseException):
        first_line = str(error).strip().split("\n", 1)[0][:300]
        self.why: str | None = str(error) if isinstance(error, NeedsPyNative) else f"{type(error).__name__}: {first_line}"
        self.error = None if _needs_values(error) else error


def _needs_values(error):
    """True if an exception, or one that it came from, says that code can't be traced."""
    while error is not None:
        if isinstance(error, _CANT_BE_TRACED):
            return True
        error = error.__cause__ or error.__context__
    return False


# ---- a call as a node of the tape


class CallNode(Node):
    """The node of one call of a compiled function, with the program of the call and the leaves of its arguments.

    Attributes:
        kept: what the program's tape keeps of the call; None if it has no tape: then the node keeps the values of its inputs.
    """

    __slots__ = ("_name", "compiled", "program", "leaves", "values", "kept")

    def __init__(self, base: Any, edges: list[Edge | None], compiled: Compiled, program: Program, leaves: Sequence[Any]):
        # Node.__init__, written out: the call of a compiled network is to cost little.
        self.seq: int = next(SEQUENCE)
        self.base = base
        self.edges: Any = edges
        self.nout = 0
        self.hooks = self.also_run = None
        self.kept: Any = None
        self.values: Any = None
        self._name = compiled.name
        self.compiled: Any = compiled
        self.program: Any = program
        self.leaves: Any = leaves
        if program.tape is None:
            # The values now: arguments may be written to before the backward pass.
            self.values = [*map(VALUE, program.variables)], [*map(raw, leaves)]

    @property
    def name(self) -> str:
        return self._name

    def place(self, tensors: Sequence[Tensor]) -> None:
        """Make Tensors the next outputs of the node, where the program has a gradient for them."""
        tape = self.program.tape
        for tensor in tensors:
            carries, tensor._stopped = (True, False) if tape is None else tape.carries[self.nout]
            if carries:
                tensor._node, tensor._oidx = self, self.nout
            self.nout += 1

    def pull(self, cts: list[JaxArray | None], need: Need) -> Grads:
        compiled, program = self.compiled, self.program
        if program.tape is None:
            program, self.kept = self._run_forward()
        given = tuple([ct is not None for ct in cts])
        values = [*self.kept, *(ct for ct in cts if ct is not None)]
        body = Body(lambda _, args, _kwargs: _go_back(program, args, given), None, f"gradient of {compiled.name}", again=True)
        back = compiled.derived(program, given, body, values, None, objects_among(self.leaves))
        in_pynative_mode = partial(_go_back, program, values, given)
        if back.eager:
            result = in_pynative_mode()
            compiled.tell(back)
        else:
            try:
                result = back.finish(back.outputs([*map(VALUE, back.variables), *values]))
            except RunRejected as rejected:
                result = rejected.again(in_pynative_mode)
        grads = [None if grad is None else grad._value for grad in result]
        if program is self.program:
            return grads
        # The other program may have other variables.
        by_variable = dict(zip(map(id, program.variables), grads))
        return [*(by_variable.get(id(v)) for v in self.program.variables), *grads[len(program.variables) :]]

    def _run_forward(self):
        """(the program of the call with its tape, what that keeps)."""
        earlier, (variables, given) = self.program, self.values
        leaves = [wrap(value) if is_argument(leaf) else leaf for leaf, value in zip(self.leaves, given)]
        program = self.compiled.with_tape(earlier, self.edges, leaves)
        held = dict(zip(map(id, earlier.variables), variables))
        return program, program.kept_of([held.get(id(v), v._value) for v in program.variables], leaves)

    def pull_recorded(self, cts: list[Any], need: Need) -> Any:
        raise NotImplementedError(
            f"A second derivative of {self.name}, which is compiled, is not offered here; compile the whole of it, "
            "gradient functions included, or run it in PyNative mode."
        )

    def release(self) -> None:
        self.edges = self.compiled = self.program = self.leaves = self.values = self.kept = None


def _go_back(program, values, given):
    """Run a program's tape backward; None where no gradient arrives, and for inputs whose gradient isn't wanted."""
    n = len(program.kept)
    tape, rest = program.tape, iter(values[n:])
    with LOCK, Held(program.variables):  # a node may keep a variable
        tape.put_back(values[:n])
        try:
            found = iter(tape.run_backward([next(rest) if there else None for there in given]))
        finally:
            tape.forget_values()
    return tuple([next(found) if wanted else None for wanted in program.wanted])


# ---- where compiled functions stand

# {owner: {purpose: Compiled}} of owners that have no attributes, such as methods of plain objects; under None, a weak reference to the owner.
_OTHERS: weakref.WeakKeyDictionary[Any, dict[Hashable, Any]] = weakref.WeakKeyDictionary()


def compiled_for(owner: object, purpose: Hashable, make: Callable[[Any], Compiled]) -> Compiled:
    """The Compiled of an owner for a purpose, made when it is first asked for.

    Args:
        purpose: what of it is compiled: its call, or a certain gradient.
        make: makes it from a weak reference to the owner.
    """
    by_purpose: Any = getattr(owner, "compiled_families", None)
    # `functools.wraps` copies attributes, and methods have those of their functions.
    if by_purpose is None or by_purpose[None]() is not owner:
        try:
            by_purpose = {None: weakref.ref(owner)}
        except TypeError:  # compiled anew at each call
            return make(lambda: owner)
        try:
            # Hooks may hold the cell: kept on the cell itself, all of it is found by the garbage collector.
            object.__setattr__(owner, "compiled_families", by_purpose)
        except (AttributeError, TypeError):
            by_purpose = _OTHERS.setdefault(owner, by_purpose)
    found = by_purpose.get(purpose)
    if found is None:
        found = by_purpose[purpose] = make(weakref.ref(owner))
    return found
