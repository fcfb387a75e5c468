"""Hooks on the modules of a flax nnx model; the model isn't edited.

A hooked module gets a generated subclass of its class, whose ``__call__`` runs the hooks, and one static attribute with its path and its
hooks. Both belong to the module's definition (nnx's graphdef), so they pass nnx.split, merge, jit, grad, scan, vmap and remat; nnx.jit
compiles once more when hooks come, and finds its earlier program when they go. That is why these hooks lie on the modules, not in a
`Registry`: what is compiled of other models stays.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flax import nnx

from msjax.core.base import jax_slots
from msjax.core.base.flax_slots import delete_static, set_static, when_made, without_attribute
from msjax.core.base.state import VERSION
from msjax.core.hooks.hook import Hook
from msjax.core.hooks.sites import HookSite
from msjax.core.hooks.slots import before_change
from msjax.core.hooks.table import CALL_KINDS, EMPTY, HookTable
from msjax.core.models.array_hooks import SITE, call_with_array_hooks
from msjax.core.models.frameworks.framework import Framework, Pure, add_framework
from msjax.core.models.frameworks.nnx_modules import callable_modules, nnx_modules
from msjax.core.models.frameworks.nnx_outputs import is_module_or_method, module_and_method, pure_call
from msjax.core.models.handle import ModuleHandle
from msjax.core.models.subclasses import subclasses
from msjax.core.models.where import Where, call_name, selected_calls, why_not_called


class NnxModels(Framework):
    """Models of flax nnx."""

    def owns(self, model: Any) -> bool:
        return isinstance(model, nnx.Module)

    def owns_function(self, fn: Any) -> bool:
        return is_module_or_method(fn)

    def paths(self, model: Any) -> dict[str, Any]:
        return callable_modules(model)

    def register(self, model: Any, kind: str, hook: Hook, where: Where, prepend: bool) -> ModuleHandle:
        chosen = selected_calls(
            callable_modules(model),
            where,
            f"register_{kind}_hook",
            lambda: ((".".join(path), module) for path, module in nnx_modules(model)),
        )
        places, known, new_table = [], None, EMPTY
        before_change()
        for name, module, method in chosen:
            place = _place_of(module, name)
            table = place.tables.get(method, EMPTY)
            if table is not known:
                known, new_table = table, table.add(kind, hook, prepend)
            place.change({**place.tables, method: new_table})
            places.append(place)
        # The handle keeps neither the hook nor what it refers to alive.
        return ModuleHandle(hook.id, [functools.partial(_remove_of, list(map(weakref.ref, places)), weakref.ref(hook))])

    def tables(self, model: Any) -> dict[str, HookTable]:
        return {
            call_name(".".join(path), method): place.table_of(method)
            for path, module in nnx_modules(model)
            if (place := _present_place(module)) is not None
            for method in place.tables
        }

    def remove(self, model: Any, hook: Hook) -> None:
        _remove([place for _, module in nnx_modules(model) if (place := _present_place(module)) is not None], hook)

    def take_off(self, model: Any) -> Any:
        places = [place for _, module in nnx_modules(model) if (place := _present_place(module)) is not None]
        kept = [(place, place.tables) for place in places]
        before_change()
        for place in places:
            place.change({})
        return kept

    def put_back(self, model: Any, kept: Any) -> None:
        before_change()
        for place, before in kept:
            tables = {method: merged for method, table in before.items() if (merged := _left_of(table)) is not EMPTY}
            for method, table in place.tables.items():  # those that came meanwhile
                for kind in CALL_KINDS:
                    for hook in getattr(table, kind):
                        tables[method] = tables.get(method, EMPTY).add(kind, hook)
            place.change(tables)

    def unhookable(self, model: Any) -> dict[str, str]:
        modules = {".".join(path): module for path, module in nnx_modules(model)}
        return {path: why for path, module in modules.items() if (why := why_not_called(module)) is not None}

    def capture(self, model: Any, options: Any) -> Callable[..., Any]:
        module, method = module_and_method(model)

        def run(*args, **kwargs):
            result, found = _captured(module, method, options, args, kwargs)
            if result is None:
                return None, found
            out, new = result
            nnx.update(module, new)
            return out, found

        return run

    def pure(self, model: Any) -> Pure | None:
        module, method = module_and_method(model)

        def run(state, options, args, kwargs):
            result, found = _captured(nnx.merge(*state), method, options, args, kwargs)
            return (None, found, None) if result is None else (result[0], found, result[1])

        return Pure(("nnx", method), nnx.split(module), run, lambda new: nnx.update(module, new))

    def as_function(self, model: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        call, state = pure_call(*module_and_method(model), lambda path: True)
        return lambda state, *args, **kwargs: call(state, args, kwargs), (state,)


def _captured(module, method, options, args, kwargs):
    """((the result, the part of the state that has changed) or None, Captured)"""
    patterns = options.patterns
    texts = [text for pattern in patterns for text in pattern.patterns]
    texts += [path for pattern in patterns for path, _ in pattern.parts]
    call, state = pure_call(module, method, lambda path: any(p.looks_at(path) for p in patterns), texts)
    names = tuple(".".join(path) for path, inner in nnx_modules(module) if callable(inner))
    return options.of_pure_call(names, call)(state, args, kwargs)


class _Place:
    """The hooks of one nnx module, as they are at present.

    Attributes:
        path: of the module in its model.
        module: a weak reference to the user's module; transformations of nnx run copies of it.
        cls: the module's own class.
        tables: {name of a method: its HookTable}.
        copies: {id: weak reference} of those that split, merge and jax.tree.map have made outside of programs; they have the same hooks.
        detached: whether the module is a copy that has got hooks of its own, and keeps those of the module that it was copied from.
        undo: what takes the site off the module again.
    """

    __slots__ = ("__weakref__", "cls", "copies", "detached", "module", "path", "tables", "undo")

    def __init__(self, path: str, module: Any, tables: dict[str, HookTable], cls: type, detached: bool = False):
        self.path = path
        self.module = weakref.ref(module)
        self.cls = cls
        self.tables = tables
        self.copies: dict[int, weakref.ref[Any]] = {}
        self.detached = detached
        self.undo: Any = None

    def table_of(self, method: str) -> HookTable:
        """The present hooks of a method."""
        table = self.tables.get(method, EMPTY)
        return _left_of(table) if self.detached else table

    def change(self, tables: dict[str, HookTable]) -> None:
        """Give the module and its copies other hooks; without any, they are as they were before they had some."""
        if self.detached:
            tables = {method: left for method, table in tables.items() if (left := _left_of(table)) is not EMPTY}
        self.tables = tables
        VERSION.changed()
        site = _Site(self, tuple((method, table.key) for method, table in tables.items())) if tables else None
        module = self.module()
        if module is not None:
            self._keep(module, without_hooks=site is None)
            self.undo = self._put(site, module, self.undo)
        for copied in [ref() for ref in list(self.copies.values())]:
            if copied is not None:
                self._put(site, copied, None)

    def _keep(self, module, without_hooks):
        """Have the place for as long as the module lives. With hooks, which may refer to the module, only the module itself keeps it."""
        places = _PLACES.get(id(module))
        if not without_hooks:
            if places is not None:
                places.pop(self.path, None)
        elif not self.detached:
            if places is None:
                places = _PLACES[id(module)] = {}
                weakref.finalize(module, _PLACES.pop, id(module), None).atexit = False
            places[self.path] = self

    def _put(self, site, module, undo):
        cls = self.cls
        if site is not None:
            cls = _hooked_class(cls, tuple(sorted(self.tables)))
            given = set_static(module, SITE, site)
            undo = undo or given
        elif SITE in vars(module):
            delete_static(module, SITE, undo or _OF_A_COPY)
            undo = None
        if type(module) is not cls:
            object.__setattr__(module, "__class__", cls)
        return undo

    def subject(self) -> Any:
        """The user's module; if it is gone, a module without weights that has the same class and path."""
        module = self.module()
        if module is None:
            module = object.__new__(_hooked_class(self.cls, tuple(sorted(self.tables))))
            vars(module)[SITE] = _Site(self, ())
        return module

    def made_copy(self, module: Any) -> None:
        """Note a copy of the module, so that its hooks go when the module's go."""
        if self.module() is module or jax_slots.trace_state() != jax_slots.NO_TRACE:
            return
        number, copies = id(module), self.copies
        copies[number] = weakref.ref(module, lambda _: copies.pop(number, None))


