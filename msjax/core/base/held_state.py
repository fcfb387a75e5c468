"""What Python objects hold, as part of the keys by which programs are found: modifiers besides their arguments, and the changeable parts of static data.

A traced modifier is part of a program, and what it read then is a constant of it. So the same object with another attribute, registered
anew, is another modifier. So is a list among a module's attributes, after somebody has written into it.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Any

import numpy as np

from msjax.core.base.code import globals_in
from msjax.core.base.weak import Same, identity

_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)

# So far, and so wide (keys and values count), what a modifier holds is looked into: settings are few and lie close. Of larger arrays, only the
# identity counts.
_DEPTH, _MOST_ITEMS, _MOST_BYTES = 4, 200, 1 << 16

# {type of static data: what gives the parts of it that may change}, of frameworks whose static data is large.
PARTS: dict[type, Callable[[Any], Collection[Any]]] = {}

UNCHANGING = {str, bytes, type(None), type, type(len), type(lambda: None), bool, int, float, complex}
_BY_THEMSELVES = UNCHANGING - {bool, int, float, complex}  # 1 equals True, and 0.0 -0.0


def cell_contents(cell: types.CellType, unassigned: Any = None) -> Any:
    """What a variable of a closure holds; `unassigned` before it is assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return unassigned


def values_named(function: types.FunctionType) -> list[Any]:
    """What the variables of a function's closure hold, and the globals that its code names."""
    known, names = function.__globals__, globals_in(function.__code__)
    return [*map(cell_contents, function.__closure__ or ()), *(known[name] for name in names if name in known)]


def held_state(fn: Any) -> Hashable:
    """What a function, method or callable object holds now: its closure, defaults, code, the globals that it names, or the attributes of the object
    and its class.

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


def contents_of(treedef: Any) -> Hashable:
    """What stands in all static data of a structure of jax, hashable: another object after somebody has written into a list there.

    jax tells programs apart by structures. A list in one is the user's own, in that of an earlier program, too, so that the two are equal
    whatever was written into it meanwhile. Lists, dicts, sets, numpy arrays, dataclasses and SimpleNamespaces are read; all else counts as what
    it equals.
    """
    found, pending = [], [treedef]
    while pending:
        each = pending.pop()
        data = each.node_data()
        if data is not None:
            # A tuple is hashable if all in it are, which lists and the like aren't.
            if type(data[1]) not in UNCHANGING and not (type(data[1]) is tuple and _is_hashable(data[1])):
                found.append(_contents(data[1], ()))
            pending += each.children()
    return tuple(found)


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
    """A key of what a modifier holds."""
    if isinstance(value, _PLAIN):
        return _plain(value)
    if isinstance(value, np.ndarray) and value.nbytes <= _MOST_BYTES and not value.dtype.hasobject:
        return _array(value)
    if depth < _DEPTH and isinstance(value, (list, tuple, set, frozenset, Mapping)):
        items = _items(value) if isinstance(value, Mapping) else value
        if len(items) <= _MOST_ITEMS:
            return _container(_kind(value), value, [_of(item, depth + 1) for item in items])
    if isinstance(value, types.FunctionType) and depth < _DEPTH:
        return identity(value), identity(value.__code__)
    known = identity(value)
    # What can't be referred to weakly, such as a list that lies deeper, would be kept alive.
    return (_kind(value), id(value)) if isinstance(known, Same) else known


def _contents(value, around):
    """A key of a value in static data, all of which is looked into; `around` are the containers around it."""
    kind = type(value)
    if kind in _BY_THEMSELVES:
        return value
    if isinstance(value, _PLAIN):
        return _plain(value)
    parts = _parts_of(kind)
    if parts is None:
        return kind, value if _is_hashable(value) else Same(value)
    if any(value is each for each in around):
        return kind
    around = (*around, value)
    return _container(kind, value, [_contents(part, around) for part in parts(value)])


def _kind(value):
    return type(value) if type(value) in UNCHANGING else identity(type(value))  # another class may hold a model


def _plain(value):
    # A class of the user's may have a text of its own.
    return _kind(value), repr(value), None if type(value) in UNCHANGING else hash(value)


def _array(value):
    return value.shape, str(value.dtype), value.tobytes()


def _container(kind, value, keys):
    return kind, frozenset(keys) if isinstance(value, (set, frozenset)) else tuple(keys)


def _items(value):
    """What a mapping holds."""
    return [part for item in value.items() for part in item]


@functools.cache
def _parts_of(kind):
    """What gives the parts of a value of this type, a container or an object that does nothing but hold something; None of any other."""
    if kind in PARTS:
        return PARTS[kind]
    if issubclass(kind, (list, tuple, set, frozenset)):
        return lambda value: value
    if issubclass(kind, Mapping):
        return _items
    if issubclass(kind, np.ndarray):
        return _array
    if issubclass(kind, types.SimpleNamespace):
        return lambda value: _items(vars(value))
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
        return lambda value: [getattr(value, name, None) for name in names]
    return None


def _is_hashable(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True
