"""How modules are selected by their paths."""

from __future__ import annotations

import fnmatch
import inspect
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from msjax.core.base.checks import check_kind
from msjax.core.base.errors import called, check_function, describe, near
from msjax.core.base.weak import identity

# A path or glob over paths, a type, a function of (path, module), or several of these.
Where = str | type | Iterable[Any] | Callable[[str, Any], bool]
_SEVERAL = (list, tuple, set, frozenset)


def no_match(modules: dict[str, Any], where: Where, who: str) -> ValueError:
    """The error that no module is selected; it lists those that there are."""
    there = ", ".join(map(repr, list(modules)[:30])) + (", ..." if len(modules) > 30 else "")
    texts = [text for text in (where if isinstance(where, (list, tuple)) else [where]) if isinstance(text, str)]
    close = near(texts[0], modules) if texts else ""
    if any(sign in text for text in texts for sign in ":/@"):
        close += "; hooks are on modules: what goes into them and operations in them are places of hooks.capture, whose edit= changes them"
    return ValueError(f"For '{called(who)}', no module matches where={where!r}; the paths are {there}{close}.")


def check_texts(modules: dict[str, Any], where: Where, who: str, names: Iterable[str]) -> None:
    """ValueError for a text in a list `where` that selects none of the names of the calls that the list selects."""
    for one in where if isinstance(where, _SEVERAL) else ():
        if isinstance(one, str) and not any(fnmatch.fnmatchcase(name, one) for name in names):
            raise no_match(modules, one, who)


def why_not_called(module: Any) -> str | None:
    """Why a module has no call that hooks could run around; None if it has one."""
    return None if callable(module) else "it has no __call__, so that a hook would never run"


def selected_calls(
    modules: dict[str, Any],
    where: Where,
    who: str,
    with_methods: Callable[[], Iterable[tuple[str, Any]]] | None = None,
    why_not: Callable[[Any], str | None] = why_not_called,
) -> list[tuple[str, Any, str]]:
    """(path, module, name of the method) of the calls that `where` selects; ValueError if it, or a text in it, selects none that can be hooked.

    That is ``__call__``, but for a text whose last part names another method of a module, such as "embed.attend".

    Args:
        modules: {path: module} of those that can be called.
        with_methods (callable, optional): returns (path, module) of those with other methods; by default they are the same.
        why_not (callable): why a module's call can't be hooked, or None.
    """
    if callable(where) and not isinstance(where, type):
        check_function(where, who, "where", ("path", "module"))
    methods = named_methods(with_methods or modules.items, where)
    matching = [(name, module, "__call__") for name, module in modules.items() if matches(name, module, where, who)]
    if not matching and not methods:
        raise no_match(modules, where, who)
    check_texts(modules, where, who, [call_name(*call[::2]) for call in (*matching, *methods)])
    reasons = [why_not(module) for _, module, _ in matching]
    chosen = [call for call, reason in zip(matching, reasons) if reason is None]
    if not chosen and not methods:
        name, module, _ = matching[0]
        raise ValueError(f"For '{called(who)}', {name or 'the model'!r} ({type(module).__name__}) takes no hooks: {reasons[0]}.")
    return [*chosen, *methods]


def named_methods(modules: Callable[[], Iterable[tuple[str, Any]]], where: Where) -> list[tuple[str, Any, str]]:
    """(path, module, name of the method) where a text in `where` ends in the name of a method."""
    found = []
    for text in where if isinstance(where, _SEVERAL) else [where]:
        prefix, _, method = text.rpartition(".") if isinstance(text, str) else ("", "", "")
        if method.isidentifier():
            for name, module in modules():
                if fnmatch.fnmatchcase(name, prefix) and inspect.isfunction(getattr(type(module), method, None)):
                    found.append((name, module, method))
    return found


def call_name(path: str, method: str) -> str:
    """The name of a module's call: its path, and that of another method than ``__call__``."""
    return path if method == "__call__" else f"{path}.{method}".lstrip(".")


def matches(name: str, module: object, where: Where, who: str = "where") -> bool:
    """Whether `where` selects a module."""
    if isinstance(where, _SEVERAL):
        return any(matches(name, module, one, who) for one in where)
    if isinstance(where, str):
        return fnmatch.fnmatchcase(name, where)
    if isinstance(where, type):
        return isinstance(module, where)
    if callable(where):
        return bool(where(name, module))
    raise TypeError(
        f"For '{called(who)}', 'where' should be a path, a type, a function or a list of these, but got {describe(where)}."
    )


def names_of(at: Any, name: str, who: str) -> tuple[str, ...]:
    """The names, from one or several; TypeError if argument `name` is something else."""
    several = isinstance(at, Iterable) and not isinstance(at, (str, dict)) and not hasattr(at, "shape")
    names: tuple[Any, ...] = tuple(at) if several else (at,)
    check_kind(at, all(isinstance(each, str) for each in names), "be a name, or a list of names", name, called(who))
    return names


def where_key(where: Any) -> Hashable:
    """A hashable key: equal for values of `where` that select the same modules of every model; functions count by identity."""
    if isinstance(where, _SEVERAL):
        return tuple([where_key(one) for one in where])
    return where if isinstance(where, (str, type)) else identity(where)
