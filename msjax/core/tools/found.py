"""Which models a function calls."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import jax

from msjax.core.base.held_state import cell_contents, values_named
from msjax.core.base.libraries import of_library
from msjax.core.models.frameworks.framework import framework_of


def models_of(fn: Any, args: Any, kwargs: Any) -> Iterator[Any]:
    """The models that take hooks and that a function may call: itself, those among its arguments, and the variables that it reads."""
    seen = set()
    for values in (lambda: [fn, *jax.tree.leaves((args, kwargs), is_leaf=_is_model)], lambda: _read_by(fn, 0)):
        for value in values():
            if _is_model(value) and id(value) not in seen:
                seen.add(id(value))
                yield value


def _is_model(value):
    return not isinstance(value, type) and framework_of(value) is not None


def _read_by(fn, depth):
    """The variables that a function reads, and the functions among these, such as the `apply` of a functionalized network."""
    function: Any = inspect.unwrap(getattr(fn, "func", fn))
    if depth > 3 or getattr(function, "__code__", None) is None:
        return []
    # Of a library's functions, only what they were given: from their globals, everything can be reached.
    read = [*map(cell_contents, function.__closure__ or ())] if of_library(function) else values_named(function)
    read.append(getattr(function, "__self__", None))
    return [*read, *(inner for value in read if value is not fn for inner in _read_by(value, depth + 1))]
