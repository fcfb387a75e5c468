"""Whether the code of msjax and of flax in this process is what their files say, as `libraries` says it of jax and numpy.

What is traced as a whole, such as a step of training, runs through all of msjax: not only operators, but cells, hooks and the tape.
"""

from __future__ import annotations

import functools
import operator
import os
import sys
import threading
import types
import zlib
from typing import Any

from msjax.engine.programs.libraries import Foreign, place

_PACKAGES = ("msjax", "mindspore", "flax")
# What has no part in tracing.
_WITHOUT = ("flax.linen", "msjax.engine.programs.", "msjax.core.base.disk_cache", "msjax.core.base.cache_list")


class OwnState:
    """What the modules of msjax and flax hold under each name, classes included."""

    def __init__(self):
        self._lock = threading.Lock()
        # {name of a module: (what it held, {name: number of what stands there}, or what is foreign in it)}
        self._modules: dict[str, tuple[list[Any], dict[str, int] | Foreign]] = {}
        self._foreign = ""

    def now(self) -> dict[str, dict[str, int]] | None:
        """What stands under the names of the modules that were imported so far, as {module: {name: a number that tells it}}.

        Functions and classes under their own names are left out: the files say what they are. None if one is from elsewhere.
        """
        with self._lock:
            found = {}
            for name, module in list(sys.modules.items()):
                ours = name.partition(".")[0] in _PACKAGES and not name.startswith(_WITHOUT)
                if not ours or type(module) is not types.ModuleType or module.__name__ != name:
                    continue
                held, known = _held(module), self._modules.get(name)
                if known is None or len(known[0]) != len(held) or not all(map(operator.is_, known[0], held)):
                    known = self._modules[name] = held, _named(module)
                if isinstance(known[1], Foreign):
                    self._foreign = f"{name} holds {known[1]}"
                    return None
                found[name] = known[1]
            return found

    def why(self) -> str | None:
        """What is from elsewhere, if `now` returns None."""
        return self._foreign if self.now() is None else None

    def agrees(self, earlier: dict[str, dict[str, int]]) -> bool:
        """Whether what `now` said in another process holds here, where fewer names may have been imported."""
        return self.other_than(earlier) is None

    def other_than(self, earlier: dict[str, dict[str, int]]) -> str | None:
        """What does not agree with what `now` said in another process; None if all does."""
        now = self.now()
        if now is None:
            return self._foreign
        for module, before in earlier.items():
            there = now.get(module, {})
            other = [name for name, number in there.items() if before.get(name) != number]
            # What stood under another's name there may not stand here under its own.
            other += [name for name in before.keys() - there.keys() if _is_there(module, name)]
            if other:
                return f"{module}.{other[0]} is another one than when its program was stored"
        return None


def _is_there(module, name):
    value = sys.modules.get(module)
    for part in name.split("."):
        if value is None or part not in vars(value):
            return False
        value = vars(value)[part]
    return True


def _held(module):
    """The objects by which a change shows: what stands under the names, in the module's own classes, and the code of functions."""
    held = [*vars(module).values()]
    for value in held[:]:
        if isinstance(value, type) and value.__module__ == module.__name__:
            held += vars(value).values()
    held += [value.__code__ for value in held if value.__class__ is types.FunctionType]
    return held


def _named(module):
    found = {}
    try:
        for name, value in vars(module).items():
            # Modules and packages get the names of what is imported later.
            if (name.startswith("__") and name.endswith("__")) or isinstance(value, types.ModuleType):
                continue
            identity = _identity(value)
            if not is_at_home(name, value):
                found[name] = zlib.crc32(repr(identity).encode())
            if isinstance(value, type) and value.__module__ == module.__name__:
                members = {key: _identity(member) for key, member in vars(value).items() if key not in _OF_CLASSES}
                odd = {
                    key: v for key, v in members.items() if not (v.__class__ is tuple and v[0] == f"{value.__qualname__}.{key}")
                }
                found |= {f"{name}.{key}": zlib.crc32(repr(v).encode()) for key, v in odd.items()}
    except Foreign as foreign:
        return foreign.with_traceback(None)
    return found


def is_at_home(name: str, value: Any) -> bool:
    """Whether a function or class stands under this name, its own, in the module that defined it."""
    if value.__class__ is not types.FunctionType and not isinstance(value, type):
        return False
    home = sys.modules.get(str(value.__module__).replace("mindspore.", "msjax."))
    # Not by getattr, by which modules import.
    return value.__qualname__ == name and getattr(home, "__dict__", {}).get(name) is value


# What classes get while they are used.
_OF_CLASSES = frozenset(
    ("__doc__", "__module__", "__firstlineno__", "__abstractmethods__", "_abc_impl", "__annotations__", "_structure_version")
)


def _identity(value):
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    elif isinstance(value, property):
        return [_identity(f) for f in (value.fget, value.fset)]
    elif isinstance(value, functools.cached_property):
        value = value.func
    cls = value.__class__
    if cls is types.FunctionType:
        return _of_function(value)
    if cls in (int, float, str, bool, bytes, type(None)):
        return repr(value)
    if isinstance(value, type):
        return "class", value.__module__, value.__qualname__
    # Not by getattr: objects of flax warn of that.
    inner = _attributes(value).get("__wrapped__")
    return cls.__module__, cls.__qualname__, _of_function(inner) if inner.__class__ is types.FunctionType else None


def _attributes(value):
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}


def _of_function(fn):
    code = fn.__code__
    return fn.__qualname__, place_of(code.co_filename, fn), code.co_firstlineno


def place_of(file: str, fn: types.FunctionType) -> str:
    """The place of the file of a function that belongs to msjax, flax, a library or Python.

    Raises:
        Foreign: it belongs to nobody of these.
    """
    found = place(file)
    if found is None and file.startswith(_flax()):
        found = f"flax/{file[len(_flax()) :]}"
    if found is None and fn.__module__ == "typing_extensions":  # decorators of classes, which do nothing
        found = "typing_extensions"
    if found is None and file.startswith("<"):
        # Methods of data classes and of named tuples are made of texts, which have the names of their modules.
        owner = str(fn.__globals__.get("__name__")).partition(".")[0]
        found = file if owner in ("msjax", "flax", "builtins") or owner.startswith("namedtuple_") or owner in _STANDARD else None
    if found is None:
        raise Foreign(f"{fn.__qualname__} of {file}")
    return found


_STANDARD = sys.stdlib_module_names - {"__main__"}


@functools.cache
def _flax():
    import flax

    return os.path.dirname(str(flax.__file__)) + os.sep


OWN_STATE = OwnState()
