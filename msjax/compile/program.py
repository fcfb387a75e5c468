"""Programs: Python functions of Tensors as XLA executables, with the Tensors that they read and write outside."""

from __future__ import annotations

import gc
import itertools
import warnings
import weakref
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from msjax.autograd.imperative import BackwardError
from msjax.common.arrays import is_tracer
from msjax.common.dtype import Type
from msjax.common.parameter import Parameter
from msjax.common.random import default_generator
from msjax.common.tensor import Tensor, is_leaf, wrap
from msjax.compile.epilogue import write
from msjax.compile.guards import Guards
from msjax.compile.trace import NeedsPyNative, Trace
from msjax.hooks import worker
from msjax.hooks.delivery import HookNeedsValue
from msjax.state import LOCK, VERSION

if TYPE_CHECKING:
    from msjax.common.buffer import Buffer


# So many programs are kept for one function: the latest used.
KEPT = 64

_STATIC = (type(None), bool, int, float, complex, str, bytes, Type, np.dtype, slice, type(Ellipsis))


class Compiled:
    """A function or cell as a family of programs, one for each signature.

    Args:
        body: the function that is compiled, called as ``body(subject, args, kwargs)``.
        subject: a function that returns what is compiled: a function or a cell. It may be a weak reference.
        name: as messages show it.
        roots: further objects in which Tensors and settings are looked for.
        fullgraph: True raises where it can't be compiled; False runs it in PyNative mode then.
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
        self.roots = tuple(roots)
        self._environments = {}
        self.ways_back = {}
        self._now = None
        self._version = -1
        self.compilations = 0

    def __call__(self, args: Any, kwargs: Any) -> Tensor:
        """Run the program for these arguments; it is compiled if it is not there yet."""
        program, leaves = self.find(args, kwargs)
        return self.run(program, leaves, args, kwargs)

    def run(self, program: Program, leaves: tuple[Tensor, ...], args: tuple[Tensor, ...], kwargs: dict[str, Any]) -> Tensor:
        """Run a program that `find` found."""
        if program.eager:
            return self.run_eagerly(program, args, kwargs)
        try:
            return program.run(leaves)
        except SignatureChanged:
            self.forget(program)
            return self(args, kwargs)

    def find(self, args: tuple[Tensor, ...], kwargs: dict[str, Any]) -> Any:
        """(program, leaves of the arguments) of a call."""
        environment = self._environment(args, kwargs)
        key, leaves, treedef = _signature(args, kwargs)
        program = environment.programs.get(key)  # pyright: ignore[reportOptionalMemberAccess]
        if program is None:
            program = self._make(environment, key, leaves, treedef)
        return program, leaves

    def run_eagerly(self, program: Any, args: Any, kwargs: Any) -> Any:
        """Run what can't be compiled in PyNative mode; where it works, say why it is not compiled, once."""
        result = self.body(self.subject(), args, kwargs)
        if program.why:
            program.keep()
            warnings.warn(f"{self.name} can't be compiled, and runs in PyNative mode: {program.why}", stacklevel=4)
            program.why = None
        return result

    def forget(self, program: Any) -> None:
        """Drop a program: a variable has another shape or dtype than when it was made."""
        programs = self._now.programs  # pyright: ignore[reportOptionalMemberAccess]
        for key in [key for key, kept in programs.items() if kept is program]:
            del programs[key]

    def _environment(self, args, kwargs):
        now = self._now
        if self._version == VERSION.n and now.guards.hold() and not now.with_args:  # pyright: ignore[reportOptionalMemberAccess]
            return now
        version = VERSION.n
        extra = [v for v in (*args, *kwargs.values()) if not isinstance(v, (Tensor, *_STATIC))]
        guards = Guards([self.subject(), *self.roots, *extra])
        found = self._environments.pop(guards.key, None)
        if found is None:
            found = _Environment(guards, bool(extra))
        keep(self._environments, guards.key, found)
        self._now, self._version = found, version
        return found

    def _make(self, environment, key, leaves, treedef):
        self.compilations += 1
        try:
            program = _build(self.body, self.subject(), environment, leaves, treedef, self.name)
        except (HookNeedsValue, BackwardError):
            raise
        except NeedsPyNative as error:
            if self.fullgraph:
                raise RuntimeError(f"{self.name} can't be compiled: {error.why}") from error
            return self._without(environment, key, error)
        except Exception as error:
            if self.fullgraph:
                raise
            # In PyNative mode it either raises where it should, having printed and called what comes before, or it works.
            return self._without(environment, key, error)
        keep(environment.programs, key, program)
        return program

    def _without(self, environment, key, error):
        # What could not be traced may work without: kept from then on, and only then.
        eager = Fallback(getattr(error, "why", None) or f"{type(error).__name__}: {_first_line(error)}")
        eager.keep = lambda: environment.programs.__setitem__(key, eager)
        return eager


