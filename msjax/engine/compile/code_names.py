"""What code may read: the names in its bytecode, the methods that it may call, the data of classes, and the attributes that no code names."""

from __future__ import annotations

import functools
import itertools
import types
import weakref
from collections.abc import Collection, Iterator
from operator import is_
from typing import Any, NamedTuple

from flax import nnx

from msjax.common.bases import CellBase
from msjax.common.parameter import Buffer, Parameter, ParameterTuple
from msjax.core.base.code import names_in, names_read_in
from msjax.core.base.flax_slots import is_module_state
from msjax.core.base.libraries import FRAMEWORKS, is_library
from msjax.core.door import VERSION
from msjax.engine.compile.guards import Contents

# Classes of the standard library whose attributes are the user's.
_NAMESPACES = (
    "types.SimpleNamespace",
    "argparse.Namespace",
    "collections.UserDict",
    "collections.UserList",
    "collections.UserString",
    "collections.ChainMap",
)

# Where the call of a cell starts.
_ENTRIES = ("construct", "__call__", "bprop")


class ClassNames(NamedTuple):
    """What the instances of a class may read in it. Names only: whoever keeps them keeps no class alive.

    Attributes:
        code: all names that the code of the user's methods reads.
        libraries: those in the code of methods that a library has written, which reads attributes of the class's own instances only.
        methods: those of the user's methods.
        data: those of what the user's classes hold besides methods and properties; the user's descriptors count.
        bodies: the code of the user's methods, which tools that reload modules exchange in place.
        own: all names in the user's classes, but for ``__init__``, which has run.
    """

    code: frozenset[str]
    libraries: frozenset[str]
    methods: tuple[str, ...]
    data: tuple[str, ...]
    bodies: tuple[types.CodeType, ...]
    own: frozenset[str]


# {class of cells: (count of changes of such classes, its ClassNames)}.
_OF_CELLS: weakref.WeakKeyDictionary[type, tuple[int, ClassNames]] = weakref.WeakKeyDictionary()


@functools.cache
def _is_namespace(module, name):
    package, _, inner = module.partition(".")
    return (
        not is_library(module)
        or (package in FRAMEWORKS and not inner.startswith("engine.compile."))
        or f"{module}.{name}" in _NAMESPACES
    )


def holds_user_data(cls: type) -> bool:
    """Whether what the instances of a class hold is the user's."""
    return _is_namespace(cls.__module__, cls.__qualname__)


def slots_of(cls: type) -> list[str]:
    """The names in the ``__slots__`` of a class and its bases."""
    slots = [owner.__dict__.get("__slots__", ()) for owner in cls.__mro__]
    names = [name for several in slots for name in ((several,) if isinstance(several, str) else several)]
    return [name for name in names if name not in ("__dict__", "__weakref__")]


def class_attribute(cls: type, name: str) -> Any:
    """What a class or one of its bases holds under a name, descriptors themselves; None if there is nothing."""
    for owner in cls.__mro__:
        if name in vars(owner):
            return vars(owner)[name]
    return None


def method_of(cls: type, name: str) -> types.FunctionType | None:
    """The function of a method, property, class method or static method; None for anything else."""
    found = class_attribute(cls, name)
    found = getattr(found, "fget", None) or getattr(found, "__func__", None) or found
    return found if isinstance(found, types.FunctionType) else None


def names_of_class(cls: type) -> ClassNames:
    """What the instances of a class may read in it; of a cell, by the methods that its call may reach."""
    if not issubclass(cls, CellBase):
        return _names_of(cls, [name for owner in _user_classes(cls) for name in vars(owner).copy()])
    known = _OF_CELLS.get(cls)
    if known is not None and known[0] == VERSION.classes:
        bodies = [getattr(method_of(cls, name), "__code__", None) for name in known[1].methods]
        if all(map(is_, bodies, known[1].bodies)):
            return known[1]
    found = _names_of(cls, _ENTRIES)
    # Classes of cells tell when an attribute changes; other classes that they inherit from don't.
    if not silent_owners(cls):
        _OF_CELLS[cls] = VERSION.classes, found
    return found


def is_plain(cls: type) -> bool:
    """Whether the instances of a class hold attributes alone, which nobody reads but by their names."""
    if cls is types.SimpleNamespace:
        return True
    own = all(owner is object or not is_library(owner.__module__) for owner in cls.__mro__)
    return own and not hasattr(cls, "__getattr__") and cls.__getattribute__ is object.__getattribute__


