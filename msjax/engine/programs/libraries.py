"""The libraries that traced functions reach, jax and numpy: whether they are what their files say, and what the files say.

Programs on disk are found without tracing. So where somebody has replaced a function of a library, as tests and debugging do, this has
to show without tracing, too. A library's state is a digest of what its modules hold under each name: functions by their place in
the library's files, classes with their methods. A function from elsewhere is foreign: then nothing is stored or read.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import importlib
import os
import sys
import sysconfig
import threading
import types
import zlib
from collections.abc import Iterator
from typing import Any

import jax

from msjax.core.base.code import cell_contents

# Packages whose functions programs may be made of: they are what they are for the content of their files.
LIBRARIES = ("jax", "jaxlib", "numpy", "ml_dtypes", "opt_einsum", "scipy")
# What traced functions take from them. The modules that define what these hold are looked at, too.
_PUBLIC = (
    *("jax", "jax.numpy", "jax.lax", "jax.nn", "jax.core", "jax.dtypes"),
    *("numpy", "math", "operator", "functools", "itertools", "builtins"),
)
# Others, such as `print`, are replaced by consoles and notebooks, and don't matter.
_BUILTINS = frozenset(
    "abs all any bool callable complex dict divmod enumerate filter float frozenset getattr hasattr hash id int isinstance issubclass "
    "iter len list map max min next object pow property range repr reversed round set slice sorted str sum super tuple type zip".split()
)
_RULES = ("jax.interpreters.ad", "jax.interpreters.batching", "jax.interpreters.mlir", "jax.interpreters.partial_eval")


class Foreign(ValueError):
    """A function of a library was replaced by one from elsewhere."""


# ---- one value


@functools.lru_cache(8192)
def place(file: str) -> str | None:
    """The place of a source file that belongs to msjax, a library or the standard library, the same on every machine; None for others."""
    for name in ("msjax", *LIBRARIES):
        folder = _folder(name)
        if folder and file.startswith(folder):
            return f"{name}/{file[len(folder) :]}"
    if file.startswith("<frozen "):
        return file
    standard = sysconfig.get_path("stdlib") + os.sep
    inner = file[len(standard) :] if file.startswith(standard) else ""
    return f"python/{inner}" if inner and not inner.startswith(("site-packages", "dist-packages")) else None


@functools.cache
def _folder(name):
    file = getattr(sys.modules.get(name), "__file__", None)
    return os.path.dirname(file) + os.sep if file else ""


def identity(value: Any, depth: int = 3) -> Any:
    """What tells a value of a library from all others: a text, or nested tuples of texts and numbers.

    Args:
        depth: so deep, functions in closures and in partial functions are looked at.

    Raises:
        Foreign: it is a function, or holds one, that is neither a library's, nor msjax's or Python's own.
    """
    cls = value.__class__
    if cls is types.FunctionType:
        return _of_function(value, depth)
    if cls is functools.partial:
        inner = _of_all((*value.args, *value.keywords.values()), depth - 1) if depth else []
        return "partial", identity(value.func, depth), *inner
    if isinstance(value, (tuple, list)):  # of rules
        return cls.__name__, *_of_all(value, depth)
    if cls is types.MethodType:
        return "method", identity(value.__func__, depth)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return cls.__name__, *_of_all([getattr(value, field.name) for field in dataclasses.fields(value)], depth)
    if cls in (float, complex, str, bool, int):
        return cls.__name__, repr(value)
    if cls is types.ModuleType:
        return "module", value.__name__
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    inner = getattr(value, "__wrapped__", None) if depth else None
    inner = identity(inner, depth - 1) if inner.__class__ is types.FunctionType else None
    module = getattr(value, "__module__", None)
    owners = [cls.__module__, module] if isinstance(value, type) else [cls.__module__]
    if not all(str(owner).partition(".")[0] in _OWNERS for owner in owners):
        raise Foreign(f"{name or cls.__qualname__} of {owners[-1]}")
    return cls.__name__, name if isinstance(name, str) else None, inner


# Packages of the classes whose instances and subclasses libraries hold.
_OWNERS = frozenset(
    (
        *(
            "msjax",
            "nanobind",
            *LIBRARIES,
            *"builtins abc collections contextlib dataclasses enum functools itertools logging".split(),
        ),
        *"math operator re threading types typing weakref _frozen_importlib _frozen_importlib_external _sitebuiltins _thread".split(),
    )
)


def _of_function(fn, depth):
    code = fn.__code__
    file = code.co_filename
    where = place(file)
    if where is None:
        # Methods of data classes and of named tuples are made of texts.
        owner = str(fn.__globals__.get("__name__")).partition(".")[0]
        if file[:1] != "<" or not (owner in LIBRARIES or owner.startswith("namedtuple_") or owner in _OWNERS):
            raise Foreign(f"{fn.__qualname__} of {file}")
        return fn.__qualname__, zlib.crc32(code.co_code), code.co_names
    found = fn.__qualname__, where, code.co_firstlineno
    if depth and fn.__closure__:
        return *found, *_of_all(map(cell_contents, fn.__closure__), depth - 1)
    return found


def _of_all(held, depth):
    """The identities of the functions in what a function holds."""
    return [identity(v, depth) for v in held if callable(v) or isinstance(v, (tuple, list))]


# ---- modules


def _of_module(module):
    """(name, identity) of what a module holds, with the methods of its classes."""
    own, package = module.__name__, hasattr(module, "__path__")
    for name, value in sorted(vars(module).items()):
        cls = value.__class__
        # Counters, flags and other objects of a module change; submodules that were not imported yet are missing.
        kept = callable(value) or cls in (float, complex, str, types.ModuleType) or cls.__name__ == "Primitive"
        if name.startswith("__") or cls in (int, bool) or not kept:
            continue
        if (package and cls is types.ModuleType) or (own == "builtins" and name not in _BUILTINS):
            continue
        if len(name) == 1 and isinstance(value, type):
            continue  # what a loop over a set has left
        yield name, identity(value)
        if isinstance(value, type):
            if value.__module__ == own:
                yield name, list(_members(value))
        elif cls.__module__.partition(".")[0] == "jax" and hasattr(value, "__dict__"):
            # A primitive, or a function with its own derivative.
            yield name, [(key, identity(v, 1)) for key, v in sorted(vars(value).items()) if v.__class__ is types.FunctionType]


def _members(cls) -> Iterator[tuple[str, Any]]:
    for name, value in vars(cls).items():
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        elif isinstance(value, property):
            value = value.fget
        if value.__class__ in (types.FunctionType, int, float, str, bool) and name not in _TEXTS:
            yield name, identity(value)


_TEXTS = ("__doc__", "__module__", "__firstlineno__")


def _of_rules(module):
    """(primitive, identity of its rule) of those of jax.lax. Rules of other primitives of libraries are only checked: they come with imports."""
    common = {value for value in vars(jax.lax).values() if value.__class__.__name__ == "Primitive"}
    for name, table in _tables(module):
        for primitive, rule in list(table.items()):
            if primitive.__class__.__name__ == "Primitive" and place(_file_of(primitive)) is not None:
                try:
                    found = identity(rule)
                except Foreign:
                    if primitive in common or not _is_a_users(primitive):
                        raise
                    continue
                if primitive in common:
                    yield name, str(primitive), found


def _is_a_users(primitive):
    """Whether a primitive's own functions, such as the one for shapes, come from elsewhere: then so may its rules."""
    try:
        _of_all(vars(primitive).values(), 2)
    except Foreign:
        return True
    return False


