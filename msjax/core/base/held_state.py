"""What a modifier holds besides its arguments, as part of the key by which programs with it are found.

A traced modifier is part of a program, and what it read then is a constant of it. So the same object with another attribute, registered
anew, is another modifier.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from msjax.core.base.code import globals_in
from msjax.core.base.weak import Same, identity

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)

# So far, and so wide, plain data is looked into: settings are few and lie close. Of larger arrays, only the identity counts.
_DEPTH, _MOST_ITEMS, _MOST_BYTES = 4, 100, 1 << 16


def cell_contents(cell: types.CellType) -> Any:
    """What a variable of a closure holds; None before it is assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def values_named(function: types.FunctionType) -> list[Any]:
    """What the variables of a function's closure hold, and the globals that its code names."""
    known, names = function.__globals__, globals_in(function.__code__)
    return [*map(cell_contents, function.__closure__ or ()), *(known[name] for name in names if name in known)]


def held_state(fn: Any) -> Hashable:
    """What a function, method or callable object holds now.

    Args:
        fn (callable): its closure, defaults, code, the globals that it names, or the attributes of the object and its class are looked at.

    Returns:
        Hashable; equal if numbers, texts, numpy arrays of up to 64 KiB and the items of containers are, and all else is the same object.
        It keeps nothing alive.

    Example:
        >>> from msjax.core.base.held_state import held_state
        >>> class Scale:
        ...     by = 2.0
        ...     def __call__(self, module, args, output):
        ...         return output * self.by
        >>> scale = Scale()
        >>> before = held_state(scale)
        >>> scale.by = 3.0
        >>> held_state(scale) == before
        False
    """
    return _of_callable(fn, 0)


def _of_callable(fn, depth):
    if isinstance(fn, types.MethodType):
        return _of_callable(fn.__func__, depth), _attributes(fn.__self__, depth)
    if isinstance(fn, functools.partial):
        return _of_callable(fn.func, depth), _of(fn.args, depth), _of(fn.keywords, depth)
    if not isinstance(fn, types.FunctionType):
        call = inspect.getattr_static(type(fn), "__call__", None)
        return _of_callable(call, depth) if isinstance(call, types.FunctionType) else None, _attributes(fn, depth)
    named = {name: fn.__globals__[name] for name in globals_in(fn.__code__) if name in fn.__globals__}
    inside = [_of(cell_contents(variable), depth + 1) for variable in fn.__closure__ or ()]
    return identity(fn.__code__), *inside, _of((fn.__defaults__, fn.__kwdefaults__, named), depth)


def _attributes(value, depth):
    # Those of the class itself that are plain data: of the rest, the object's identity tells.
    by_class = {
        name: held for owner in reversed(type(value).__mro__) for name, held in vars(owner).items() if isinstance(held, _PLAIN)
    }
    return _of({**by_class, **getattr(value, "__dict__", {})}, depth)


def _of(value, depth):
    kind = identity(type(value))  # a class may hold a model
    if isinstance(value, _PLAIN):
        return kind, repr(value)
    if isinstance(value, np.ndarray) and value.nbytes <= _MOST_BYTES and not value.dtype.hasobject:
        return value.shape, str(value.dtype), value.tobytes()
    if depth < _DEPTH and isinstance(value, (list, tuple, set, frozenset, Mapping)) and len(value) <= _MOST_ITEMS:
        if isinstance(value, Mapping):
            return kind, *((_of(key, depth + 1), _of(item, depth + 1)) for key, item in value.items())
        return kind, *(_of(item, depth + 1) for item in value)
    if isinstance(value, types.FunctionType) and depth < _DEPTH:
        return identity(value), identity(value.__code__)
    known = identity(value)
    # What can't be referred to weakly, such as a list that lies deeper, would be kept alive.
    return (kind, id(value)) if isinstance(known, Same) else known
