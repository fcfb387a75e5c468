"""What code may read: the names in its bytecode, the methods that it may call, the data of classes, and the attributes that no code names."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Collection
from typing import Any, NamedTuple

import jax
import numpy as np
from flax import nnx

from msjax.common.bases import CellBase
from msjax.common.parameter import Buffer, Parameter, ParameterTuple
from msjax.common.tensor import Tensor
from msjax.core.base.code import names_in
from msjax.core.base.flax_slots import MODULE_STATE, is_module_state
from msjax.core.base.libraries import FRAMEWORKS, of_library
from msjax.core.door import RemovableHandle

# Classes of the standard library whose attributes are the user's.
_NAMESPACES = (
    "types.SimpleNamespace",
    "argparse.Namespace",
    "collections.UserDict",
    "collections.UserList",
    "collections.UserString",
    "collections.ChainMap",
)

# Packages of msjax's own whose objects are caches or tables of hooks, which have guards of their own.
_WITHOUT_USER_DATA = ("engine.compile.", "core.models.frameworks.")

# Weak references, to several objects, too.
WEAK = (weakref.ref, weakref.WeakSet, weakref.WeakValueDictionary, weakref.WeakKeyDictionary, weakref.finalize)

# Values that hold nothing which code reads by the name of an attribute.
VALUES = (Tensor, jax.Array, np.ndarray, np.generic, RemovableHandle)

# The methods of a cell where its call starts, that of its gradient included.
ENTRIES = frozenset(("construct", "bprop"))
# Those that have run before it.
_BEFORE = frozenset(("__init__", "__new__", "__init_subclass__"))


class ClassNames(NamedTuple):
    """Names that code of a class's instances may look up in the class.

    Attributes:
        libraries: of a class of cells, the names in the code of methods that a library has written, which reads attributes of the class's own
            instances only.
        own: all names in the user's classes among it and its bases.
        data: those of them that are no methods or properties; the user's descriptors count.
        silent: the user's classes that don't tell when an attribute changes, in the order in which names are looked up.
    """

    libraries: frozenset[str]
    own: tuple[str, ...]
    data: tuple[str, ...]
    silent: list[type]


def holds_user_data(cls: type) -> bool:
    """Whether instances of a class hold the user's data, not a library's."""
    package, _, inner = cls.__module__.partition(".")
    return (
        not of_library(cls)
        or (package in FRAMEWORKS and not inner.startswith(_WITHOUT_USER_DATA))
        or f"{cls.__module__}.{cls.__qualname__}" in _NAMESPACES
    )


def is_method_of_library(function: Any) -> bool:
    """Whether a function is a method of an object of a library's, maybe with arguments set in advance."""
    while isinstance(function, functools.partial):
        function = function.func
    return isinstance(function, types.MethodType) and of_library(type(function.__self__))


def is_import(name: str, value: Any) -> bool:
    """Whether a name stands for a library's module, for its class under the class's own name, or for that of an object: nobody gives it
    another value."""
    own_name = isinstance(value, types.ModuleType) or (isinstance(value, type) and name in (value.__name__, "__class__"))
    return own_name and of_library(value)


def slots_of(cls: type) -> list[str]:
    """The names in the ``__slots__`` of a class and its bases."""
    slots = [owner.__dict__.get("__slots__", ()) for owner in cls.__mro__]
    names = [name for several in slots for name in ((several,) if isinstance(several, str) else several)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def function_of(member: Any) -> types.FunctionType | None:
    """The function of a method, property, class method or static method, as a class holds it; None for anything else."""
    if isinstance(member, (functools.cached_property, functools.partialmethod, functools.singledispatchmethod)):
        member: Any = getattr(member, "dispatcher", member.func)
    found = getattr(member, "fget", None) or getattr(member, "__func__", None) or member
    return found if isinstance(found, types.FunctionType) else None


def methods_of(cls: type, name: str) -> list[types.FunctionType]:
    """The function that instances find under a name, and those of the user's classes behind it, which `super` finds."""
    owners = [owner for owner in cls.__mro__ if name in vars(owner)]
    found = [function_of(vars(owner)[name]) for owner in owners if owner is owners[0] or not of_library(owner)]
    return [function for function in found if function is not None]


def names_of_class(cls: type) -> ClassNames:
    """What the instances of a class may read in it."""
    is_cell, own, data, libraries, silent, before_cell = issubclass(cls, CellBase), {}, {}, set(), [], True
    for owner in cls.__mro__:
        before_cell = before_cell and not owner.__module__.startswith("msjax.nn.cell.")
        members = vars(owner).copy()
        if of_library(owner):
            # Functions of msjax, whose code is not read, may call any method of its own cells, as an optimizer's step does.
            if is_cell and before_cell:  # which read what they annotate by computed names
                codes = [method.__code__ for method in members.values() if isinstance(method, types.FunctionType)]
                libraries.update(members.get("__annotations__", ()), *map(names_in, codes))
            continue
        if not issubclass(owner, CellBase):
            silent.append(owner)
        for name, value in members.items():
            if not is_cell or name not in _BEFORE:
                own.setdefault(name)
            if name.startswith("__") or name == "_abc_impl" or is_module_state(name):
                continue
            if isinstance(value, type) and is_import(name, value):
                continue
            if not hasattr(type(value), "__get__") or not of_library(type(value)):
                data.setdefault(name)
    return ClassNames(frozenset(libraries), tuple(own), tuple(data), silent)


def is_plain(cls: type) -> bool:
    """Whether instances of a class are plain namespaces: read by attribute name only."""
    if cls is types.SimpleNamespace:
        return True
    own = all(owner is object or not of_library(owner) for owner in cls.__mro__)
    return own and not hasattr(cls, "__getattr__") and cls.__getattribute__ is object.__getattribute__


# ---- attributes

# Those of cells that are no guards: nnx's own, and those that follow from others: from the hooks, and from an optimizer's settings.
NOT_GUARDED = frozenset((*MODULE_STATE, "_special", "_prepared"))

# What lists the parts of a cell reads them by no name.
_PARTS = (nnx.Module, Parameter, Buffer, ParameterTuple)

# Code that uses one of these may read any attribute.
BY_COMPUTED_NAMES = frozenset(
    (
        "getattr",
        "hasattr",
        "vars",
        "dir",
        "eval",
        "exec",
        "__dict__",
        "__getattribute__",
        "attrgetter",
        "getmembers",
        "getattr_static",
    )
)


def texts_in(code: types.CodeType) -> frozenset[str]:
    """The texts in a piece of code that may be names of attributes, as in ``getattr(x, "text", None)``."""
    return frozenset(text for text in code.co_consts if isinstance(text, str) and text.isidentifier())


def always_read(cell: CellBase, attributes: dict[str, Any], libraries: Collection[str]) -> dict[str, Any]:
    """The attributes of a cell that code of msjax or of a library reads.

    Args:
        libraries: the names that methods use which a library has written for the cell's class.
    """
    known = _names_of_cells(tuple([c for c in type(cell).__mro__ if c.__module__.startswith("msjax.nn.cell.")]))
    return {n: value for n, value in attributes.items() if n in known or n in libraries or isinstance(value, _PARTS)}


@functools.cache
def _names_of_cells(owners: tuple[type, ...]) -> frozenset[str]:
    """The names in the class Cell itself: of its settings, and of others that its methods use."""
    functions = [function_of(value) for owner in owners for value in vars(owner).values()]
    codes = [function.__code__ for function in functions if function is not None]
    return frozenset().union(*map(vars, owners), *map(names_in, codes))
