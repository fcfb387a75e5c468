"""The modules of a flax nnx model, or the cells of a network, by their paths, and how some of them are selected."""

from __future__ import annotations

import fnmatch
import functools
import inspect
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
from flax import nnx

from msjax.base.errors import describe
from msjax.base.flax_slots import is_module_state
from msjax.common.bases import is_cell

Where = str | type | Iterable[Any] | Callable[[str, Any], bool]


def paths(model: object) -> dict[str, Any]:
    """The modules of a model that can be called, by their paths; "" is the model itself.

    Args:
        model: a flax nnx module, a Cell, or what `hooked` made of another model. The modules of linen and haiku models are those
            that have run so far; of a linen module, without its variables.

    Raises:
        TypeError: it is none of these.

    Example:
        >>> import msjax as ms
        >>> from flax import nnx
        >>> list(ms.hooks.paths(nnx.Sequential(nnx.relu, nnx.Dropout(0.5))))
        ['', 'layers.1']
    """
    if is_cell(model):
        return dict(model.cells_and_names())
    registry = getattr(model, "msjax_registry", None)
    if registry is not None:
        return registry.paths(model)
    if not isinstance(model, nnx.Module):
        raise TypeError(
            f"For 'hooks', the model should be a flax nnx module or a Cell, but got {describe(model)}. Give hooks.hooked(model) "
            "of a flax linen module, an equinox model or a haiku transform."
        )
    found = [(path, module) for path, module in nnx_modules(model) if callable(module) or not path]
    # Outer modules first; within one, in the order of its attributes.
    return {".".join(path): module for path, module in sorted(found, key=lambda item: len(item[0]))}


def nnx_modules(model: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(path, module) of an nnx module and those inside, each once: those of nnx.iter_modules, outer ones first, in a tenth of its time."""
    kinds, seen, stack = {}, set(), [((), model, _kind(model))]
    while stack:
        path, value, kind = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if kind is _OTHER:
            inside = [(p, v) for p, v in nnx.iter_graph(value) if isinstance(v, nnx.Module)]
            stack += [((*path, *map(str, p)), v, _MODULE) for p, v in reversed(inside)]
            continue
        if kind is _MODULE:
            yield path, value
        is_object, inner = kind is _MODULE or kind is _OBJECT, []
        if is_object:
            items = vars(value).items()
        else:
            items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for name, v in items:
            kind = kinds.get(type(v))
            if kind is None:
                kind = kinds[type(v)] = _kind(v)
            if kind is not _LEAF and not (is_object and is_module_state(name)):
                inner.append((str(name), v, kind))
        if len(inner) > 1:
            inner.sort(key=_by_number_or_name, reverse=True)
        for name, v, kind in inner:
            stack.append(((*path, name), v, kind))


# What a value is for `nnx_modules`; other pytrees are those that only jax knows.
_LEAF, _MODULE, _OBJECT, _CONTAINER, _OTHER = range(5)


def _kind(value):
    if isinstance(value, nnx.Variable):
        return _LEAF
    if isinstance(value, nnx.Pytree):
        return _MODULE if isinstance(value, nnx.Module) else _OBJECT
    if isinstance(value, (list, tuple, Mapping)):
        return _CONTAINER
    return _LEAF if value is None or jax.tree_util.all_leaves([value]) else _OTHER


def _by_number_or_name(item):
    name = item[0]
    return (0, int(name), "") if name.isdigit() else (1, 0, name)


def selected(modules: dict[str, Any], where: Where) -> dict[str, Any]:
    """The modules that `where` selects; ValueError if it selects none."""
    chosen = {name: module for name, module in modules.items() if matches(name, module, where)}
    if not chosen:
        there = ", ".join(map(repr, list(modules)[:30])) + (", ..." if len(modules) > 30 else "")
        raise ValueError(f"For 'register_hook', no module matches where={where!r}; the paths are {there}.")
    return chosen


def selected_methods(model: nnx.Module, where: Where) -> list[tuple[str, nnx.Module, str]]:
    """(path, module, name of the method) of the calls that `where` selects in an nnx model; ValueError if it selects none."""
    return selected_calls(paths(model), where, lambda: ((".".join(path), module) for path, module in nnx_modules(model)))


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


def subclasses(namespace_of: Callable[[type, tuple[str, ...]], dict[str, Any]]) -> Callable[[type, tuple[str, ...]], type]:
    """A decorator: from what gives the namespace for a class and names of its methods, to what gives the `subclass` with it.

    Each is made once, so that modules of one class stay of one class, and jax finds its programs.
    """
    made: weakref.WeakKeyDictionary[type, dict[tuple[str, ...], type]] = weakref.WeakKeyDictionary()

    @functools.wraps(namespace_of)
    def of(cls, methods):
        classes = made.setdefault(cls, {})
        if methods not in classes:
            classes[methods] = subclass(cls, namespace_of(cls, methods))
        return classes[methods]

    return of


def subclass(cls: type, namespace: dict[str, Any]) -> type:
    """A subclass of a module's class under its name: Python looks ``__call__`` up in the class. It is a pytree if the class is one."""
    is_pytree = not jax.tree_util.all_leaves([object.__new__(cls)])
    namespace = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, **namespace}
    return types.new_class(cls.__name__, (cls,), {"pytree": is_pytree}, lambda body: body.update(namespace))
