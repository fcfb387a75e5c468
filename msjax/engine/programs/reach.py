"""What functions and classes of msjax reach while they are traced: code, and values of globals, closures, defaults and modules.

A function may reach whatever its code names: in its globals, and in the modules and classes that it finds there. More is taken than is
read, since names of attributes are taken for names in every module that the code names, too. Functions of msjax are followed, those of
the libraries are what `programs.libraries` says. The rest of msjax's machinery, as of hooks and tapes, only ever runs around what is traced.
"""

from __future__ import annotations

import builtins
import collections
import functools
import hashlib
import operator
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import jax.extend.core
import numpy as np
from jax.interpreters import ad

from msjax.core.base.code import names_in
from msjax.engine.programs.libraries import LIBRARIES, Foreign, identity

# What classes hold besides what they do.
_OF_CLASSES = frozenset(
    ("__doc__", "__module__", "__dict__", "__weakref__", "__annotations__", "__slots__", "__abstractmethods__")
)
# What Python makes the fields of named tuples of.
_FIELD = type(vars(collections.namedtuple("_", "field"))["field"])
# Packages and modules of msjax whose functions and objects are described by their names: they decide nothing about what is traced.
_MACHINERY = (
    *(
        "msjax.core.base.",
        "msjax.hooks.",
        "msjax.core.jaxprs.",
        "msjax.engine.programs.",
        "msjax.engine.compile.",
        "msjax.core.models.",
        "msjax.engine.processes.",
    ),
    *(
        "msjax.common.tensor.",
        "msjax.common.tape.",
        "msjax.common.parameter.",
        "msjax.engine.autograd.op.",
        "msjax.engine.autograd.monitor.",
    ),
)
_TRACED = ("msjax.core.base.checks.", "msjax.engine.programs.bound.", "msjax.engine.programs.compiler_options.")


class Undescribable(ValueError):
    """The description of a value would not be complete."""


class Reach:
    """What one function or class reaches.

    Attributes:
        digest: of all that it reaches, the same in every process.
    """

    def __init__(self, root: Any):
        units: list[_Unit] = []
        seen, pending = {id(root)}, [root]
        for value in pending:
            unit = _unit_of(value)
            units.append(unit)
            for child in unit.children:
                if id(child) not in seen:
                    seen.add(id(child))
                    pending.append(child)
        self.digest: str = hashlib.sha256(b"".join([unit.digest for unit in units])).hexdigest()
        # Each program asks whether this holds: what several units have read is looked at once, and with few calls.
        scopes: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        for unit in units:
            for scope, name, value in unit.reads:
                scopes.setdefault(id(scope), (scope, {}))[1][name] = value
        self._scopes = [(operator.itemgetter(*read, *read), scope, [*read.values()] * 2) for scope, read in scopes.values()]
        self._plain = [(unit.root, *unit.parts) for unit in units if unit.is_plain]
        self._others = [(unit.root, unit.parts) for unit in units if not unit.is_plain]
        self._containers = [held for unit in units for held in unit.containers]

    def holds(self) -> bool:
        """Whether all that was read is still what it was."""
        try:
            for getter, scope, values in self._scopes:
                if not all(map(operator.is_, getter(scope), values)):
                    return False
        except KeyError:
            return False
        for root, code, defaults in self._plain:
            fn = root()
            if fn is None or fn.__code__ is not code or fn.__defaults__ is not defaults or fn.__dict__:
                return False
        for root, parts in self._others:
            fn = root()
            if fn is None or not _are_same(_parts_of(fn), parts):
                return False
        for container, content in self._containers:
            if not _are_same(_content(container), content):
                return False
        return True


_REACHES: weakref.WeakKeyDictionary[Any, Reach] = weakref.WeakKeyDictionary()
_UNITS: weakref.WeakKeyDictionary[Any, _Unit] = weakref.WeakKeyDictionary()
_LOCK = threading.RLock()


def reach_of(value: Any) -> Reach:
    """What a function or class reaches now.

    Raises:
        Undescribable: it reaches something that has no description.
    """
    return _kept(_REACHES, Reach, value)


def _unit_of(value):
    return _kept(_UNITS, _Unit, value)


def _kept(table, make, value):
    with _LOCK:
        found = table.get(value)
        if found is None or not found.holds():
            found = table[value] = make(value)
        return found


