"""How modules are selected by their paths."""

from __future__ import annotations

import fnmatch
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from msjax.base.errors import describe

# A path or glob over paths, a type, a function of (path, module), or several of these.
Where = str | type | Iterable[Any] | Callable[[str, Any], bool]


def selected(modules: dict[str, Any], where: Where) -> dict[str, Any]:
    """The modules that `where` selects; ValueError if it selects none."""
    chosen = {name: module for name, module in modules.items() if matches(name, module, where)}
    if not chosen:
        there = ", ".join(map(repr, list(modules)[:30])) + (", ..." if len(modules) > 30 else "")
        raise ValueError(f"For 'register_hook', no module matches where={where!r}; the paths are {there}.")
    return chosen


def selected_calls(
    modules: dict[str, Any], where: Where, with_methods: Callable[[], Iterable[tuple[str, Any]]] | None = None
) -> list[tuple[str, Any, str]]:
    """(path, module, name of the method) of the calls that `where` selects; ValueError if it selects none.

    That is ``__call__``, but for a text whose last part names another method of a module, such as "embed.attend".

    Args:
        modules: {path: module} of those that can be called.
        with_methods (callable, optional): returns (path, module) of those with other methods; by default they are the same.
    """
    methods = named_methods(with_methods or modules.items, where)
    chosen = [(name, module, "__call__") for name, module in modules.items() if matches(name, module, where)]
    if not chosen and not methods:
        selected(modules, where)
    return [*chosen, *methods]


def named_methods(modules: Callable[[], Iterable[tuple[str, Any]]], where: Where) -> list[tuple[str, Any, str]]:
    """(path, module, name of the method) where a text in `where` ends in the name of a method."""
    found = []
    for text in where if isinstance(where, (list, tuple, set, frozenset)) else [where]:
        prefix, _, method = text.rpartition(".") if isinstance(text, str) else ("", "", "")
        if method.isidentifier():
            for name, module in modules():
                if fnmatch.fnmatchcase(name, prefix) and inspect.isfunction(getattr(type(module), method, None)):
                    found.append((name, module, method))
    return found


def call_name(path: str, method: str) -> str:
    """The name of a module's call: its path, and that of another method than ``__call__``."""
    return path if method == "__call__" else f"{path}.{method}".lstrip(".")


def matches(name: str, module: object, where: Where) -> bool:
    """Whether `where` selects a module."""
    if isinstance(where, (list, tuple, set, frozenset)):
        return any(matches(name, module, one) for one in where)
    if isinstance(where, str):
        return fnmatch.fnmatchcase(name, where)
    if isinstance(where, type):
        return isinstance(module, where)
    if callable(where):
        return bool(where(name, module))
    raise TypeError(
        f"For 'register_hook', 'where' should be a path, a type, a function or a list of these, but got {describe(where)}."
    )
