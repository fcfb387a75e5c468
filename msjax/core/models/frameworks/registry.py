"""The hooks of one model of another framework, and the call of a module with them.

The modules of such a model are made anew for each run (linen, haiku) or with each change (equinox). So hooks belong to paths,
in a registry that all copies of the hooked model share.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax

from msjax.core.base.state import VERSION
from msjax.core.base.weak import identity, new_number
from msjax.core.hooks.hook import Hook
from msjax.core.hooks.places import HOOKED_WITH, is_tracing, module_call
from msjax.core.hooks.sites import WITH_HOOKS, HookSite
from msjax.core.hooks.slots import before_change
from msjax.core.hooks.table import EMPTY, HookTable
from msjax.core.models.array_hooks import call_with_array_hooks
from msjax.core.models.frameworks.framework import Framework, Pure, add_framework
from msjax.core.models.handle import ModuleHandle
from msjax.core.models.static_leaves import is_equinox
from msjax.core.models.where import Where, call_name, matches, named_methods, no_match, selected_calls

# {number of a Registry: its key} of those that have hooks.
_IN_USE: dict[int, tuple[Any, ...]] = {}


def _use(number, key):
    """Note the hooks of a Registry, on which all depends that jax has compiled."""
    if key is None:
        _IN_USE.pop(number, None)
    else:
        _IN_USE[number] = key
    HOOKED_WITH.set_global(tuple(sorted(_IN_USE.items(), key=lambda item: item[0])) or None)


@dataclass
class _Row:
    """One registered hook, and the names of the calls that it is on. `where` is for modules that have not run yet."""

    kind: str
    hook: Hook
    prepend: bool
    where: Where
    calls: set[str] = field(default_factory=set)

    @property
    def who(self) -> str:
        """The function that registered it."""
        return f"register_{self.kind}_hook"


class Site(HookSite):
    """Stands on a module, as the attribute `array_hooks.SITE`, for its path and the hooks of its model.

    Attributes:
        registry: the Registry.
        path: of the module in its model.
        cls_name: the name of its class.
    """

    __slots__ = ("__weakref__", "cls_name", "path", "registry")

    def __init__(self, registry: Registry, path: str, cls: str):
        self.registry = registry
        self.path: str = path
        self.cls_name: str = cls

    # Part of the structure of an equinox module; it stays equal when hooks come and go, so that an optimizer's state fits.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and (self.registry, self.path) == (other.registry, other.path)

    def __hash__(self) -> int:
        return hash((self.registry, self.path))

    @property
    def tables(self) -> dict[str, HookTable]:
        """{name of a method: its present hooks}."""
        return self.registry.tables(self.path)

    def __repr__(self) -> str:
        return f"<hooks of {self.path or 'the model'} ({self.cls_name})>"


class Registry:
    """The hooks of a hooked model.

    Attributes:
        number: no other Registry has it.
        modules: {path: module} of those that have run so far, for models that make their modules while they run; of other models, None for
            each known module.
    """

    def __init__(self):
        self.modules: dict[str, Any] = {}
        self.number = new_number()
        self._rows: tuple[_Row, ...] = ()
        self._tables: dict[str, HookTable] = {}
        weakref.finalize(self, _use, self.number, None).atexit = False

    # Whether all modules are known before the model runs: then two hooks on the same ones are on the same ones forever.
    complete = False

    @property
    def hooks(self) -> list[Hook]:
        """All of them, in the order of registration."""
        return [row.hook for row in self._rows]

    @property
    def key(self) -> tuple[Any, ...] | None:
        """Equal as long as programs with the hooks are the same; None without hooks."""
        if not self._rows:
            return None
        return (
            self.number,
            *[
                (row.kind, row.prepend, frozenset(row.calls) if self.complete else _where_key(row.where), row.hook.key)
                for row in self._rows
            ],
        )

    def paths(self, model: object) -> dict[str, Any]:
        """{path: module} of a hooked model."""
        return dict(self.modules)

    def weights(self, model: Any, inputs: Any) -> list[tuple[str, Any, bool]]:
        """(dotted name, array, whether it is trained) of what a hooked model computes with, which may be among its inputs."""
        raise NotImplementedError

    def register(self, model: object, kind: str, hook: Hook, where: Where, prepend: bool) -> None:
        """Add a hook; ValueError if `where` selects none of the modules that are known."""
        row = _Row(kind, hook, prepend, where)
        self._choose(row, self.paths(model))
        self._set((*self._rows, row))

    def _choose(self, row, modules):
        if modules:
            row.calls = {call_name(path, method) for path, _, method in selected_calls(modules, row.where, row.who)}

    def remove(self, id: int) -> None:
        """Take a hook off; nothing happens if it is gone already."""
        self._set(tuple(row for row in self._rows if row.hook.id != id))

    def _set(self, rows):
        before_change()
        self._rows, self._tables = rows, {}
        (WITH_HOOKS.add if rows else WITH_HOOKS.discard)(self)
        VERSION.changed()
        _use(self.number, self.key)

    def present(self) -> dict[str, HookTable]:
        """{name of a call: its hooks}; hooks for modules that have not run yet are at what they were registered for."""
        calls = dict.fromkeys(call for row in self._rows for call in sorted(row.calls))
        waiting = {str(row.where): EMPTY.add(row.kind, row.hook) for row in self._rows if not row.calls}
        return {call: self.table(call) for call in calls} | waiting

    def taken_off(self) -> tuple[_Row, ...]:
        """Take all hooks off; returns their rows."""
        rows = self._rows
        self._set(())
        return rows

    def put_back(self, rows: tuple[_Row, ...]) -> None:
        """Put hooks on again that were taken off, before those that came meanwhile."""
        self._set((*[row for row in rows if not row.hook.removed], *self._rows))

    def unhookable(self, model: object) -> dict[str, str]:
        """{path: why} of the modules that take no hooks."""
        return {}

    def see(self, path: str, module: object) -> None:
        """Note a module that runs."""
        if path in self.modules:
            return
        self.modules[path] = module
        for row in self._rows:
            methods = named_methods(lambda: [(path, module)], row.where)
            row.calls |= {call_name(path, method) for _, _, method in methods}
            if matches(path, module, row.where, row.who):
                row.calls.add(path)
        self._tables.clear()

    def check(self) -> None:
        """ValueError if a hook was registered for modules that the model, which has run, doesn't have."""
        for row in self._rows:
            if not row.calls:
                raise no_match(self.modules, row.where, row.who)

    def table(self, call: str) -> HookTable:
        """The hooks of a call; see `call_name`."""
        if call not in self._tables:
            table = EMPTY
            for row in self._rows:
                if call in row.calls:
                    table = table.add(row.kind, row.hook, row.prepend)
            self._tables[call] = table
        return self._tables[call]

    def tables(self, path: str) -> dict[str, HookTable]:
        """{name of a method: its hooks} of a module."""
        inside = f"{path}.".lstrip(".")
        calls = [name for row in self._rows for name in row.calls if name not in self.modules and name.startswith(inside)]
        methods = [name[len(inside) :] for name in dict.fromkeys(calls)]
        return {"__call__": self.table(path)} | {m: self.table(inside + m) for m in methods if "." not in m}

    def call(
        self,
        path: str,
        module: object,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        later: Callable[[], Any] | None = None,
        method: str = "__call__",
    ) -> Any:
        """Call a module, or another method of it, with its hooks; within a capture, the module's output is a place.

        Args:
            path: of the module.
            module: what hooks get as their module.
            function (callable): the call without hooks.
            args (tuple), kwargs (dict): the arguments.
            later (callable, optional): returns what hooks get as their module after the run, if `module` holds traced values.
            method: the name of the method.
        """
        name = call_name(path, method)
        if not is_tracing():
            return self._call(path, module, function, args, kwargs, later, name)
        called = functools.partial(self._called, path, module, function, later, name)
        return module_call(name, called, args, kwargs, named=method == "__call__")

    def _called(self, path, module, function, later, name, *args, **kwargs):
        return self._call(path, module, function, args, kwargs, later, name)

    def _call(self, path, module, function, args, kwargs, later, name):
        if self.table(name):
            kept = module if later is None else later()
            own = Site(self, path, type(module).__name__)
            return call_with_array_hooks(function, args, kwargs, module, lambda: kept, own, lambda: self.table(name))
        return function(*args, **kwargs)


