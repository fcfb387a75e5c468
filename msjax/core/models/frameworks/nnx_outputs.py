"""Calls of a copy of a flax nnx model: the outputs of its modules as places, by their paths; and what a call writes to the model and its arguments."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from msjax.core.base.errors import called
from msjax.core.base.flax_slots import DATA, HIDDEN_PATH, is_module_state, plain_attributes
from msjax.core.base.split import opened
from msjax.core.hooks.places import module_call, site
from msjax.core.models.array_hooks import subclasses
from msjax.core.models.frameworks.nnx_modules import nnx_modules
from msjax.core.models.where import call_name, named_methods


def captured(
    method: str, state: tuple[Any, Any], options: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any, Any]:
    """Capture a call of a module's method, on copies of its modules, of which some name their outputs.

    Args:
        method: its name.
        state: (the graphdef of the module, its state).
        options: a `msjax.core.models.capture.CaptureOptions`.

    Returns:
        (the result, Captured, what has changed, see `Changes`).
    """
    # Those that end in the name of a method make that method's results places.
    texts = [text for pattern in options.patterns for text in pattern.patterns] + [path for path, _ in options.parts]
    graphdef, state = state
    names: list[str] = []

    def call(state, args, kwargs):
        # The state's own variables would be those of another trace, where somebody differentiates or maps over the call.
        copy = nnx.merge(graphdef, state, copy=True)
        changes = Changes(copy, state)
        callables = [(path, inner) for path, inner in nnx_modules(copy) if callable(inner)]
        names[:] = [path for path, _ in callables]
        methods = [(path, inner, "__call__") for path, inner in callables if options.looks_at(path)]
        places = {}
        for path, inner, name in [*methods, *named_methods(lambda: nnx_modules(copy), texts)]:
            places.setdefault(path, (inner, []))[1].append(name)
        for path, (inner, own) in places.items():
            object.__setattr__(inner, "__class__", _naming_class(type(inner), tuple(own)))
            setattr(inner, HIDDEN_PATH, path)
        out = getattr(copy, method)(*args, **kwargs)
        if method != "__call__" and options.looks_at(""):
            out = site("", out)
        return out, changes.found()

    result, found = options.of_pure_call(names, call)(state, args, kwargs)
    return (None, found, None) if result is None else (result[0], found, result[1])


class Changes:
    """What a call changes in an nnx module, as a value that a program can return; made before the call, of its state if that is known."""

    def __init__(self, module: Any, state: Any = None):
        self._module = module
        self._arrays = _arrays_of(nnx.state(module) if state is None else state)
        self._attributes = _attributes_of(module)

    def found(self) -> tuple[Any, dict[Any, dict[str, Any]]]:
        """(the part of the state that has changed, {path: {name: value}} of the attributes that have; see `_changed_attributes`)."""
        state = nnx.state(self._module)
        arrays = _arrays_of(state)
        # What has not changed is not written back: nnx forbids it where the module belongs to another trace.
        same = {path for path, old in self._arrays.items() if path in arrays and _is_same(old, arrays[path])}
        changed = nnx.from_flat_state([(path, value) for path, value in nnx.to_flat_state(state) if path not in same])
        return changed, _changed_attributes(self._attributes, self._module)


def write_changes(module: Any, found: tuple[Any, dict[Any, dict[str, Any]]]) -> None:
    """Write to the user's module what a call has changed in a copy."""
    state, attributes = found
    inner = dict(nnx.iter_graph(module)) if attributes else {}
    values = dict(nnx.to_flat_state(state))
    for path, own in attributes.items():
        for name, value in own.items():
            if value is _GONE:
                delattr(inner[path], name)
            else:
                setattr(
                    inner[path], name, _made(inner[path], path, name, value, values) if isinstance(value, nnx.GraphDef) else value
                )
    nnx.update(module, nnx.from_flat_state(values.items()))


def _made(module, path, name, definition, values):
    """The new data of a module that a GraphDef describes; what it holds is taken out of {path: value}."""
    key = (*path, int(name) if isinstance(module, nnx.List) else name)
    held = [(each[len(key) :], values.pop(each)) for each in list(values) if each[: len(key)] == key]
    if len(held) < definition.num_leaves:
        raise ValueError(
            f"For '{called('capture')}', the call gives {type(module).__name__} an attribute '{name}' that shares a variable "
            "with another of the model: call the model once, so that it has it, before values of its calls are captured."
        )
    is_leaf = len(held) == 1 and held[0][0] == ()
    return nnx.data(nnx.merge(definition, held[0][1] if is_leaf else nnx.from_flat_state(held)))


