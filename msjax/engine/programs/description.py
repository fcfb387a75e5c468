"""The description of a function: a text that is the same in every process, and differs where the function's programs would.

It names the function and what is bound to it: closures, defaults and settings. What the code is that stands under these names, the digest of
msjax's files and the versions of libraries tell. What can't be described, such as a user's function or an array in a closure, is not stored.
"""

from __future__ import annotations

import functools
import sys
import types
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from msjax.engine.programs.originals import PACKAGES, is_own_file, package_of


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
