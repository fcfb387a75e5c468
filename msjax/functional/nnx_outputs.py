"""The outputs of the modules of a flax nnx model as places, by their paths."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from msjax.functional.module_paths import subclass
from msjax.hooks.places import site

# The attribute of a named module. nnx takes it for a part of the module's definition, so that it goes through split and merge.
_PATH = "msjax_path"


def module_and_method(fn: Callable[..., Any] | nnx.Module) -> tuple[nnx.Module, str] | None:
    """(module, name of the method) if `fn` is an nnx module or a method of one, else None."""
    if isinstance(fn, nnx.Module):
        return fn, "__call__"
    owner = getattr(fn, "__self__", None)
    return (owner, fn.__name__) if isinstance(owner, nnx.Module) else None


def paths(module: nnx.Module) -> list[str]:
    """The paths of a model's modules that can be called; "" is the model itself."""
    return [path for path, _ in _callable_modules(module)]


def pure_call(module: nnx.Module, method: str, named: Callable[[str], bool]) -> tuple[Callable[..., Any], nnx.State]:
    """A module's method as a pure function, on copies of its modules, of which some name their outputs.

    Args:
        module: the nnx module; it is left as it is.
        method: the name of the method.
        named: says of a path whether that module's output is a place.

    Returns:
        (a function ``call(state, args, kwargs)`` that returns (out, the part of the state that has changed), the state).
    """
    graphdef, state = nnx.split(module)

    def call(state, args, kwargs):
        # Read now: the copy's variables may be the state's own.
        before = _arrays(state)
        copy = nnx.merge(graphdef, state)
        for path, inner in list(_callable_modules(copy)):
            if named(path):
                object.__setattr__(inner, "__class__", _naming_class(type(inner)))
                setattr(inner, _PATH, path)
        out = getattr(copy, method)(*args, **kwargs)
        if method != "__call__" and named(""):
            out = site("", out)
        return out, _changed(before, nnx.state(copy))

    return call, state


def _arrays(state):
    return {path: jax.tree.leaves(value) for path, value in nnx.to_flat_state(state)}


def _changed(before, after):
    # What has not changed is not written back: nnx forbids it where the module belongs to another trace.
    arrays = _arrays(after)
    same = {path for path in before if all(a is b for a, b in zip(before[path], arrays.get(path, ())))}
    return nnx.from_flat_state([(path, value) for path, value in nnx.to_flat_state(after) if path not in same])


def _callable_modules(module):
    for path, inner in nnx.iter_modules(module):
        if callable(inner):
            yield ".".join(map(str, path)), inner


_CLASSES = weakref.WeakKeyDictionary()


def _naming_class(cls):
    """The class of a module whose output is a place: a subclass, since Python looks __call__ up in the class."""
    if cls not in _CLASSES:

        @functools.wraps(cls.__call__)
        def call(self, *args, **kwargs):
            return site(getattr(self, _PATH), cls.__call__(self, *args, **kwargs))

        _CLASSES[cls] = subclass(cls, {"__call__": call})
    return _CLASSES[cls]
