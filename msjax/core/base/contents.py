"""contents_of: what stands in the changeable parts of static data, such as a list among a module's attributes."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from msjax.core.base.weak import Same

# {type of static data: what gives the parts of it that may change}, of frameworks whose static data is large.
PARTS: dict[type, Callable[[Any], Iterable[Any]]] = {}

UNCHANGING = {str, bytes, type(None), type, type(len), type(lambda: None), bool, int, float, complex}
_TOLD_APART = UNCHANGING - {bool, int, float, complex}  # 1 equals True


def contents_of(treedef: Any) -> Hashable:
    """What stands in all static data of a structure of jax: another object after somebody has written into a list there.

    jax tells programs apart by structures. A list in one is the user's own, in that of an earlier program, too, so that the two are equal
    whatever was written into it meanwhile.

    Args:
        treedef: of `jax.tree.structure`.

    Returns:
        A hashable object. Lists, dicts, sets, numpy arrays, dataclasses and SimpleNamespaces are read; all else counts as what it equals.
    """
    found, pending = [], [treedef]
    while pending:
        each = pending.pop()
        data = each.node_data()
        if data is not None:
            static = data[1]
            # A tuple is hashable if all in it are, which lists and the like aren't.
            if type(static) not in UNCHANGING and not (type(static) is tuple and _is_hashable(static)):
                found.append(_contents(static, ()))
            pending += each.children()
    return tuple(found)


@functools.cache
def _parts_of(kind):
    """What gives the parts of a value of this type; None where it counts as what it equals."""
    if kind in PARTS:
        return PARTS[kind]
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
        return lambda value: [getattr(value, name, None) for name in names]
    if issubclass(kind, Mapping):
        return lambda value: [part for item in value.items() for part in item]
    if issubclass(kind, SimpleNamespace):
        return lambda value: [part for item in vars(value).items() for part in item]
    if issubclass(kind, np.ndarray):
        return lambda value: [value.shape, value.dtype, value.tobytes()]
    return list if issubclass(kind, (tuple, list, set, frozenset)) else None


def _contents(value, around):
    kind = type(value)
    parts = _parts_of(kind)
    if parts is None:
        return kind, value if _is_hashable(value) else Same(value)
    if any(value is each for each in around):
        return kind
    around = (*around, value)
    found = [each if type(each) in _TOLD_APART else _contents(each, around) for each in parts(value)]
    return kind, frozenset(found) if issubclass(kind, (set, frozenset)) else tuple(found)


def _is_hashable(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True