def keep(cache: dict[str, Any], key: Any, value: Program) -> None:
    """Put something into a cache of limited size, in the place of what was put there first."""
    while len(cache) >= KEPT:
        del cache[next(iter(cache))]
    cache[key] = value


class Fallback:
    """Stands for a program that can't be made.

    Attributes:
        why: the reason, as long as it has not been told.
        keep: a function that lets it stand there from now on.
    """

    eager = True
    keep = None

    def __init__(self, why: Any):
        self.why = why


class _Environment:
    """A survey and the programs that were made for it."""

    def __init__(self, guards: Any, with_args: Any):
        self.guards = guards
        self.with_args = with_args
        self.variables = [default_generator.state, *(v for v in guards.variables if v is not default_generator.state)]
        self.programs = {}


class SignatureChanged(Exception):
    """A program was called with variables of other shapes or dtypes than it was made for."""


def _first_line(error):
    return str(error).strip().split("\n", 1)[0][:300]


def _signature(args, kwargs):
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
        return leaf._value.shape, leaf._value.dtype, tuple(hooks.hooks) if hooks else ()
    if isinstance(leaf, (jax.Array, np.ndarray)):
        return "array", leaf.shape, leaf.dtype
    if isinstance(leaf, _STATIC):
        return type(leaf), str(leaf) if isinstance(leaf, slice) else leaf
    return "object", id(leaf)


def is_argument(leaf: Tensor) -> bool:
    """True for a Tensor that goes in with the arguments; a Parameter is a variable."""
    return isinstance(leaf, Tensor) and not isinstance(leaf, Parameter)


def _is_input(leaf) -> bool:
    return is_argument(leaf) or isinstance(leaf, (jax.Array, np.ndarray))


def _raw(leaf):
    return leaf._value if isinstance(leaf, Tensor) else leaf


class Program:
    """One executable.

    Attributes:
        variables: the Tensors whose values it takes, before its arguments.
        writes: (Tensor, number of the output) pairs.
        attributes: (cell, name, Tensor, number of the output) of Tensors that it makes attributes of cells.
        finish: a function of the list of outputs: what happens after each run; it returns the result.
        arguments: how the leaves of its arguments fit together; None for plain Tensors.
        inputs: the numbers of the leaves that it takes; None for plain Tensors.
        donated: the numbers of the variables whose memory it may write the new values into.
        sources: the numbers of inputs that stand at the end of its outputs.
        callbacks: True if it calls hooks while it runs, which have to be waited for.
        trains: True if it writes Parameters that require a gradient: a step of training.
    """

    eager = False

    def __init__(
        self,
        variables: list[Buffer],
        writes: list[Any],
        attributes: list[Any],
        finish: Callable[..., Any],
        arguments: Any,
        inputs: Any,
        jitted: Any,
        donated: tuple[Any, ...],
        sources: list[Any],
        callbacks: bool,
    ):
        self.variables = variables
        self.writes = writes
        self.attributes = attributes
        self.finish = finish
        self.arguments = arguments
        self.inputs = inputs
        self.jitted = jitted
        self.donated = donated
        self.sources = sources
        self.callbacks = callbacks
        self.trains: bool = any(isinstance(v, Parameter) and v.requires_grad for v, _ in writes)

    def run(self, leaves: tuple[Tensor, ...]) -> Tensor:
        """Run it on the leaves of its arguments, with the present values of its variables; returns its result."""
        with LOCK:
            values = [v._value for v in self.variables]
            for i in self.donated:
                # The list, the variable and the call hold it; whoever else does would lose it.
                if getrefcount(values[i]) > 3:
                    values[i] = jnp.copy(values[i])
            outs = self._outs(values, leaves)
            for variable, i in self.writes:
                variable._value = outs[i]
        for cell, name, tensor, i in self.attributes:
            tensor._value = outs[i]
            owner = cell()
            if owner is not None and owner.__dict__.get(name) is not tensor:
                setattr(owner, name, tensor)
        if self.callbacks:
            _wait_for_callbacks(outs)
        return self.finish(outs)

    def run_on(self, values: Any, leaves: Any) -> Any:
        """Run it on other values of its variables, which stay as they are; nothing is written."""
        values = [jnp.copy(v) if i in self.donated else v for i, v in enumerate(values)]
        outs = self._outs(values, leaves)
        if self.callbacks:
            _wait_for_callbacks(outs)
        return self.finish(outs)

    def _outs(self, values, leaves):
        if self.inputs is None:
            for tensor in leaves:
                values.append(tensor._value)
        else:
            values += [_raw(leaves[i]) for i in self.inputs]
        outs = self.jitted(*values)
        # Outputs that are inputs are not handed through the program.
        return [*outs, *[values[i] for i in self.sources]] if self.sources else outs


