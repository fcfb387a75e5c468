"""Lazy attributes of modules, and errors for unsupported names."""

from __future__ import annotations

import dis
import functools
import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType


# Sentences for parts of MindSpore that several of its modules offer and msjax does not.
NO_MINDRECORD = (
    "only an outline of the format of MindRecord files is published, so msjax neither reads nor writes them. Let MindSpore write the rows into "
    "another format once, such as .npz; NumpySlicesDataset or GeneratorDataset then takes them."
)
_IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def module_placeholders(module: str, placeholders: Mapping[str, str] = MappingProxyType({})) -> Callable[..., Any]:
    """A module's ``__getattr__`` that raises an error saying that msjax doesn't offer the name.

    Args:
        module (str): the module's name.
        placeholders (Mapping): {name: sentence} of names that programs import but may never use, and what to do without
            them. Importing them works; calling them raises NotImplementedError with the sentence.
    """

    def __getattr__(name):
        return placeholder_or_error(module, name, placeholders, sys._getframe(1))

    return __getattr__


def placeholder_or_error(module: str, name: str, placeholders: Mapping[str, str], caller: FrameType) -> Any:
    """Return the placeholder for a name that msjax doesn't offer; raise `missing_name_error` if it has none."""
    if name in placeholders:
        return placeholder(module, name, placeholders[name])
    raise missing_name_error(f"{_in_mindspore(module)}.{name}", caller)


def class_placeholders(module: str, sentence: str) -> Callable[..., Any]:
    """A module's ``__getattr__`` with a `placeholder` for every capitalized name; other names raise an error."""

    def __getattr__(name):
        return placeholder_or_error(module, name, {name: sentence} if name[:1].isupper() else {}, sys._getframe(1))

    return __getattr__


def _in_mindspore(module):
    return module.replace("msjax", "mindspore", 1)


class _PlaceholderType(type):
    def __getattr__(cls, name: str) -> Any:
        raise AttributeError(f"{cls._sentence} So it has no {name!r}.")


@functools.cache
def placeholder(module: str, name: str, sentence: str) -> Any:
    """A class for a name that msjax doesn't offer: it can be imported and subclassed, and calling it raises an error.

    Args:
        module (str): its module, such as "msjax.ops".
        name (str): its name.
        sentence (str): why it is missing, or what to use instead.
    """
    full = f"msjax doesn't offer {_in_mindspore(module)}.{name}: {sentence}"

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(full)

    return _PlaceholderType(name, (), {"__new__": __new__, "__module__": module, "__doc__": full, "_sentence": full})


def is_placeholder(value: Any) -> bool:
    """Whether a value is a `placeholder`."""
    return isinstance(value, _PlaceholderType)


def missing_name_error(shown: str, caller: FrameType) -> Exception:
    """The exception for a missing name: ImportError if `caller` (a frame) runs a from-import, else AttributeError."""
    message = f"msjax doesn't offer {shown}."
    # In a from-import, Python replaces the message of an AttributeError by "cannot import name".
    code = caller.f_code.co_code
    if 0 <= caller.f_lasti < len(code) and code[caller.f_lasti] == _IMPORT_FROM:
        return ImportError(message, name=shown.rpartition(".")[2])
    return AttributeError(message)


def module_getattr(
    package: str, module: str, placeholders: Mapping[str, str] = MappingProxyType({})
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__getattr__`` and ``__dir__`` that load the rest of its names from one of its modules on first use.

    Args:
        package, module (str): their names, the module's within the package.
        placeholders (Mapping): as in `module_placeholders`.
    """
    own = sys.modules[package].__dict__

    def load():
        offering = importlib.import_module(f"{package}.{module}")
        for name in getattr(offering, "__all__", None) or [name for name in vars(offering) if not name.startswith("_")]:
            own.setdefault(name, getattr(offering, name))

    def __getattr__(name):
        if name == "__all__":
            return [name for name in __dir__() if not name.startswith("_")]
        if not name.startswith("_"):
            # `from package import module` calls __getattr__ before it looks for the module.
            if importlib.util.find_spec(f"{package}.{name}") is not None:
                return importlib.import_module(f"{package}.{name}")
            load()
        return own[name] if name in own else placeholder_or_error(package, name, placeholders, sys._getframe(1))

    def __dir__():
        load()
        return sorted(own)

    return __getattr__, __dir__


def lazy_names(package: str, names: dict[str, Any]) -> Callable[..., Any]:
    """A package's ``__getattr__`` for names that are imported on first use: {name: module}."""

    def __getattr__(name):
        if name not in names:
            raise AttributeError(f"{package} has no {name!r}.")
        value = getattr(importlib.import_module(names[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__


def lazy_function(module: str, name: str) -> Callable[..., Any]:
    """A function whose module is imported at the first call."""

    def call(*args, **kwargs):
        return getattr(importlib.import_module(module), name)(*args, **kwargs)

    return call


def gather(
    package: str, modules: str | None = None, family: str | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__getattr__`` and ``__dir__`` that offer what its modules list in ``__all__``, imported on first use.

    Args:
        package (str): its name.
        modules (str, optional): the modules' names within it, separated by spaces; by default all of its modules.
        family (str, optional): a package in which other names are looked up, since MindSpore has some of them under
            another topic.
    """
    own = sys.modules[package].__dict__

    @functools.cache
    def offered():
        names = modules.split() if modules is not None else [found.name for found in pkgutil.iter_modules(own["__path__"])]
        loaded = [importlib.import_module(f"{package}.{name}") for name in names]
        return {name: module for module in loaded for name in getattr(module, "__all__", ())}

    def __getattr__(name):
        if name == "__all__":
            # Stored in the package, where `from package import *` looks up each name.
            own.update((offer, getattr(module, offer)) for offer, module in offered().items())
            own["__all__"] = sorted(offered())
            return own["__all__"]
        if not name.startswith("_"):
            if importlib.util.find_spec(f"{package}.{name}") is not None:
                return importlib.import_module(f"{package}.{name}")
            module = offered().get(name)
            if module is not None:
                return getattr(module, name)
            if family is not None and hasattr(importlib.import_module(family), name):
                return getattr(importlib.import_module(family), name)
        raise missing_name_error(f"{_in_mindspore(package)}.{name}", sys._getframe(1))

    def __dir__():
        return sorted(offered())

    return __getattr__, __dir__


def passing_on(module: str, package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A module's ``__getattr__`` and ``__dir__`` that forward to a package which MindSpore offers under a second name."""

    def __getattr__(name):
        offered = importlib.import_module(package)
        if not hasattr(offered, name):
            raise missing_name_error(f"{_in_mindspore(module)}.{name}", sys._getframe(1))
        return getattr(offered, name)

    def __dir__():
        return dir(importlib.import_module(package))

    return __getattr__, __dir__