def _present_place(module):
    """The _Place of a module that has hooks; of a copy, an own one."""
    site = vars(module).get(SITE)
    if site is None or site.place is None:
        return None
    return site.place if site.place.module() is module else _place_of(module, site.place.path)


def _left_of(table):
    """A table without the hooks that were removed from the module that it was copied from."""
    for hook in [hook for hook in table.all() if hook.removed]:
        table = table.without(hook.id)
    return table


_OF_A_COPY = None, object()

# {id of a module: {path: its _Place}} of those that had hooks and have none now: programs with observers there are found again.
_PLACES: dict[int, dict[str, _Place]] = {}


def _place_of(module, path):
    site = vars(module).get(SITE)
    if site is not None and site.place is not None and site.place.module() is module:
        return site.place
    if site is not None and site.place is not None:
        # A copy: from here on, it has hooks of its own.
        site.place.copies.pop(id(module), None)
        return _Place(site.place.path, module, site.place.tables, site.place.cls, detached=True)
    return _PLACES.get(id(module), {}).get(path) or _Place(path, module, {}, type(module))


class _Site(HookSite, Mapping[str, Any]):
    """The attribute of a hooked nnx module, and so a part of its definition. Equal sites share a compiled program.

    A mapping without items: flax's nnx.bridge.ToNNX takes all attributes of its own for variables, and mappings for the variables in them.

    Attributes:
        place: the _Place; None of copies without hooks.
        key: what programs with the hooks that the module has are found by.
    """

    __slots__ = ("__weakref__", "key", "place")

    def __init__(self, place: _Place | None, key: tuple[Any, ...]):
        self.place = place
        self.key = key

    @property
    def path(self) -> str:
        """The module's path in its model."""
        return "" if self.place is None else self.place.path

    @property
    def cls_name(self) -> str:
        """The name of the module's class."""
        return "a copy without hooks" if self.place is None else self.place.cls.__name__

    @property
    def tables(self) -> dict[str, HookTable]:
        """{name of a method: its present hooks}."""
        return {} if self.place is None else self.place.tables

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Site) and self.place is other.place and self.key == other.key

    def __hash__(self) -> int:
        return hash((id(self.place), self.key))

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    # Copies and pickled modules have no hooks.

    def __deepcopy__(self, memo: dict[int, Any]) -> _Site:
        return _NO_HOOKS

    def __reduce__(self) -> Any:
        return _no_hooks, ()

    def __repr__(self) -> str:
        return (
            f"<{sum(len(table) for _, table in self.key)} hooks of {self.path or 'the model'} ({self.cls_name})>"
            if self.place
            else "<no hooks>"
        )