def _wait_for_callbacks(outs):
    jax.block_until_ready(outs)
    worker.flush()


def _build(body, subject, environment, leaves, treedef, name):
    """Trace and compile; variables that turn out to be missing join the environment, and the trace is made again."""
    inputs = [i for i, leaf in enumerate(leaves) if _is_input(leaf)]
    passed = {id(leaf): leaf for leaf in leaves if isinstance(leaf, Parameter)}
    for _ in range(8):
        known = {id(v) for v in environment.variables}
        environment.variables += [v for k, v in passed.items() if k not in known]
        attempt = _Attempt(body, subject, environment.variables, leaves, treedef, inputs, name)
        missing = attempt.trace_it()
        if not missing:
            return attempt.program()
        environment.variables += missing
    raise NeedsPyNative("it uses new Tensors from outside at every run")


class _Attempt:
    """One try to trace a body with a set of variables."""

    def __init__(self, body: Any, subject: Any, variables: Any, leaves: Any, treedef: Any, inputs: Any, name: Any):
        self.body = body
        self.subject = subject
        self.variables = list(variables)
        self.leaves = leaves
        self.treedef = treedef
        self.inputs = inputs
        self.name = name
        self.trace = Trace(self.variables)

    def trace_it(self):
        """Run the body on values that are not known yet; returns the variables that were missing."""
        # Another thread that traces has put values of its own into the variables that both use.
        with LOCK:
            before = [v._value for v in self.variables]
            places = [{name: v.__dict__[name] for name in ("_node", "_oidx") if name in v.__dict__} for v in self.variables]
            values = [*before, *[_raw(self.leaves[i]) for i in self.inputs]]  # pyright: ignore[reportOptionalSubscript]
            try:
                self.jaxpr = jax.make_jaxpr(self._pure)(*values)
            except Exception:
                # What failed may have done so for what was missing.
                if not self.trace.missing:
                    raise
            finally:
                for variable, value, place in zip(self.variables, before, places):
                    variable._value = value
                    for name in ("_node", "_oidx"):
                        variable.__dict__.pop(name, None)
                    variable.__dict__.update(place)
                for tensor, value in self.trace.missing.values():
                    tensor._value = value
                # jax's caches may keep the function for longer than it is of use; they shall not keep the network.
                self.subject = self.leaves = None
                self.trace.cells = {}
        missing = [tensor for tensor, _ in self.trace.missing.values()]
        if not missing:
            self._check_escaped()
        return missing

    def _pure(self, *values):
        n = len(self.variables)
        trace = self.trace
        self.jax_trace = getattr(values[0], "_trace", None)
        with trace:
            for variable, value in zip(self.variables, values):
                variable._value = value
            if isinstance(self.subject, nnx.Module):
                trace.see_cell(self.subject)
            leaves = list(self.leaves)
            for i, value in zip(self.inputs, values[n:]):
                leaves[i] = self._stand_in(leaves[i], value)
            args, kwargs = (tuple(leaves), {}) if self.treedef is None else jax.tree.unflatten(self.treedef, leaves)
            out = self.body(self.subject, args, kwargs)
            trace.flush_text()
            self.result = trace.keep(out)
            self.writes = [
                (variable, trace.output(variable._value))
                for variable, value in zip(self.variables, values)
                if variable._value is not value
            ]
            self.attributes = self._attributes()
        # What goes out just as it came in need not pass through the program.
        came = {id(value): i for i, value in enumerate(values)}
        self.order, self.sources, outs = {}, [], []
        for i, value in enumerate(trace.outputs):
            if id(value) not in came:
                self.order[i] = len(outs)
                outs.append(value)
        for i, value in enumerate(trace.outputs):
            if id(value) in came:
                self.order[i] = len(outs) + len(self.sources)
                self.sources.append(came[id(value)])
        for kept in trace.given:
            kept.value = self.order[kept.value]
        return outs

    def _stand_in(self, leaf, value):
        if not isinstance(leaf, Tensor):
            return value
        tensor = wrap(value)
        if leaf._hooks is not None:
            tensor._hooks = leaf._hooks
        return tensor

    def _attributes(self):
        """Tensors that the body made attributes of cells: (cell, name, Tensor to be written to, output).

        One that stood there before is written to instead, so that the next run finds it.
        """
        known = {id(v) for v in self.variables}
        found = []
        for cell, before in self.trace.cells.values():
            for name, value in list(vars(cell).items()):
                if not isinstance(value, Tensor) or id(value) in known or not is_tracer(value._value):
                    continue
                output = self.trace.output(value._value)
                if id(before.get(name)) in known:
                    self.writes.append((before[name], output))
                    object.__setattr__(cell, name, before[name])
                else:
                    found.append((weakref.ref(cell), name, wrap(None), output))
                    object.__delattr__(cell, name)
        return found

    def _check_escaped(self):
        """Tensors that live on hold values that are none: whoever kept them would find them useless."""
        if not _tensors_of(self.jax_trace):
            return
        gc.collect()
        left = _tensors_of(self.jax_trace)
        if not left:
            return
        for ref, hook in self.trace.forward_args:
            if ref() is not None:
                raise HookNeedsValue(_KEPT.format(hook=hook))
        raise NeedsPyNative(
            f"a Tensor of shape {left[0].shape} that was computed in it is kept after the call, where there is no value for it"
        )

    def program(self):
        order = self.order
        written = {id(variable) for variable, _ in self.writes}
        donated = tuple(i for i, v in enumerate(self.variables) if id(v) in written and i not in self.sources)
        avals = [(a.shape, a.dtype) for a in self.jaxpr.in_avals]
        run = jax.extend.core.jaxpr_as_fun(self.jaxpr)

        def program(*values):
            if [(v.shape, v.dtype) for v in values] != avals:
                raise SignatureChanged
            return run(*values)

        program.__name__ = self.name.replace(" ", "_").replace(".", "_") or "program"
        return Program(
            self.variables,
            [(v, order[i]) for v, i in self.writes],
            [(cell, name, tensor, order[i]) for cell, name, tensor, i in self.attributes],
            write(self.trace.events, self.result),
            self.treedef,
            None if self.treedef is None else self.inputs,
            jax.jit(program, donate_argnums=donated),
            donated,
            self.sources,
            self.trace.uses_callbacks,
        )


def _tensors_of(jax_trace):
    # All in one call, without a step of Python in which another thread could go on: the list of all objects holds tuples that
    # the other thread is still making, and Python refuses to finish a tuple that somebody else holds.
    tensors = list(filter(Tensor.__instancecheck__, itertools.chain.from_iterable(map(gc.get_objects, (None,)))))
    return [t for t in tensors if getattr(getattr(t, "_value", None), "_trace", None) is jax_trace]


_KEPT = """{hook} returns a value, and so is part of the compiled program; but it also keeps a Tensor, whose
value is known only when the program has run. Split it into two hooks:
  1. one that returns the new value, and keeps nothing;
  2. one that keeps or prints, and returns None: it is called after each run, with concrete values.
Or run the network in PyNative mode."""