class _Unit:
    """One function or class, without those that it refers to.

    Attributes:
        root, parts: it, and the objects that it consists of.
        is_plain: whether these are only a function's code and defaults.
        digest: of its description.
        children: the functions and classes of msjax that it refers to, in order.
        reads: (dict, name, value) of what was read.
        containers: (list or dict, its content).
    """

    def __init__(self, root: Any):
        self.children = []
        self.reads = []
        self.containers = []
        # Weakly: it is the key under which this is kept.
        self.root = weakref.ref(root)
        self.parts = _parts_of(root)
        self.is_plain = not isinstance(root, type) and len(self.parts) == 2
        described = self.class_(root) if isinstance(root, type) else self.function(root)
        self.digest: bytes = hashlib.sha256(repr(described).encode()).digest()

    def holds(self) -> bool:
        """Whether all that was read is still what it was."""
        root = self.root()
        return (
            root is not None
            and _are_same(_parts_of(root), self.parts)
            and all(scope.get(name) is value for scope, name, value in self.reads)
            and all(_are_same(_content(container), content) for container, content in self.containers)
        )

    def child(self, value):
        """The description of a function or class that is described by itself."""
        self.children.append(value)
        return "#", value.__module__, value.__qualname__

    def function(self, fn):
        parts = self.parts
        code = parts[0]
        names = dict.fromkeys(names_in(code))
        found = [self.read(fn.__globals__, name, names) for name in names if name in fn.__globals__]
        for name in names:
            if name not in fn.__globals__ and name in vars(builtins):
                self.read(vars(builtins), name, names)
        held = [self.value(part, names) for part in parts[1:]]
        return "function", fn.__module__, fn.__qualname__, code_digest(code), held, found

    def class_(self, cls):
        members = []
        is_named_tuple = issubclass(cls, tuple) and "_fields" in vars(cls)
        for name, value in vars(cls).items():
            if is_named_tuple and _made_by_python(value):
                # The fields' names say what it is; defaults may be others than in the class's text.
                members.append((name, self.value(getattr(value, "__defaults__", None), {})))
                continue
            if name in _OF_CLASSES or (name.startswith("__") and not callable(value)):
                continue
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            if isinstance(value, property):
                members.append((name, [self.value(f, {}) for f in (value.fget, value.fset)]))
            elif not isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
                members.append((name, self.value(value, {})))
        bases = [self.value(base, {}) for base in cls.__bases__]
        return "class", cls.__module__, cls.__qualname__, sorted(members, key=lambda member: member[0]), bases

    def read(self, scope, name, names):
        value = scope[name]
        self.reads.append((scope, name, value))
        return name, self.value(value, names)

    def module(self, module, names):
        scope, own = vars(module), module.__name__.partition(".")[0] == "msjax"
        found = []
        for name in names:
            if name in scope:
                value = scope[name]
                if own or isinstance(value, types.ModuleType):
                    found.append(self.read(scope, name, names))
                else:
                    self.reads.append((scope, name, value))
                    found.append((name, _of_library(value)))
        return "module", module.__name__, found

    def primitive(self, primitive, names):
        """A primitive of jax's kind, with what it is computed and differentiated by."""
        rules = [self.read(ad.primitive_jvps, primitive, names)[1]] if primitive in ad.primitive_jvps else []
        own = [(key, self.value(v, names)) for key, v in sorted(vars(primitive).items()) if callable(v)]
        return "primitive", primitive.name, own, rules

    def value(self, value, names):
        """The description of a value; `names` are those that the code may ask a module for."""
        plain = describe_plain(value, lambda v: self.value(v, names))
        if plain is not None:
            if value.__class__ in (list, dict, set):
                self.containers.append((value, _content(value)))
            return plain
        cls = value.__class__
        if cls is types.ModuleType or isinstance(value, types.ModuleType):
            package = value.__name__.partition(".")[0]
            if package == "msjax" or package in LIBRARIES:
                return self.module(value, names)
            return "module", value.__name__
        own = package_of(value) == "msjax"
        if cls is types.FunctionType and own:
            return describe_named(value) if _is_machinery(value) else self.child(value)
        if isinstance(value, type) and own:
            return describe_named(value) if _is_machinery(value) or _is_data(value) else self.child(value)
        if cls is functools.partial:
            return "partial", self.value(value.func, names), self.value(value.args, names), self.value(value.keywords, names)
        if cls is types.MethodType:
            return "method", self.value(value.__func__, names), self.value(value.__self__, names)
        inner = getattr(value, "__wrapped__", None)
        if own and isinstance(inner, types.FunctionType) and package_of(cls) in (*LIBRARIES, "functools"):
            return "wrapped", cls.__qualname__, self.value(inner, names)  # of jax.jit or a cache
        if isinstance(value, jax.extend.core.Primitive):
            return self.primitive(value, names)
        if package_of(cls) == "msjax":
            return self.object(value)
        if own and package_of(cls) in LIBRARIES and hasattr(value, "__dict__"):
            # A function with its own derivative.
            return cls.__qualname__, [(key, self.value(v, names)) for key, v in sorted(vars(value).items()) if callable(v)]
        return describe_named(value)

    def object(self, value):
        cls = value.__class__
        found = getattr(value, "identity", None)
        if found is not None:
            return "object", self.value(cls, {}), self.value(found, {})
        if _is_machinery(cls):
            return "object of", cls.__module__, cls.__qualname__
        raise Undescribable(repr(value))


