"""Program: one XLA executable, with the Tensors that it reads and writes outside, and what happens after each run.

`signature` says what of a call's arguments a program is compiled for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from sys import getrefcount
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax import log
from msjax.common.parameter import Buffer, Parameter
from msjax.common.random import GeneratorState, beside
from msjax.common.run_state import LOCK
from msjax.common.tensor import Tensor, is_leaf, root_of, tensors_in, wrap
from msjax.core.base.typing import JaxArray
from msjax.core.door import AfterRun
from msjax.engine.autograd.inplace import rebind
from msjax.engine.autograd.recording import TracedTape
from msjax.engine.compile.environment import Snapshot
from msjax.engine.compile.guards import STATIC, static_key
from msjax.engine.compile.trace import RunRejected
from msjax.engine.programs.store import JAX_CACHE

# The value of a Tensor; without a call of Python.
VALUE = attrgetter("_value")


def signature(args: tuple, kwargs: dict[str, Any]) -> tuple:
    """(key, leaves, treedef) of a call; treedef is None if all arguments are plain Tensors."""
    if not kwargs:
        key = []
        for arg in args:
            if arg.__class__ is not Tensor or arg._hooks is not None:
                break
            value = arg._value
            key.append((value.shape, value.dtype))
        else:
            return tuple(key), args, None
    leaves, treedef = jax.tree.flatten((args, kwargs), is_leaf=is_leaf)
    return (treedef, *map(leaf_key, leaves)), leaves, treedef


def leaf_key(leaf: Any) -> tuple[Any, ...]:
    """The part of a program's key that one argument contributes: its shape and dtype, or its value if it is static."""
    if isinstance(leaf, Parameter):
        return "variable", id(leaf)
    if isinstance(leaf, Tensor):
        hooks = leaf._hooks
        return leaf._value.shape, leaf._value.dtype, hooks.key if hooks else ()
    if isinstance(leaf, (jax.Array, np.ndarray)):
        return "array", leaf.shape, leaf.dtype
    if isinstance(leaf, STATIC):
        return static_key(leaf)
    return "object", id(leaf)


def aliases(leaves: Sequence[Any], variables: Sequence[Tensor]) -> tuple:
    """Which leaves are an object that stands earlier among the leaves, or among the variables: (leaf, other) pairs of numbers.

    The other's number is negative for a variable: -1 for the first. () if all are objects of their own.
    """
    known = {id(v): -1 - i for i, v in enumerate(variables)}
    found = []
    for i, leaf in enumerate(leaves):
        if is_argument(leaf):
            other = known.setdefault(id(leaf), i)
            if other != i:
                found.append((i, other))
    return tuple(found)


def is_argument(leaf: Any) -> bool:
    """True for a Tensor that goes in with the arguments; a Parameter is a variable."""
    return isinstance(leaf, Tensor) and not isinstance(leaf, Parameter)


def is_input(leaf: Any) -> bool:
    """True for a leaf whose value goes into the program."""
    return is_argument(leaf) or isinstance(leaf, (jax.Array, np.ndarray))


def tensors_among(leaves: Sequence[Any]) -> list[Tensor]:
    """The Tensors among the leaves of a call's arguments."""
    return [leaf for leaf in leaves if is_argument(leaf)]


def results(out: Any) -> list[Tensor]:
    """The Tensors that a call computed."""
    return [out] if out.__class__ is Tensor else list(filter(is_argument, tensors_in(out)))


def raw(leaf: Any) -> Any:
    """The array of a leaf."""
    return leaf._value if isinstance(leaf, Tensor) else leaf


class SignatureChanged(Exception):
    """A program was called with variables of other shapes or dtypes, or under other settings of jax, than it was made for."""


