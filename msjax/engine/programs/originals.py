"""Functions as programs on disk know them: whether those of jax and msjax are their own in this process, and their descriptions.

Where somebody has replaced a function, as tests and debugging do, programs on disk are of other functions.

A description is a text that is the same in every process, and differs where the function's programs would. It names the function and what is
bound to it: closures, defaults and settings. What the code is that stands under these names, the digest of msjax's files and the versions of
libraries tell. What can't be described, such as a user's function or an array in a closure, is not stored.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import sys
import sysconfig
import threading
import types
import zlib
from collections.abc import Callable
from operator import is_
from typing import Any

import jax
import numpy as np

from msjax.core.base.libraries import COMPUTING

# What operators take from jax, and the tables of derivatives and lowerings.
_OF_JAX = ("jax.numpy", "jax.lax", "jax.nn")
_RULES = ("jax.interpreters.ad", "jax.interpreters.batching", "jax.interpreters.mlir")
# What kernels are made of, and what differentiates them.
_OF_MSJAX = ("msjax.ops.", "msjax.engine.autograd.")
# Packages whose functions are known by their files or versions.
PACKAGES = ("msjax", "flax", *COMPUTING)
_STANDARD = sys.stdlib_module_names - {"__main__"}


class Foreign(ValueError):
    """A function is from outside msjax, jax and what jax stands on."""


@functools.cache
def _folders():
    beside = os.path.dirname(os.path.dirname(str(jax.__file__)))
    files = {name: getattr(sys.modules.get(name), "__file__", None) or os.path.join(beside, name, "") for name in PACKAGES}
    return tuple(os.path.dirname(file) + os.sep for file in files.values()), sysconfig.get_path("stdlib") + os.sep


@functools.lru_cache(8192)
def is_own_file(file: str) -> bool:
    """Whether a source file belongs to msjax, jax, what jax stands on, or Python."""
    folders, standard = _folders()
    inner = file.removeprefix(standard)
    return file.startswith((*folders, "<frozen ")) or (inner != file and not inner.startswith(("site-packages", "dist-packages")))


def origin_of(value: Any, within: bool = True) -> Any:
    """What tells a function or class of jax or msjax from others: its name, and those of the functions that it is made of.

    Args:
        within: whether to look at these: the functions in its closure, those that it wraps or binds, and the methods of a class of msjax.

    Raises:
        Foreign: it, or a function within it, is from elsewhere.
    """
    cls, package = value.__class__, package_of(value)
    if cls is types.FunctionType:
        code = value.__code__
        owner = str(value.__globals__.get("__name__")).partition(".")[0]
        # Methods of data classes and named tuples are made of texts.
        generated = code.co_filename[:1] == "<" and (owner in PACKAGES or owner in _STANDARD or owner.startswith("namedtuple_"))
        if not (generated or is_own_file(code.co_filename)):
            raise Foreign(f"{value.__qualname__} of {code.co_filename}")
    elif package not in PACKAGES and package_of(cls) not in PACKAGES and package_of(cls) not in _STANDARD:
        raise Foreign(f"an object of {cls.__module__}.{cls.__qualname__}")
    held = _held_by(value, cls, package) if within else ()
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return (
        cls.__name__,
        package,
        name if isinstance(name, str) else None,
        [origin_of(v, v.__class__ is functools.partial) for v in held],
    )


def _held_by(value, cls, package):
    """The functions that a value is made of."""
    if cls is types.FunctionType:
        cells = value.__closure__ or ()
        held = [*(cell.cell_contents for cell in cells if cell != types.CellType()), *value.__dict__.values()]
    elif cls is functools.partial:
        held = [value.func, *value.args, *value.keywords.values()]
    elif cls is types.MethodType:
        held = [value.__func__]
    elif isinstance(value, type):
        held = [getattr(member, "__func__", member) for member in vars(value).values()] if package == "msjax" else []
    elif isinstance(value, (tuple, list)):
        held = value
    else:  # a program of jax.jit, a function with its own derivative, a primitive, a lowering
        held = [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in ("__wrapped__", "rule"))]
    return [v for v in held if v.__class__ in _FUNCTIONS or (cls is functools.partial and callable(v))]


_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def package_of(value: Any) -> str:
    """The name of the package in which a value says that it was defined; "" if it doesn't."""
    package = str(getattr(value, "__module__", None) or "").partition(".")[0]
    return "msjax" if package == "mindspore" else package


class _Namespace:
    """A module of functions, or a table of rules.

    Args:
        name: for messages.
        holder: its dict.
        of_rules: whether its keys are primitives.
    """

    def __init__(self, name: str, holder: dict[Any, Any], of_rules: bool):
        self.name = name
        self.origins: list[Any] = []
        self._holder = holder
        self._of_rules = of_rules
        self._values: list[Any] | None = None  # when it was looked at last
        self._first: dict[Any, Any] = {}

    def look(self) -> bool:
        """Look at what was not there yet; returns whether there was something.

        Raises:
            Foreign: something is from elsewhere, or another one than at first.
        """
        values = [*self._holder.values()]
        if self._values is not None and len(values) == len(self._values) and all(map(is_, values, self._values)):
            return False
        now, origins = {}, []
        for name, value in [*self._holder.items()]:
            if name in _primitives() if self._of_rules else _is_function(name, value):
                if self._first.get(name, value) is not value:
                    raise Foreign(f"{name} of {self.name} is another one than before")
                now[name] = value
                # What msjax imports from its other modules is looked into where it was defined.
                within = package_of(value) != "msjax" or value.__module__ == self.name
                origins.append((str(name), origin_of(value, within)))
        if missing := self._first.keys() - now.keys():
            raise Foreign(f"{self.name} has no {min(map(str, missing))} any more")
        self._first, self._values, self.origins = now, values, origins
        return True


