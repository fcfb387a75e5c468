"""Subclasses of the classes of modules: Python looks ``__call__`` up in the class."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax


def subclasses(namespace_of: Callable[[type, tuple[str, ...]], dict[str, Any]]) -> Callable[[type, tuple[str, ...]], type]:
    """A decorator: from what gives the namespace for a class and names of its methods, to what gives the `subclass` with it.

    Each is made once, so that modules of one class stay of one class, and jax finds its programs.
    """
    made: weakref.WeakKeyDictionary[type, dict[tuple[str, ...], type]] = weakref.WeakKeyDictionary()

    @functools.wraps(namespace_of)
    def of(cls, methods):
        classes = made.setdefault(cls, {})
        if methods not in classes:
            classes[methods] = subclass(cls, namespace_of(cls, methods))
        return classes[methods]

    return of


def subclass(cls: type, namespace: dict[str, Any]) -> type:
    """A subclass of a module's class under its name: Python looks ``__call__`` up in the class. It is a pytree if the class is one."""
    is_pytree = not jax.tree_util.all_leaves([object.__new__(cls)])
    namespace = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, **namespace}
    return types.new_class(cls.__name__, (cls,), {"pytree": is_pytree}, lambda body: body.update(namespace))