def silent_owners(cls: type) -> list[type]:
    """The user's classes among a class and its bases that don't tell when an attribute changes, in the order in which names are looked up."""
    return [owner for owner in _user_classes(cls) if not issubclass(owner, CellBase)]


def _names_of(cls, start):
    pending, in_code, libraries, methods, bodies = list(dict.fromkeys(start)), set(), set(), [], []
    queued = set(pending)
    for name in pending:
        function = method_of(cls, name)
        if function is None:
            continue
        users = not is_library(function.__module__ or "")
        if users:
            methods.append(name)
            bodies.append(function.__code__)
        for each in (function, getattr(function, "__wrapped__", None)):
            if isinstance(each, types.FunctionType):
                named = names_read_in(each.__code__)
                (in_code if users else libraries).update(named)
                pending += [name for name in named if name not in queued]
                queued.update(named)
    # Functions of msjax, whose code is not read, may call any method of its own cells, as an optimizer's step does.
    for owner in itertools.takewhile(lambda owner: not owner.__module__.startswith("msjax.nn.cell."), cls.__mro__):
        if issubclass(owner, CellBase) and is_library(owner.__module__):
            for method in vars(owner).values():
                if isinstance(method, types.FunctionType):
                    libraries.update(names_in(method.__code__))
    own = frozenset().union(*map(vars, _user_classes(cls))) - {"__init__"}
    return ClassNames(frozenset(in_code), frozenset(libraries), tuple(methods), _data_of(cls), tuple(bodies), own)


def _data_of(cls):
    found = {}
    for owner in _user_classes(cls):
        for name, value in vars(owner).copy().items():
            if name.startswith("__") or isinstance(value, type):
                continue
            if not hasattr(type(value), "__get__") or not is_library(type(value).__module__):
                found.setdefault(name)
    return tuple(name for name in found if name != "_abc_impl" and not is_module_state(name))


def _user_classes(cls):
    return [owner for owner in cls.__mro__ if not is_library(owner.__module__)]


# ---- attributes of cells that no code reads, as far as a walk has seen: what they hold makes no difference to a program

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

# Methods that run without being named.
_OF_ANY = {name for cls in (int, list, dict, nnx.Module) for name in vars(cls) if name.startswith("__")}
CALLED_BY_PYTHON = frozenset((_OF_ANY | {"__getattr__", "__enter__", "__exit__"}) - {"__init__", "__new__", "__init_subclass__"})


class Unread:
    """The attributes of cells and plain objects that no code has named so far."""

    def __init__(self):
        self._left: list[tuple[object, dict[str, Any], Contents | None, int]] = []

    def set_aside(
        self, cell: CellBase, attributes: dict[str, Any], within: Contents | None, libraries: Collection[str]
    ) -> dict[str, Any]:
        """Set those attributes of a cell aside that only code that names them reads; returns the others.

        Args:
            within: the guard of the container in which the cell was found.
            libraries: the names that methods use which a library has written for the cell's class.
        """
        known = _names_of_cells(tuple([c for c in type(cell).__mro__ if c.__module__.startswith("msjax.nn.cell.")]))
        read = {
            name: value for name, value in attributes.items() if name in known or name in libraries or isinstance(value, _PARTS)
        }
        if len(read) < len(attributes):
            self._left.append((cell, {n: v for n, v in attributes.items() if n not in read}, within, 0))
        return read

    def set_aside_all(self, value: object, attributes: dict[str, Any], within: Contents | None, depth: int) -> None:
        """Set all attributes of an object aside, which lies at a depth."""
        self._left.append((value, attributes.copy(), within, depth))

    def take(self, names: Collection[str] | None) -> Iterator[tuple[object, str, Any, Contents | None, int]]:
        """Take those that have one of some names, or all: (cell or object, name, value, `within`, depth) of each."""
        for owner, attributes, within, depth in self._left:
            for name in [*attributes] if names is None else [name for name in attributes if name in names]:
                yield owner, name, attributes.pop(name), within, depth


@functools.cache
def _names_of_cells(owners: tuple[type, ...]) -> frozenset[str]:
    """The names in the class Cell itself: of its settings, and of others that its methods use."""
    found = {name for owner in owners for name in vars(owner)}
    for value in [value for owner in owners for value in vars(owner).values()]:
        function = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
        if isinstance(function, types.FunctionType):
            found.update(names_in(function.__code__))
    return frozenset(found)
