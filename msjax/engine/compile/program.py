"""Program: one XLA executable, with the Tensors that it reads and writes outside, and what happens after each run.

`signature` says what of a call's arguments a program is compiled for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from sys import getrefcount
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.buffer import Buffer
from msjax.common.parameter import Parameter
from msjax.common.random import GeneratorState, beside
from msjax.common.run_state import LOCK
from msjax.common.tensor import Tensor, is_leaf, root_of, wrap
from msjax.core.base.typing import JaxArray
from msjax.core.door import AfterRun
from msjax.engine.autograd.inplace import rebind
from msjax.engine.compile.guards import STATIC, static_key
from msjax.engine.compile.trace import RunRejected
from msjax.engine.programs.collector import full_collections_wait
from msjax.engine.programs.jax_cache import JAX_CACHE
from msjax.engine.programs.progress import PROGRESS


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
    return (treedef, *map(_leaf_key, leaves)), leaves, treedef


def _leaf_key(leaf):
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


def raw(leaf: Any) -> Any:
    """The array of a leaf."""
    return leaf._value if isinstance(leaf, Tensor) else leaf


class SignatureChanged(Exception):
    """A program was called with variables of other shapes or dtypes, or under other settings of jax, than it was made for."""


class Layout:
    """Where the values that a program computes are among its outputs; known when the program has been traced.

    Attributes:
        order: for each value, its number among the outputs. The same value is one output.
        sources: the numbers of the inputs that stand at the end of the outputs: what goes out just as it came in need not pass through
            the program.
    """

    def __init__(self):
        self.order: list[int] = []
        self.sources: list[int] = []

    def leaving(self, inputs: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        """The values that pass through the program, while it is traced."""
        came, leaving, sources = {id(v): i for i, v in enumerate(inputs)}, {}, {}
        for value in outs:
            if id(value) in came:
                sources.setdefault(came[id(value)], len(sources))
            else:
                leaving.setdefault(id(value), (len(leaving), value))
        self.order = [len(leaving) + sources[came[id(value)]] if id(value) in came else leaving[id(value)][0] for value in outs]
        self.sources = list(sources)
        return [value for _, value in leaving.values()]


@dataclass(eq=False)
class Program:
    """One executable.

    Attributes:
        variables: the Tensors whose values it takes, before its arguments.
        writes: (Tensor, number of the output) pairs.
        written_arguments: (number of the leaf, number of the output) of arguments that it writes in place.
        attributes: (cell, name, Tensor, number of the output) of Tensors that it makes attributes of cells.
        after: makes the `AfterRun`: what happens after each run; it returns the result. Called after the first run.
        arguments: how the leaves of its arguments fit together; None for plain Tensors.
        inputs: the numbers of the leaves that it takes; None for plain Tensors.
        aliases: which leaves it took for one object; see `aliases`.
        donated: the numbers of the variables whose memory it may write the new values into.
        finish: what happens after each run, as a function of the outputs that returns the result; None before the first run.
        observes: whether it calls observers.
        layout: where its values are among its outputs. `writes`, `written_arguments` and `attributes` have the numbers of values
            until the first run, then those of outputs.
        stops_gradients: True if some of its results may carry no gradient, because of `ops.stop_gradient`.
        trains: True if it writes Parameters that require a gradient: a step of training.
        may_be_rejected: True if an event may raise `RunRejected`: what was written gets its earlier value then.
        draws: the states of its random operators; see `Trace.draws`.
        first: True before the first run.
        look_after: True if it has to be looked after a run what it has changed: after the first run, and where observers may have
            changed containers that the program was compiled for.
        by_identity: True if it matters which of its arguments are the same object.
        eager: False; True for what stands in the place of a program where none can be made.
    """

    eager = False

    variables: list[Buffer]
    writes: list[Any]
    written_arguments: list[Any]
    attributes: list[Any]
    after: Callable[[], AfterRun] | None
    arguments: Sequence[Any]
    inputs: Sequence[int] | None
    aliases: tuple
    jitted: Callable[..., Any]
    layout: Layout
    donated: tuple[Any, ...]
    stops_gradients: bool
    may_be_rejected: bool
    draws: list[tuple[Any, Any]]
    first: bool = field(default=True, init=False)
    look_after: bool = field(default=True, init=False)

    def __post_init__(self):
        self.by_identity = bool(self.written_arguments or self.aliases)
        self._written = {id(v) for v, _ in self.writes}
        self.finish: Any = None
        self.observes = False
        self.generators = [i for i, v in enumerate(self.variables) if isinstance(v, GeneratorState)]
        self.trains: bool = any(isinstance(v, Parameter) and v.requires_grad for v, _ in self.writes)

    def shares_memory(self, leaves: Sequence[Any]) -> bool:
        """Whether what the program writes is memory of several arguments, or of one and a variable: then it reads what it has not written."""
        roots = [root_of(leaf) for leaf in leaves if isinstance(leaf, Tensor) and "_view" in leaf.__dict__]
        if not roots or not (self._written or self.written_arguments):
            return False
        if any(id(root) in self._written for root in roots):
            return True
        if not self.written_arguments:
            return False
        others = {id(v) for v in self.variables}
        whole = {id(root_of(leaf)): leaf for leaf in leaves if isinstance(leaf, Tensor)}
        distinct = {id(leaf): leaf for leaf in leaves if isinstance(leaf, Tensor)}
        return len(whole) < len(distinct) or not others.isdisjoint(map(id, roots))

    def run(self, leaves: Sequence[Any], place: Callable[..., Any] | None = None) -> Any:
        """Run it on the leaves of its arguments, with the present values of its variables; returns its result.

        Args:
            place: called with the new Tensors of written arguments before these are the arguments'; it puts them on the tape.
        """
        if not self.may_be_rejected:
            outs = self._compute(leaves, place)  # the first run makes `finish`
            return self.finish(outs)
        written = [*[tensor for tensor, _ in self.writes], *[leaves[i] for i, _ in self.written_arguments]]
        before = [(tensor, tensor._value) for tensor in written]
        try:
            outs = self._compute(leaves, place)
            return self.finish(outs)
        except RunRejected as rejected:
            for tensor, value in before:
                tensor._set_value(value)
            return rejected.passed(lambda: self.finish(outs))

    def run_on(self, values: Sequence[JaxArray], leaves: Sequence[Any]) -> Any:
        """Run it on other values of its variables, which stay as they are; nothing is written. It donates nothing.

        Within another program, it becomes part of that."""
        outs = self._outs(list(values), leaves)
        return self.finish(outs)

    def _settle(self):
        """After the first run: what has numbers of values gets those of outputs."""
        order = self.layout.order
        self.writes = [(v, order[i]) for v, i in self.writes]
        self.written_arguments = [(leaf, order[i]) for leaf, i in self.written_arguments]
        self.attributes = [(cell, name, tensor, order[i]) for cell, name, tensor, i in self.attributes]
        after, self.after = self.after(), None  # pyright: ignore[reportOptionalCall]
        self.finish, self.observes = after.call, after.observes

    def _compute(self, leaves, place):
        with LOCK:
            values = [v._value for v in self.variables]
            for i in self.donated:
                # The list, the variable and the call hold it; whoever else does would lose it.
                if getrefcount(values[i]) > 3:
                    values[i] = jnp.copy(values[i])
            outs = self._outs(values, leaves)
            for variable, i in self.writes:
                variable._set_value(outs[i])
        for cell, name, tensor, i in self.attributes:
            tensor._set_value(outs[i])
            owner = cell()
            if owner is not None and owner.__dict__.get(name) is not tensor:
                setattr(owner, name, tensor)
        if self.written_arguments:
            new = [wrap(outs[i]) for _, i in self.written_arguments]
            if place is not None:
                place(new)
            for (i, _), tensor in zip(self.written_arguments, new):
                rebind(leaves[i], tensor)
        return outs

    def _outs(self, values, leaves):
        if self.inputs is None:
            for tensor in leaves:
                values.append(tensor._value)
        else:
            values += [raw(leaves[i]) for i in self.inputs]
        if self.generators:
            others = [v for i, v in enumerate(values) if i not in self.generators]
            for i in self.generators:
                values[i] = beside(values[i], others)
        if self.finish is None:
            name = getattr(self.jitted, "__name__", "program")
            with PROGRESS.of(name), JAX_CACHE.telling(name), full_collections_wait():
                outs = self.jitted(*values)
            self._settle()
        else:
            outs = self.jitted(*values)
        # Outputs that are inputs are not handed through the program.
        return [*outs, *[values[i] for i in self.layout.sources]] if self.layout.sources else outs
