"""Subclasses of the classes of modules: Python looks ``__call__`` up in the class."""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax


def subclasses(namespace_of: Callable[..., dict[str, Any]]) -> Callable[..., type]:
    """A decorator that makes of ``namespace_of(cls, *key)`` a function that returns the subclass with that namespace, under the class's name.

    It is made once for each class and key, so that modules of one class stay of one class, and jax finds its programs.
    """
    made: weakref.WeakKeyDictionary[type, dict[tuple[Any, ...], type]] = weakref.WeakKeyDictionary()

    @functools.wraps(namespace_of)
    def of(cls, *key):
        classes = made.setdefault(cls, {})
        if key not in classes:
            classes[key] = _subclass(cls, namespace_of(cls, *key))
        return classes[key]

    return of


def _subclass(cls, namespace):
    nnx = sys.modules.get("flax.nnx")
    options = {}
    if nnx is not None and issubclass(cls, nnx.Pytree):
        # nnx asks of each class whether it is a pytree.
        options["pytree"] = not jax.tree_util.all_leaves([object.__new__(cls)])
    namespace = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, **namespace}
    return types.new_class(cls.__name__, (cls,), options, lambda body: body.update(namespace))
