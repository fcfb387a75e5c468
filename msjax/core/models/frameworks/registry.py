"""Hooks on models of linen, equinox and haiku, whose modules are made anew for each run, or with each change: by path, in one registry,
which all copies of the hooked model share.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import jax

from msjax.core.base.weak import FreeNumbers
from msjax.core.hooks.hook import Hook, HookSite, HookTable, RemovableHandle
from msjax.core.hooks.places import HOOKED_WITH, module_call
from msjax.core.hooks.values import ModuleSubject
from msjax.core.models.array_hooks import call_with_array_hooks
from msjax.core.models.frameworks.framework import Framework, Pure
from msjax.core.models.hook_registry import HookRegistry, Registration, handle_of
from msjax.core.models.where import Where, call_name, check_texts, matches, named_methods, no_match, selected_calls, where_key


def _tell_jax():
    """Make the hooks that models have now part of jax's cache key."""
    keys = [key for model in HookSite.models_with_hooks if (key := model.key) is not None]
    HOOKED_WITH.set_global(tuple(sorted(keys, key=lambda key: key[0])) or None)


# The numbers of hooked models that live.
NUMBERS = FreeNumbers()


class ModuleAt(HookSite):
    """A module of a hooked model, by its path. It stands on the module, as the attribute `array_hooks.SITE`.

    In an equinox module it is part of the structure: it stays the same when hooks come and go, so that an optimizer's state fits.
    """

    __slots__ = ("__weakref__", "_registry", "cls_name", "path")

    def __init__(self, registry: Registry, path: str, cls: str):
        self._registry = registry.held()
        self.path: str = path
        self.cls_name: str = cls

    @property
    def registry(self) -> Registry | None:
        """The hooks of its model; None once that is gone."""
        return self._registry()

    @property
    def tables(self) -> dict[str, HookTable]:
        """{name of a method: its present hooks}."""
        return {} if self.registry is None else self.registry.tables_at(self.path)

    def __repr__(self) -> str:
        return f"<hooks of {self.path or 'the model'} ({self.cls_name})>"