_NO_HOOKS = _Site(None, ())


def _no_hooks():
    return _NO_HOOKS


def _remove_of(place_refs, hook_ref):
    hook = hook_ref()
    if hook is not None:
        _remove([place for ref in place_refs if (place := ref()) is not None], hook)


def _remove(places, hook):
    hook.removed = True
    # Most modules have equal tables, one after the other.
    known = table = None
    before_change()
    for place in places:
        tables = {}
        for method, before in place.tables.items():
            if before is not known:
                known, table = before, before.without(hook.id)
            if table is not EMPTY:
                tables[method] = table
        place.change(tables)


@subclasses
def _hooked_class(cls, methods):
    """The class of a module with hooks on these methods: a subclass, since Python looks __call__ up in the class."""
    return {
        **{method: _with_hooks(cls, method) for method in methods},
        # A copy or a pickled module has no hooks.
        "__copy__": lambda self: _without_hooks(cls, vars(self)),
        "__deepcopy__": lambda self, memo: copy.deepcopy(_without_hooks(cls, vars(self)), memo),
        "__reduce_ex__": lambda self, protocol: (_without_hooks, (cls, vars(_without_hooks(cls, vars(self))))),
        **when_made(cls, functools.partial(_made, cls)),
    }


def _made(cls, module):
    """Called when nnx or jax has made a module of a hooked class."""
    site = vars(module).get(SITE)
    if site is None:
        return
    if site.place is None:  # of a model that was copied as a whole
        delete_static(module, SITE, _OF_A_COPY)
        object.__setattr__(module, "__class__", cls)
    else:
        site.place.made_copy(module)


def _with_hooks(cls, method):
    own = getattr(cls, method)

    @functools.wraps(own)
    def call(self, *args, **kwargs):
        site = vars(self).get(SITE)
        place = None if site is None else site.place
        if place is None or not place.table_of(method):  # removed while the call was under way
            return own(self, *args, **kwargs)
        function = functools.partial(own, self)
        # A copy outlives the module that it was copied from.
        later = (lambda: self) if place.module() is None else place.subject
        return call_with_array_hooks(function, args, kwargs, None, later, site, functools.partial(place.table_of, method))

    return call


def _without_hooks(cls, attributes):
    """A module of the class without hooks, with these attributes."""
    module = object.__new__(cls)
    vars(module).update(without_attribute(attributes, SITE))
    return module


add_framework(NnxModels())
