"""A user's function as one operator, with the Tensors that it uses besides its arguments as further operands."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from msjax.common.bases import is_cell
from msjax.common.run_state import STATE, Scope
from msjax.common.tensor import Tensor, is_tensor, root_of, wrap
from msjax.core.base.errors import callable_name
from msjax.core.base.flax_slots import RAW_VALUE
from msjax.core.base.held_state import cell_contents, values_named
from msjax.core.base.libraries import of_library
from msjax.core.base.typing import JaxArray
from msjax.core.base.weak import identity
from msjax.engine.autograd.memory import Held
from msjax.engine.autograd.op import Op, apply

_DEPTH = 6  # steps from a function to the objects and containers that are looked into


def captured(fn: Callable[..., Any], variables: list[Any] | None = None) -> list[Tensor]:
    """The Tensors that a function uses besides its arguments: through closures, globals, cells and the user's own objects. The variables of
    nnx modules there join `variables`."""
    found: dict[int, Any] = {}
    _visit(fn, 0, found, set())
    if variables is not None:
        variables += [value for value in found.values() if not isinstance(value, Tensor)]
    return [value for value in found.values() if isinstance(value, Tensor)]


def _visit_all(values, depth, found, seen):
    for value in [*values]:
        _visit(value, depth, found, seen)


def _visit(value, depth, found, seen):
    if id(value) in seen or depth > _DEPTH:
        return
    if isinstance(value, functools.partial):
        _visit(value.func, depth, found, seen)
        _visit_all([*value.args, *value.keywords.values()], depth + 1, found, seen)
        return
    if hasattr(value, "__func__"):  # a method, made anew each time that it is asked for, or one in its class
        _visit(getattr(value, "__self__", None), depth + 1, found, seen)
        _visit(value.__func__, depth, found, seen)
        return
    seen.add(id(value))
    if isinstance(value, Tensor):
        root = root_of(value)
        # A part is read from the whole, unless it has a gradient of its own.
        value = root if root._node is not None or value._node is None else value
        found[id(value)] = value
    elif isinstance(value, (list, tuple, set, frozenset, dict)):
        _visit_all(value.values() if isinstance(value, dict) else value, depth + 1, found, seen)
    elif is_cell(value):
        for _, cell in value.cells_and_names():
            seen.add(id(cell))
            _visit_all([*vars(cell).values(), *_own_classes(cell)], depth, found, seen)
    elif isinstance(value, nnx.Variable):
        found[id(value)] = value
    elif isinstance(value, nnx.Pytree):
        _visit_all([*vars(value).values(), *_own_classes(value)], depth, found, seen)
    elif hasattr(value, "__code__") and hasattr(value, "__globals__"):
        # Of a library's function, such as `ms.grad(f)`, only what it was made for is the user's.
        named = map(cell_contents, value.__closure__ or ()) if of_library(value) else values_named(value)
        _visit_all([*named, *(value.__defaults__ or ())], depth, found, seen)
    elif isinstance(value, types.ModuleType) or of_library(value):
        return
    elif isinstance(value, type):
        _visit_all(vars(value).values(), depth + 1, found, seen)
    elif not of_library(type(value)):
        _visit_all([*getattr(value, "__dict__", {}).values(), *_own_classes(value)], depth + 1, found, seen)


def _own_classes(value):
    return [owner for owner in type(value).__mro__ if not of_library(owner)]


class Reached:
    """Tensors that a function uses besides its arguments, not kept alive, and variables of nnx modules: a static value of the operator that
    runs it, equal for the same ones."""

    __slots__ = ("_key", "_tensors", "_variables")

    def __init__(self, tensors: Sequence[Tensor], variables: Sequence[nnx.Variable[Any]] = ()):
        self._key = tuple(map(identity, (*tensors, *variables)))
        self._tensors, self._variables = [weakref.ref(t) for t in tensors], tuple(variables)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reached) and other._key == self._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __len__(self) -> int:
        return len(self._key)

    @contextmanager
    def holding(self, values: Sequence[JaxArray]) -> Iterator[Callable[[], dict[int, JaxArray]]]:
        """Tensors and variables have other values, and nothing is recorded of what is recorded outside: jax differentiates what runs here.

        Gives a function that returns {number of a Tensor: its value} of those that were written to meanwhile.
        """
        tensors = [t for ref in self._tensors if (t := ref()) is not None]
        variables = self._variables
        before = [RAW_VALUE.__get__(v) for v in variables]
        scope = Scope(None, None, STATE.scope.root if STATE.recording else None)
        with Held(tensors, values), STATE.swap(scope=scope):
            for tensor in tensors:
                tensor._node = None
            held = [t._value for t in tensors]
            try:
                for variable, value in zip(variables, values[len(tensors) :]):
                    RAW_VALUE.__set__(variable, value)
                yield lambda: {i: t._value for i, (t, value) in enumerate(zip(tensors, held)) if t._value is not value}
            finally:
                scope.open = False
                for variable, value in zip(variables, before):
                    RAW_VALUE.__set__(variable, value)


class Lifted:
    """A call of a user's function, ready for a jax transformation.

    Attributes:
        tensors: the Tensors among the arguments.
        values: their jax arrays, and those of the Tensors that the function uses besides them.
        tree: the tree structure of the results, once `run` was called.
    """

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any]):
        self.fn = fn
        self.leaves, self.structure = jax.tree.flatten(tuple(args), is_leaf=is_tensor)
        self.places: list[int] = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor)]
        self.tensors = [self.leaves[i] for i in self.places]
        own = {id(t) for t in self.tensors}
        self.reached: list[Tensor] = [t for t in captured(fn) if id(t) not in own and t._node is not None]
        self.tree = None

    def run(self, *values: Any) -> tuple[JaxArray | Any, ...]:
        """The results' jax arrays, from the arrays of `tensors` and of what the function reaches."""
        leaves = list(self.leaves)
        for place, value in zip(self.places, values):
            leaves[place] = wrap(value)
        with Reached(self.reached).holding(values[len(self.places) :]):
            out = self.fn(*jax.tree.unflatten(self.structure, leaves))
        found, self.tree = jax.tree.flatten(out, is_leaf=is_tensor)
        return tuple(leaf._value if isinstance(leaf, Tensor) else jnp.asarray(leaf) for leaf in found)

    def apply(self, name: str, kernel: Callable[..., Any]) -> list[Tensor] | list[Any | Tensor]:
        """The results of `kernel`, a function of all values, as a flat list of Tensors."""
        # Not compiled, since the operator is made for this call only.
        op = Op(f"{name} of {callable_name(self.fn)}", kernel, int_grad=True, jit=lambda function: function)
        out = apply(op, [*self.tensors, *self.reached])
        return list(out) if isinstance(out, tuple) else [out]