class Originals:
    """The functions that stand under the names of jax's and msjax's modules."""

    def __init__(self):
        self._lock = threading.Lock()
        self._modules = 0  # how many Python had when they were looked for last
        self._of_jax: list[_Namespace] = []
        self._of_msjax: dict[str, _Namespace] = {}
        self._digest = ""

    def digest(self) -> str | None:
        """A digest of what stands under jax's names; None where something of jax or msjax is from elsewhere, or another one than at first."""
        with self._lock:
            if self._modules != len(sys.modules):
                self._find()
            try:
                changed = [place for place in self._of_jax if place.look()]
                if changed:
                    self._digest = hashlib.sha256(repr([place.origins for place in self._of_jax]).encode()).hexdigest()
                for place in self._of_msjax.values():
                    place.look()
            except Foreign:
                return None
            return self._digest

    def _find(self):
        """Find the modules that were imported since the last time."""
        if not self._of_jax:
            self._of_jax = [_Namespace(name, vars(importlib.import_module(name)), False) for name in _OF_JAX]
            for name in _RULES:
                for key, table in [*vars(importlib.import_module(name)).items()]:
                    if isinstance(table, dict) and key[:2] != "__":
                        inner = [v for v in table.values() if isinstance(v, dict)]  # by platform
                        self._of_jax += [_Namespace(f"{name}.{key}", each, True) for each in (table, *inner)]
        for name, module in [*sys.modules.items()]:
            if name.startswith(_OF_MSJAX) and name not in self._of_msjax and type(module) is types.ModuleType:
                self._of_msjax[name] = _Namespace(name, vars(module), False)
        self._modules = len(sys.modules)


def _is_function(name, value):
    return name[:2] != "__" and (callable(value) or value.__class__.__name__ == "Primitive")


@functools.cache
def _primitives():
    return {value for value in vars(jax.lax).values() if value.__class__.__name__ == "Primitive"}


ORIGINALS = Originals()


class Undescribable(ValueError):
    """The description of a value would not be complete."""


def description_of(fn: Callable[..., Any]) -> str | None:
    """The description of a function; None if there is none that is complete."""
    try:
        return repr(describe(fn))
    except (Undescribable, RecursionError, ValueError):  # ValueError: an empty cell
        return None


def describe(value: Any) -> Any:
    """The description of a value: a text, or nested tuples of texts.

    An object of a class of msjax is described by its class and its attribute `identity`, on which all that it computes depends.
    """
    cls = value.__class__
    if value is None or value is Ellipsis or cls in (bool, int, str, bytes):
        return cls.__name__, repr(value)
    if isinstance(value, float):
        return cls.__module__, cls.__qualname__, float.hex(value)  # distinguishes -0.0 and finds NaN again
    if cls is complex:
        return "complex", value.real.hex(), value.imag.hex()
    if cls is list or issubclass(cls, tuple):
        return cls.__qualname__, *map(describe, value)
    if cls is dict:
        return "dict", *[(describe(k), describe(v)) for k, v in value.items()]
    if cls in (set, frozenset):
        return cls.__name__, *sorted(map(describe, value), key=repr)
    if cls is slice:
        return "slice", *map(describe, (value.start, value.stop, value.step))
    if issubclass(cls, np.dtype) and value.fields is None:
        return "dtype", value.name, value.byteorder
    if cls is functools.partial:
        return "partial", *map(describe, (value.func, value.args, value.keywords))
    if cls is types.MethodType:
        return "method", describe(value.__func__), describe(value.__self__)
    if cls is types.FunctionType:
        return _of_function(value)
    found = getattr(value, "identity", None) if package_of(cls) == "msjax" else None
    if found is not None:
        return "object", cls.__module__, cls.__qualname__, describe(found)
    return _of_name(value)


def _of_function(fn):
    code = fn.__code__
    if not is_own_file(code.co_filename):
        raise Undescribable(repr(fn))
    # The last two tell lambdas of one line apart.
    place = fn.__module__, fn.__qualname__, code.co_firstlineno, zlib.crc32(code.co_linetable), zlib.crc32(code.co_code)
    held = [cell.cell_contents for cell in fn.__closure__ or ()]
    gradient = getattr(fn, "gradient", None)
    return "function", *place, *map(describe, (held, fn.__defaults__, fn.__kwdefaults__, gradient))


def _of_name(value):
    """The description of what msjax, a library or Python holds under its own name, or of jax's program of such a function."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    known = package_of(value) in PACKAGES or module in sys.stdlib_module_names - {"__main__"}
    found = sys.modules.get(str(module).replace("mindspore.", "msjax."))
    for part in str(name).split("."):
        found = getattr(found, part, None)
    if value is not None and known and found is value:
        return "named", module, name
    wrapped = getattr(value, "__wrapped__", None)
    if package_of(value.__class__) in PACKAGES and wrapped.__class__ is types.FunctionType:
        return "wrapped", value.__class__.__qualname__, _of_function(wrapped)
    raise Undescribable(repr(value))