class Registry(HookRegistry, Framework):
    """The hooks of a hooked model, and what is asked of the framework of that model.

    Attributes:
        number: no other living Registry has it: programs of one that is gone are found again for one that has the same hooks.
        modules: {path: module} of those that have run so far, for models that make their modules while they run, but None for the model;
            of other models, None for each known module.
    """

    def __init__(self):
        super().__init__()
        self.modules: dict[str, Any] = {}
        self._checked = False  # whether nothing has come since `check` found all hooks at their modules
        self.number = self.new_number()
        # Weakly, so that the registry goes with the model, not when Python looks for cycles.
        self._at: weakref.WeakValueDictionary[tuple[str, str], ModuleAt] = weakref.WeakValueDictionary()
        # {(module, name of the method): which definition of it runs}, of a thread.
        self._running_methods = threading.local()
        weakref.finalize(self, _tell_jax).atexit = False

    # Whether all modules are known before the model runs: then two hooks on the same ones are on the same ones forever.
    complete = False

    @property
    def key(self) -> tuple[Any, ...] | None:
        """Equal as long as programs with the hooks are the same; None without hooks."""
        if not self._rows:
            return None
        rows = self._in_order()
        return self.number, *[(r.kind, frozenset(r.calls) if self.complete else where_key(r.where), r.hook.key) for r in rows]

    def held(self) -> Callable[[], Registry | None]:
        """What gives a module its registry: a weak reference, since the registry keeps modules that have run."""
        return weakref.ref(self)

    def new_number(self) -> int:
        """A number that no other registry has as long as this one is there."""
        return NUMBERS.of(self)

    def life(self) -> object:
        """An object that lives as long as the hooked model does."""
        return self

    def changed(self) -> None:
        self._checked = False
        (HookSite.models_with_hooks.add if self._rows else HookSite.models_with_hooks.discard)(self)
        _tell_jax()

    def at(self, path: str, cls: type) -> ModuleAt:
        """The module at a path, which is of that class."""
        name = cls.__name__
        return self._at.get((path, name)) or self._at.setdefault((path, name), ModuleAt(self, path, name))

    def paths(self, model: Any) -> dict[str, Any]:
        return dict(self.modules)

    def registries(self, model: Any) -> list[tuple[str, HookRegistry]]:
        return [("", self)]

    def register(self, model: Any, kind: str, hook: Hook, where: Where, prepend: bool) -> RemovableHandle:
        row = Registration(kind, hook, prepend, where, [], self.chosen(self.paths(model), where, _who(kind)))
        self.add(row)
        return handle_of(hook, row.registries)

    def pure(self, model: Any) -> Pure:
        def run(model, options, args, kwargs):
            return *options.of_function(model)(*args, **kwargs), None

        return Pure("equinox", model, run, owner=self.life())

    def function(self, model: Any) -> Callable[..., Any]:
        """What is called to run a hooked model."""
        return model.apply

    def weights(self, model: Any, inputs: Any) -> list[tuple[str, Any, bool]]:
        """(dotted name, array, whether it is trained) of what a hooked model computes with, which may be among its inputs."""
        raise NotImplementedError

    def chosen(self, modules: dict[str, Any], where: Where, who: str) -> set[str]:
        """The names of the calls that `where` selects, of the modules that are known; ValueError if it selects none of them."""
        return {call_name(path, method) for path, _, method in selected_calls(modules, where, who)} if modules else set()

    def unhookable(self, model: Any) -> dict[str, str]:
        return {}

    def see(self, path: str, module: object) -> None:
        """Note a module that runs."""
        if path in self.modules:
            return
        self.modules[path] = module
        self._checked = False
        for row in self._rows:
            methods = named_methods(lambda: [(path, module)], row.where)
            row.calls |= {call_name(path, method) for _, _, method in methods}
            if matches(path, module, row.where, _who(row.kind)):
                row.calls.add(path)
        self._tables.clear()

    def check(self) -> None:
        """ValueError if a hook, or a text in its `where`, was registered for modules that the model, which has run, doesn't have."""
        for row in () if self._checked else self._rows:
            if not row.calls:
                raise no_match(self.modules, row.where, _who(row.kind))
            check_texts(self.modules, row.where, _who(row.kind), row.calls)
        self._checked = True

    def tables_at(self, path: str) -> dict[str, HookTable]:
        """{name of a method: its hooks} of a module."""
        inside = f"{path}.".lstrip(".")
        calls = [name for row in self._rows for name in row.calls if name not in self.modules and name.startswith(inside)]
        methods = [name[len(inside) :] for name in dict.fromkeys(calls)]
        return {"__call__": self.table(path)} | {m: self.table(inside + m) for m in methods if "." not in m}

    def call(
        self,
        at: ModuleAt,
        module: object,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        later: Callable[[], Any] | None = None,
        method: str = "__call__",
        definition: object = None,
    ) -> Any:
        """Call a module, or another method of it, with its hooks; within a capture, the module's output is a place.

        Args:
            module: what hooks get as their module.
            function (callable): the call without hooks.
            later (callable, optional): returns what hooks get as their module after the run, if `module` holds traced values.
            definition: tells the definitions of a method apart, where a framework also tells of calls by `super`: these are part of the
                method that makes them.
        """
        name, key = call_name(at.path, method), (at, method)
        running: dict[Any, object] = vars(self._running_methods)
        if running.get(key, definition) is not definition:
            return function(*args, **kwargs)
        if self.table(name):
            function = functools.partial(self._with_hooks, at, module, function, later, name)
        if definition is not None and key not in running:
            function = functools.partial(_noted, running, key, definition, function)
        return module_call(name, function, args, kwargs, named=method == "__call__")

    def _with_hooks(self, at, module, function, later, name, /, *args, **kwargs):
        kept = module if later is None else later()
        subject = ModuleSubject(module, lambda: kept, functools.partial(self.table, name))
        return call_with_array_hooks(function, args, kwargs, subject, at)


def _noted(running, key, definition, function, /, *args, **kwargs):
    """Call `function`, and meanwhile say which definition of a method runs."""
    running[key] = definition
    try:
        return function(*args, **kwargs)
    finally:
        del running[key]


def _who(kind):
    """The function that registers hooks of a kind."""
    return f"register_{kind}_hook"


def named_leaves(tree: Any) -> list[tuple[str, Any]]:
    """(dotted name, array) of the arrays in a pytree."""
    leaves = jax.tree.leaves_with_path(tree)
    named = [(jax.tree_util.keystr(path, simple=True, separator="."), leaf) for path, leaf in leaves if hasattr(leaf, "dtype")]
    return [(name.replace("/", "."), leaf) for name, leaf in named]
