"""Names that modules import on first use, and placeholders and errors for names that msjax doesn't offer."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.util
import linecache
import sys
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType


# What a module imports to use `on_first_use`.
_NOT_OFFERED = {"TYPE_CHECKING", "on_first_use"}


def on_first_use(
    module: str,
    placeholders: Mapping[str, str] | None = MappingProxyType({}),
    *,
    elsewhere: str | None = None,
    door: str | None = None,
) -> tuple[Callable[..., Any], Callable[[], list[str]]]:
    """A module's ``__getattr__`` and ``__dir__``, which import on first use what it offers type checkers.

    Each name stands once, where type checkers read it::

        if TYPE_CHECKING:
            from msjax import nn as nn  # a module, imported when `nn` is first used
            from msjax.train import Model as Model  # a name
            from msjax.nn.layer import *  # all names of a module, imported when a name is used that no other line has
        else:
            __getattr__, __dir__ = on_first_use(__name__)

    Like type checkers, it takes ``import y`` without ``as y`` for the module's own use. The modules in a package are its
    attributes even where no line has them.

    Args:
        module (str): the module's name.
        placeholders (Mapping, optional): {pattern: sentence} of names that programs import but may never use, such as
            "RowTensor" or "*Dataset", and what to do without them; the first pattern that fits counts. Importing such a name
            works; calling it raises NotImplementedError with the sentence. None for a module that MindSpore doesn't have,
            whose errors don't speak of MindSpore.
        door (str, optional): the module that passes the names on, and whose attributes they are to users; it gives ``__getattr__`` the
            frame of the code that asks as a second argument. Default: the module itself.
        elsewhere (str, optional): a module in which other names are looked up, since MindSpore offers them in both.
    """
    own, door = sys.modules[module].__dict__, door or module

    @functools.cache
    def offered():
        """{name: module} of the imports, and the modules whose names are all offered."""
        imports = _imports_for_others(module)
        return {name: source for source, name in imports if name != "*"}, [source for source, name in imports if name == "*"]

    kept = []

    def starred():
        """{name: value} of the names that the stars stand for, which are put into the module as soon as all are there."""
        if kept:
            return kept[0]
        found, whole = {}, True
        for source in map(importlib.import_module, offered()[1]):
            names = getattr(source, "__all__", None)
            names = [name for name in vars(source) if not name.startswith("_")] if names is None else names
            found.update((name, getattr(source, name)) for name in names)
            # While a module is being imported, as where it is what leads here, it has not all of its names.
            whole = whole and not getattr(source.__spec__, "_initializing", False)
        if whole:
            for name in found.keys() - offered()[0].keys():
                own.setdefault(name, found[name])
            kept.append(found)
        return found

    def __getattr__(name, caller=None):
        named, stars = offered()
        if name == "__all__" and (named or stars):
            # A star imports no modules that weren't imported before.
            later = {offer for offer, source in named.items() if source == door} - own.keys()
            return sorted(offer for offer in (starred().keys() | named.keys()) - later if not offer.startswith("_"))
        if name in named:
            within = named[name] == door
            source = importlib.import_module(f"{door}.{name}" if within else named[name])
            return own.setdefault(name, source if within else getattr(source, name))
        if not name.startswith("_"):
            # `from package import module` calls __getattr__ before it looks for the module.
            if "__path__" in own and importlib.util.find_spec(f"{module}.{name}") is not None:
                return importlib.import_module(f"{module}.{name}")
            found = starred()
            if name in found:
                return own.get(name, found[name])
            if elsewhere is not None and hasattr(importlib.import_module(elsewhere), name):
                return getattr(importlib.import_module(elsewhere), name)
        return _placeholder_or_error(door, name, placeholders, caller or sys._getframe(1))

    def __dir__():
        return sorted((starred().keys() | offered()[0].keys() | own.keys()) - _NOT_OFFERED)

    return __getattr__, __dir__


def _imports_for_others(module: str) -> list[tuple[str, str]]:
    """(module, name) of the imports under another module's ``if TYPE_CHECKING`` and beside it that are for others, "*" for a star.

    Empty if there is no such block.
    """
    names = vars(sys.modules[module])
    # Not by the loader's get_source: pytest's, which loads a plugin's packages, has none.
    source = "".join(linecache.getlines(names["__spec__"].origin, names))
    if not source:
        raise ImportError(f"{module} reads the names that it offers from its source, which is not there.", name=module)
    body = ast.parse(source).body
    blocks = [node.body for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in (body, *blocks) for node in block if isinstance(node, ast.ImportFrom)]
    found = [(node.module or "", a.name) for node in imports for a in node.names if a.name == "*" or a.name == a.asname]
    return found if blocks else []


def _placeholder_or_error(module: str, name: str, placeholders: Mapping[str, str] | None, caller: FrameType) -> Any:
    for pattern, sentence in (placeholders or {}).items():
        if fnmatchcase(name, pattern) and not name.startswith("__"):
            return placeholder(module, name, sentence)
    if placeholders is None:
        raise AttributeError(f"{module} has no {name!r}.")
    raise missing_name_error(f"{_in_mindspore(module)}.{name}", caller)


def _in_mindspore(module):
    return module.replace("msjax", "mindspore", 1)


class _PlaceholderType(type):
    def __getattr__(cls, name: str) -> Any:
        raise AttributeError(f"{cls._sentence} So it has no {name!r}.")


@functools.cache
def placeholder(module: str, name: str, sentence: str) -> Any:
    """A class for a name that a module, such as "msjax.ops", doesn't offer: it can be imported and subclassed, and calling it raises an error with
    the sentence, which says why it is missing, or what to use instead.
    """
    full = f"msjax doesn't offer {_in_mindspore(module)}.{name}: {sentence}"

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(full)

    return _PlaceholderType(name, (), {"__new__": __new__, "__module__": module, "__doc__": full, "_sentence": full})


def is_placeholder(value: object) -> bool:
    """Whether a value is a `placeholder`."""
    return isinstance(value, _PlaceholderType)


def missing_name_error(shown: str, caller: FrameType) -> Exception:
    """The exception for a missing name: ImportError if `caller` (a frame) runs a from-import, else AttributeError."""
    from msjax.core.base.code import imports_from  # needed for errors only

    message = f"msjax doesn't offer {shown}."
    # In a from-import, Python replaces the message of an AttributeError by "cannot import name".
    if imports_from(caller):
        return ImportError(message, name=shown.rpartition(".")[2])
    return AttributeError(message)


def tensorboardx(who: str, otherwise: str = "") -> Any:
    """The package tensorboardX, which writes TensorBoard's files; ModuleNotFoundError where it is not installed, with the name of the function
    that needs it, and a sentence about what needs it not."""
    try:
        import tensorboardX
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"For '{who}', writing for TensorBoard needs tensorboardX: pip install 'msjax[tools]'. {otherwise}".rstrip()
        ) from None
    return tensorboardX