def write_all(module: Any, copy: Any) -> None:
    """Write to the user's module the state of a copy that a call has changed, and the attributes that have changed."""
    write_changes(module, (nnx.state(copy), _changed_attributes(_attributes_of(module), copy)))


def is_object(value: object) -> bool:
    """Whether a value is one of nnx's objects, which have an identity: a module, a variable, a stream of random keys."""
    return isinstance(value, (nnx.Pytree, nnx.Variable))


def _is_variable(value):
    return isinstance(value, nnx.Variable)


def objects_among(tree: Any) -> list[Any]:
    """nnx's objects in a pytree."""
    return [v for v in jax.tree.leaves(tree, is_leaf=is_object) if is_object(v)]


class Objects:
    """The nnx modules, variables and random keys among arguments, a pytree."""

    def __init__(self, given: Any):
        self._objects = nnx.List(objects_among(given))
        self._variables = [v for v in jax.tree.leaves(opened(given, _is_variable), is_leaf=_is_variable) if _is_variable(v)]

    def __bool__(self) -> bool:
        return bool(len(self._objects))

    def noted(self) -> Callable[[], tuple[Any, list[int]]]:
        """Note the state before a call. Returned is a function that, called after it, gives (the changes, the numbers of the changed variables)."""
        changes, before = Changes(self._objects), [jax.tree.leaves(v) for v in self._variables]

        def written():
            values = [jax.tree.leaves(v) for v in self._variables]
            numbers = [i for i, (old, new) in enumerate(zip(before, values)) if not _is_same(old, new)]
            return changes.found(), numbers

        return written

    def write(self, changes: Any, numbers: list[int]) -> None:
        """Write what a call has written to copies of them; ValueError where several arguments share it, of which the call got several copies."""
        times = Counter(map(id, self._variables))
        for i in numbers:
            variable = self._variables[i]
            if times[id(variable)] > 1:
                raise ValueError(
                    f"For '{called('capture')}', the call writes to an nnx {type(variable).__name__} that is there more than once among the "
                    "model and its arguments, of which it gets copies that don't know of each other: give it once."
                )
        write_changes(self._objects, changes)


def _arrays_of(state):
    """{path: arrays} of a state."""
    return {path: jax.tree.leaves(value) for path, value in nnx.to_flat_state(state)}


def _attributes_of(module):
    """{path: {name: value}} of what `_attributes` gives, of both kinds."""
    objects = [(path, inner) for path, inner in nnx.iter_graph(module) if isinstance(inner, nnx.Pytree)]
    return {path: {**plain, **data} for path, inner in objects for plain, data in [_attributes(inner)]}


def _attributes(inner):
    """({name: value} of attributes that are no data, the same of data; `_WRITTEN` of what the state is written to, other data is replaced)."""
    plain = plain_attributes(inner)
    data = {name: value for name, value in vars(inner).items() if name not in plain and not is_module_state(name)}
    return plain, {name: _WRITTEN if isinstance(value, DATA) else value for name, value in data.items()}


_WRITTEN, _GONE = object(), object()


def _changed_attributes(before, module):
    """{path: {name: value}} of the attributes that have changed, of objects that were there: the GraphDef of new data, `_GONE` of one that is gone."""
    changes = {}
    for path, inner in nnx.iter_graph(module):
        if path in before:
            old, (plain, data) = before[path], _attributes(inner)
            new = {name: value for name, value in {**plain, **data}.items() if name not in old or not _is_same(value, old[name])}
            changes[path] = {name: nnx.split(vars(inner)[name])[0] if name in data else value for name, value in new.items()}
            changes[path].update((name, _GONE) for name in old if name not in plain and name not in data)
    return {path: own for path, own in changes.items() if own}


def _is_same(a, b):
    return a is b or (type(a) is type(b) is list and len(a) == len(b) and all(map(operator.is_, a, b)))


@subclasses
def _naming_class(cls, methods):
    """A subclass of a module's class that makes places of its methods' results."""
    return {method: _naming(cls, method) for method in methods}


def _naming(cls, method):
    @functools.wraps(getattr(cls, method))
    def call(self, *args, **kwargs):
        path, own = getattr(self, HIDDEN_PATH), getattr(cls, method)
        return module_call(call_name(path, method), functools.partial(own, self), args, kwargs)

    return call
