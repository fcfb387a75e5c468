"""The description of a function: a text that is the same in every process, and differs where the function's programs would.

It holds the function's code, closure, defaults and settings. What can't be described completely, such as a user's function or an
array in a closure, has no description, and its programs are not stored.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
from typing import Any

import numpy as np

# Modules whose functions are what they are for a version (jax, numpy) or for the files of the package (msjax).
_KNOWN = ("msjax", "jax", "jaxlib", "numpy", "ml_dtypes")


class Undescribable(ValueError):
    """The description of a value would not be complete."""


def describe(value: Any) -> Any:
    """The description of a value: a text, or nested tuples of texts.

    An object of a class of msjax is described by its attribute `identity`, on which all that it computes depends.

    Raises:
        Undescribable: there is none.
    """
    cls = value.__class__
    if value is None or value is Ellipsis or cls in (bool, int, str, bytes):
        return cls.__name__, repr(value)
    if isinstance(value, float):
        return _name(cls), float.hex(value)  # distinguishes -0.0 and finds NaN again
    if cls in (tuple, list):
        return cls.__name__, *[describe(v) for v in value]
    if cls is dict:
        return "dict", *[(describe(k), describe(v)) for k, v in value.items()]
    if cls is slice:
        return "slice", describe(value.start), describe(value.stop), describe(value.step)
    if issubclass(cls, np.dtype) and value.fields is None:
        return "dtype", value.name, value.byteorder
    if isinstance(value, functools.partial) and cls is functools.partial:
        return "partial", describe(value.func), describe(value.args), describe(value.keywords)
    if isinstance(value, types.MethodType):
        return "method", describe(value.__func__), describe(value.__self__)
    if isinstance(value, types.FunctionType) and _package(value) == "msjax":
        return _function(value)
    identity = getattr(value, "identity", None) if _package(cls) == "msjax" else None
    if identity is not None:
        return "object", _name(cls), describe(identity)
    return "named", _name(value)


def _package(value):
    return str(getattr(value, "__module__", "")).partition(".")[0]


def _name(value):
    """(module, name) of a value that a module of a known package holds under its own name."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    found = sys.modules.get(module) if isinstance(module, str) else None
    for part in str(name).split("."):
        found = getattr(found, part, None)
    if found is not value or value is None or _package(value) not in (*_KNOWN, "builtins"):
        raise Undescribable(repr(value))
    return module, name


def _function(fn):
    cells = [cell.cell_contents for cell in fn.__closure__ or ()]
    parts = (fn.__defaults__, fn.__kwdefaults__, cells, getattr(fn, "gradient", None))
    return "function", fn.__module__, fn.__qualname__, _code(fn.__code__), describe(parts)


@functools.lru_cache(4096)
def _code(code):
    """The digest of a function's code, with the code of the functions in it."""
    constants = [_code(c) if isinstance(c, types.CodeType) else _constant(c) for c in code.co_consts]
    parts = (code.co_name, code.co_firstlineno, code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _constant(value):
    return sorted(map(repr, value)) if isinstance(value, frozenset) else (value.__class__.__name__, repr(value))
