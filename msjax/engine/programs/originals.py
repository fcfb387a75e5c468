"""Whether functions of jax and msjax are their own in this process: where somebody has replaced one, as tests and debugging do, programs on disk are
of other functions."""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import sys
import sysconfig
import threading
import types
from operator import is_
from typing import Any

import jax

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