def _where_key(where):
    """What says of two `where`s that they select the same modules of every model; functions are told apart by identity."""
    if isinstance(where, (list, tuple, set, frozenset)):
        return tuple([_where_key(one) for one in where])
    return where if isinstance(where, (str, type)) else identity(where)


def named_leaves(tree: Any) -> list[tuple[str, Any]]:
    """(dotted name, array) of the arrays in a pytree."""
    leaves, _ = jax.tree.flatten_with_path(tree)
    named = [(".".join(map(key_name, path)), leaf) for path, leaf in leaves if hasattr(leaf, "dtype")]
    return [(name.replace("/", "."), leaf) for name, leaf in named]


def key_name(key: Any) -> str:
    """A key of a path in a pytree as it stands in the paths of modules."""
    return str(next(getattr(key, kind) for kind in ("name", "key", "idx") if hasattr(key, kind)))


def registry_of(model: object) -> Registry | None:
    """The Registry of a hooked model, or None."""
    return getattr(model, "msjax_registry", None)


def _remove(ref, hook_ref):
    registry, hook = ref(), hook_ref()
    if hook is not None:
        hook.removed = True
        if registry is not None:
            registry.remove(hook.id)


class HookedModels(Framework):
    """What `hooked` makes of models of linen, equinox and haiku."""

    def owns(self, model: Any) -> bool:
        return registry_of(model) is not None

    def paths(self, model: Any) -> dict[str, Any]:
        return model.msjax_registry.paths(model)

    def register(self, model: Any, kind: str, hook: Hook, where: Where, prepend: bool) -> ModuleHandle:
        registry = model.msjax_registry
        registry.register(model, kind, hook, where, prepend)
        return ModuleHandle(hook.id, [functools.partial(_remove, weakref.ref(registry), weakref.ref(hook))])

    def tables(self, model: Any) -> dict[str, HookTable]:
        return model.msjax_registry.present()

    def remove(self, model: Any, hook: Hook) -> None:
        model.msjax_registry.remove(hook.id)

    def take_off(self, model: Any) -> Any:
        return model.msjax_registry.taken_off()

    def put_back(self, model: Any, kept: Any) -> None:
        model.msjax_registry.put_back(kept)

    def unhookable(self, model: Any) -> dict[str, str]:
        return model.msjax_registry.unhookable(model)

    def capture(self, model: Any, options: Any) -> Callable[..., Any]:
        return options.of_function(model)

    def pure(self, model: Any) -> Pure | None:
        if not is_equinox(model):
            return None
        return Pure(
            "equinox", model, lambda state, options, args, kwargs: (*options.of_function(state)(*args, **kwargs), None), _keep
        )


def _keep(_new):
    """The state has no changes."""


add_framework(HookedModels())