@dataclass(eq=False)
class Program:
    """One executable.

    Attributes:
        variables: the Tensors whose values it takes, before its arguments.
        writes: (Tensor, number of the output) pairs.
        written_arguments: (number of the leaf, number of the output) of arguments that it writes in place.
        attributes: (cell, name, Tensor, number of the output) of Tensors that it makes attributes of cells.
        arguments: how the leaves of its arguments fit together; None for plain Tensors.
        inputs: the numbers of the leaves that it takes; None for plain Tensors.
        aliases: which leaves it took for one object; see `aliases`.
        donated: the numbers of the variables whose memory it may write the new values into.
        finish: what happens after each run, as a function of the outputs that returns the result.
        passed: the numbers of the inputs that stand behind what it computes, as its last outputs: what goes out just as it came in need not
            pass through the executable.
        trains: True if it writes Parameters that require a gradient: a step of training.
        may_be_rejected: True if an event may raise `RunRejected`: what was written gets its earlier value then.
        differentiable_later: whether its code may run once more for its gradient. Otherwise, only the tape says which results carry one, or a second
            run would do something again, as host callbacks do.
        draws: the states of its random operators; see `Trace.draws`.
        before: the state of Python in which its code was traced.
        tape: of the forward pass that it is, where a gradient is recorded around its calls; None for other programs.
        kept: the numbers of the outputs that the nodes of the tape keep.
        wanted: for each variable and each Tensor among the arguments, whether its gradient is recorded.
        derived: {(what for, environment): program} of those that its gradient is computed by.
        of: the program whose gradient this one is made for; None of others.
        first: True before the first run.
        by_identity: True if it matters which of its arguments are the same object.
        eager: False; True for what stands in the place of a program where none can be made.
    """

    eager = False

    variables: list[Buffer]
    writes: list[Any]
    written_arguments: list[Any]
    attributes: list[Any]
    finish: AfterRun
    arguments: Sequence[Any]
    inputs: Sequence[int] | None
    aliases: tuple
    jitted: Callable[..., Any]
    passed: Sequence[int]
    donated: tuple[Any, ...]
    may_be_rejected: bool
    differentiable_later: bool
    draws: list[tuple[Any, Any]]
    before: Snapshot
    tape: TracedTape | None
    kept: list[int]
    wanted: list[bool]
    first: bool = field(default=True, init=False)

    def __post_init__(self):
        self.by_identity = bool(self.written_arguments or self.aliases)
        self._written = {id(v) for v, _ in self.writes}
        self.writes_memory: bool = bool(self.writes or self.written_arguments)
        self._has_run = False
        self.derived: dict[Any, Any] = {}
        self.of: Program | None = None
        self.generators = [i for i, v in enumerate(self.variables) if isinstance(v, GeneratorState)]
        self.trains: bool = any(isinstance(v, Parameter) and v.requires_grad for v, _ in self.writes)

    def undo_trace(self) -> None:
        """Put Python's state back, before the code runs in PyNative mode in the place of the program's first run."""
        if self.first:
            self.before.restore()
            self.first = False

    def shares_memory(self, leaves: Sequence[Any]) -> bool:
        """Whether what the program writes is memory of several arguments, or of one and a variable: then it reads what it has not written."""
        tensors = {id(leaf): leaf for leaf in leaves if isinstance(leaf, Tensor)}
        of_views = {id(root_of(leaf)) for leaf in tensors.values() if "_view" in leaf.__dict__}
        if not of_views.isdisjoint(self._written):
            return True
        if not (of_views and self.written_arguments):
            return False
        whole = {id(root_of(leaf)) for leaf in tensors.values()}
        return len(whole) < len(tensors) or not of_views.isdisjoint(map(id, self.variables))

    def run(self, leaves: Sequence[Any], node: Any = None) -> Any:
        """Run it on the leaves of its arguments, with the present values of its variables; returns its result.

        Args:
            node: the tape's node of the call, if there is one. It gets what the tape keeps, and the new Tensors of written arguments before
                these are the arguments'.
        """
        before = []
        if self.may_be_rejected:
            written = [*[tensor for tensor, _ in self.writes], *[leaves[i] for i, _ in self.written_arguments]]
            before = [(tensor, tensor._value) for tensor in written]
        try:
            outs = self._compute(leaves, node)
            return self.finish(outs)
        except RunRejected as rejected:
            for tensor, value in before:
                tensor._set_value(value)
            return rejected.passed(lambda: self.finish(outs))

    def kept_of(self, values: Sequence[JaxArray], leaves: Sequence[Any]) -> list[JaxArray]:
        """What the nodes of its tape keep, of a run on these values of its variables that writes nothing and has no events."""
        outs = self.outputs([*values, *self._given(leaves)])
        return [outs[i] for i in self.kept]

    def _compute(self, leaves, node):
        with LOCK:
            values = [*map(VALUE, self.variables)]
            for i in self.donated:
                # The list, the variable and the call hold it; whoever else does would lose it.
                if getrefcount(values[i]) > 3:
                    values[i] = jnp.copy(values[i])
            values += self._given(leaves)
            outs = self.outputs(values)
            for variable, i in self.writes:
                variable._set_value(outs[i])
        if node is not None and self.tape is not None:
            node.kept = [outs[i] for i in self.kept]
        for cell, name, tensor, i in self.attributes:
            tensor._set_value(outs[i])
            owner = cell()
            if owner is not None and owner.__dict__.get(name) is not tensor:
                setattr(owner, name, tensor)
        if self.written_arguments:
            new = [wrap(outs[i]) for _, i in self.written_arguments]
            if node is not None:
                node.place(new)
            for (i, _), tensor in zip(self.written_arguments, new):
                rebind(leaves[i], tensor)
        return outs

    def _given(self, leaves):
        return map(VALUE, leaves) if self.inputs is None else [raw(leaves[i]) for i in self.inputs]

    def outputs(self, values: list[Any]) -> list[Any]:
        """The outputs for the values of its variables and arguments; nothing else happens."""
        for i in self.generators:
            if getattr(values[i], "committed", False):
                values[i] = beside(values[i], [v for k, v in enumerate(values) if k not in self.generators])
        if not self._has_run and log.get_level() in ("0", "1"):
            with JAX_CACHE.telling(getattr(self.jitted, "__name__", "program")):
                outs = self.jitted(*values)
        else:
            outs = self.jitted(*values)
        self._has_run = True
        return [*outs, *map(values.__getitem__, self.passed)] if self.passed else outs