# ---- values


def describe_plain(value: Any, inner: Callable[[Any], Any]) -> Any:
    """The description of a value that consists of numbers, texts and the like, in containers; None if it is none.

    Args:
        inner: describes what is in a container.
    """
    cls = value.__class__
    if value is None or value is Ellipsis or cls in (bool, int, str, bytes):
        return cls.__name__, repr(value)
    if isinstance(value, float):
        return cls.__module__, cls.__qualname__, float.hex(value)  # distinguishes -0.0 and finds NaN again
    if cls in (tuple, list):
        return cls.__name__, *[inner(v) for v in value]
    if cls is dict:
        return "dict", *[(inner(k), inner(v)) for k, v in value.items()]
    if cls in (set, frozenset):
        return cls.__name__, *sorted([inner(v) for v in value], key=repr)
    if cls is complex:
        return "complex", value.real.hex(), value.imag.hex()
    if cls is slice:
        return "slice", inner(value.start), inner(value.stop), inner(value.step)
    if issubclass(cls, np.dtype) and value.fields is None:
        return "dtype", value.name, value.byteorder
    return None


def held_under(module: Any, name: Any) -> Any:
    """What a module, by its full name, holds under a name, which may have points; None if it holds nothing there."""
    found = sys.modules.get(module) if isinstance(module, str) else None
    for part in str(name).split("."):
        found = getattr(found, part, None)
    return found


def describe_named(value: Any) -> Any:
    """The description of a value that msjax, a library or Python itself holds under its own name.

    Raises:
        Undescribable: it is somebody else's, or has no name.
    """
    if package_of(value) in LIBRARIES and callable(value):
        return _of_library(value)
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if isinstance(value, type) and module == "builtins":
        return "class", name
    if held_under(_home(value), name) is not value or value is None or package_of(value) not in _KNOWN:
        raise Undescribable(repr(value))
    return "named", module, name, _of_library(value) if isinstance(value, types.FunctionType) else None


def _of_library(value):
    """What tells a value of a library from others; the state of the library tells more."""
    try:
        return "library", getattr(value, "__module__", None), identity(value)
    except Foreign as error:
        raise Undescribable(str(error)) from None


_KNOWN = frozenset(("msjax", *sys.stdlib_module_names, *LIBRARIES)) - {"__main__"}


def package_of(value: Any) -> str:
    """The name of the package in which a value says that it was defined; "" if it doesn't."""
    return _home(value).partition(".")[0]


def _made_by_python(value):
    """Whether Python has made this member of the class of a named tuple."""
    value = getattr(value, "__func__", value)
    if isinstance(value, types.FunctionType):
        name = value.__globals__.get("__name__", "")
        return name == "collections" or name.startswith("namedtuple_")
    return isinstance(value, _FIELD)


def _home(value):
    """The module in which a value says that it was defined; classes of msjax may say so of MindSpore's name for it."""
    module = str(getattr(value, "__module__", ""))
    return f"msjax.{module[10:]}" if module.startswith("mindspore.") else module


def _is_machinery(value):
    module = _home(value) + "."
    return module.startswith(_MACHINERY) and not module.startswith(_TRACED)


def _is_data(cls):
    return issubclass(cls, BaseException)


# ---- code


def _parts_of(fn):
    """The objects that a function consists of, its code, defaults, what its closure holds and its attributes; those of a class."""
    if isinstance(fn, type):
        return list(vars(fn).values())
    parts = [fn.__code__, fn.__defaults__]
    if fn.__kwdefaults__:
        parts += [fn.__kwdefaults__]
    if fn.__closure__:
        parts += [cell.cell_contents for cell in fn.__closure__]
    if fn.__dict__:
        parts += fn.__dict__.values()
    return parts


def _content(container):
    return [*container, *container.values()] if container.__class__ is dict else list(container)


def _are_same(some, others):
    return len(some) == len(others) and all(map(operator.is_, some, others))


@functools.lru_cache(4096)
def code_digest(code: types.CodeType) -> str:
    """The digest of a function's code, with the code of the functions in it."""
    constants = [code_digest(c) if isinstance(c, types.CodeType) else _constant(c) for c in code.co_consts]
    parts = (code.co_name, code.co_firstlineno, code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _constant(value):
    return sorted(map(repr, value)) if isinstance(value, frozenset) else (value.__class__.__name__, repr(value))
