"""What a module says of a name that it lacks."""

import dis
import importlib
import sys

_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def missing_name(module: str):
    """A module's ``__getattr__``: AttributeError, or ImportError in ``from module import name``, that says that msjax doesn't offer it."""
    shown = module.replace("msjax", "mindspore", 1)

    def __getattr__(name):
        raise missing(f"{shown}.{name}", sys._getframe(1))

    return __getattr__


def missing(shown: str, caller) -> Exception:
    """The exception for a name that isn't offered, as `caller` (a frame) asked for it."""
    message = f"msjax doesn't offer {shown}."
    # An AttributeError from a module becomes "cannot import name" in a from-import, and its sentence would be lost.
    code = caller.f_code.co_code
    if 0 <= caller.f_lasti < len(code) and code[caller.f_lasti] == _IMPORT_FROM:
        return ImportError(message, name=shown.rpartition(".")[2])
    return AttributeError(message)


def later(package: str, names: dict):
    """A package's ``__getattr__`` for names that are imported when they are first used: {name: module of the package}."""

    def __getattr__(name):
        if name not in names:
            raise AttributeError(f"{package} has no {name!r}.")
        value = getattr(importlib.import_module(f"{package}.{names[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