def _tables(module):
    """(name, dict) of the dicts in a module, and of those in them: rules are kept by platform, too."""
    for name, table in list(vars(module).items()):
        if isinstance(table, dict) and not name.startswith("__"):
            yield name, table
            yield from ((f"{name} {key}", inner) for key, inner in list(table.items()) if isinstance(inner, dict))


def _file_of(primitive):
    """The file of a primitive's implementation, which says whose it is."""
    code = getattr(getattr(primitive, "impl", None), "__code__", None)
    return "<frozen primitive>" if code is None else code.co_filename


class LibraryState:
    """The state of the libraries, looked at again when a module holds something else under a name than before.

    Each program asks for it. So of the modules that nobody but jax itself uses, each question looks at some only, and all of them before
    programs are written to disk.

    Attributes:
        why: what the latest foreign function was; "" before.
    """

    def __init__(self):
        self.why: str = ""
        self._lock = threading.Lock()
        self._turn = 0
        # {name of a module: (what it holds, in order, the tables of rules in it, the digest of both; None if something is foreign)}.
        self._modules: dict[str, tuple[list[Any], list[dict[Any, Any]], bytes | None]] = {}
        self._others: list[str] = []
        self._digest: str | None = None

    def digest(self, *, thorough: bool = False) -> str | None:
        """The digest of the state; None if something in it is foreign.

        Args:
            thorough: look at the classes, rules and objects in the modules again, too.
        """
        with self._lock:
            if self._modules and not thorough:
                self._turn = (self._turn + 1) % _TURNS
                asked = [*_ALWAYS, *self._others[self._turn :: _TURNS]]
                changed = [name for name in asked if not _is_same(sys.modules[name], *self._modules[name][:2])]
                if not changed:
                    return self._digest
            else:
                changed = _names()
                self._others = [name for name in changed if name not in _ALWAYS]
                self._modules.clear()
            for name in changed:
                *held, found = _look_at(sys.modules[name])
                if isinstance(found, Foreign):
                    self.why, found = f"{found} in {name}", None
                self._modules[name] = held[0], held[1], found
            found = [digest for _, _, digest in self._modules.values()]
            known = [digest for digest in found if digest is not None]
            self._digest = hashlib.sha256(b"".join(known)).hexdigest() if len(known) == len(found) else None
            return self._digest


# What other functions of jax are made of, and users replace; and in how many turns all the others are looked at.
_ALWAYS = ("jax.numpy", "jax.lax", "jax.nn", *_RULES)
_TURNS = 16


def _is_same(module, held, tables):
    """Whether a module holds what it held. Functions are equal to themselves only; comparing lists takes a third of the time of `is` for each."""
    try:
        return _held(module, tables) == held
    except Exception:  # something there can't be compared, such as two arrays
        return False


def _held(module, tables):
    """What a module holds, with the rules in its tables."""
    values = [*module.__dict__.values()]
    for table in tables:
        values += table.values()
    return values


def _names():
    """The names of the modules that are looked at: the same in every process, whatever else was imported."""
    names = {name: importlib.import_module(name) for name in (*_PUBLIC, *_RULES)}
    for public in list(names.values()):
        for value in list(vars(public).values()):
            module = getattr(value, "__module__", None)
            if isinstance(module, str) and module.startswith(("jax.", "numpy._core.", "numpy.lib._")) and module in sys.modules:
                names[module] = sys.modules[module]
    return sorted(names)


def _look_at(module):
    tables = [table for _, table in _tables(module)] if module.__name__ in _RULES else []
    held = _held(module, tables)
    try:
        content = repr(list(_of_module(module)))
        if module.__name__ in _RULES:
            content += repr(sorted(_of_rules(module), key=repr))
    except Foreign as foreign:
        return held, tables, foreign.with_traceback(None)
    return held, tables, hashlib.sha256(content.encode()).digest()


LIBRARY_STATE = LibraryState()
