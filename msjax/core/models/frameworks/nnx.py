"""Hooks on the modules of a flax nnx model; the model isn't edited.

A hooked module gets a generated subclass of its class, whose ``__call__`` runs the hooks, and one static attribute with its path and its
hooks. Both belong to the module's definition (nnx's graphdef), so they pass nnx.split, merge, jit, grad, scan, vmap and remat; nnx.jit
compiles once more when hooks come, and finds its earlier program when they go. That is why each module has a registry of its own: what is
compiled of other models stays.
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
from flax import nnx

from msjax.core.base import jax_slots
from msjax.core.base.flax_slots import MODULE_STATE, delete_static, set_static, transformation_of, when_made, without_attribute
from msjax.core.base.held_state import PARTS, UNCHANGING
from msjax.core.base.weak import identity
from msjax.core.hooks.hook import EMPTY, HookSite, HookTable, OwnerRef
from msjax.core.hooks.values import ModuleSubject
from msjax.core.hooks.worker import CHANGING
from msjax.core.jaxprs.observers import with_observed
from msjax.core.models.array_hooks import SITE, call_with_array_hooks, subclasses
from msjax.core.models.frameworks.framework import Framework, Pure, add_framework, framework_of
from msjax.core.models.frameworks.nnx_modules import callable_modules, nnx_modules
from msjax.core.models.frameworks.nnx_outputs import captured, is_object, objects_among, write_changes
from msjax.core.models.hook_registry import HookRegistry
from msjax.core.models.where import call_name


class NnxModels(Framework):
    """Models of flax nnx."""

    def owns(self, model: Any) -> bool:
        return isinstance(model, nnx.Module)

    def owns_function(self, fn: Any) -> bool:
        return self.owns(fn) or self.owns(getattr(fn, "__self__", None))

    def paths(self, model: Any) -> dict[str, Any]:
        return callable_modules(model)

    def all_modules(self, model: Any) -> Iterator[tuple[str, Any]]:
        return nnx_modules(model)

    def registry(self, module: Any, path: str) -> HookRegistry:
        framework = self._framework(module)
        if framework is not self:
            return framework.registry(module, path)
        registry = _shared_registry(module)
        if registry is not None:
            return registry if registry.owner() is module else registry.own_of_copy(module)
        key = identity(module), path
        with CHANGING:
            return _REGISTRIES.get(key) or _REGISTRIES.setdefault(key, ModuleHooks(path, module, type(module)))

    def registries(self, model: Any) -> list[tuple[str, HookRegistry]]:
        return [
            (path, self.registry(module, path))
            for path, module in nnx_modules(model)
            if SITE in vars(module) or self._framework(module) is not self
        ]

    def tables(self, model: Any) -> dict[str, HookTable]:
        # What a copy shares, it goes on sharing.
        registries = [(path, _shared_registry(module) or self.registry(module, path)) for path, module in nnx_modules(model)]
        return {call_name(path, call): table for path, r in registries for call, table in r.present().items()}

    def _framework(self, module) -> Any:
        """The framework of a module within a model: cells have hooks of their own kind."""
        return framework_of(module) if hasattr(module, "_hooks") else self

    def pure(self, model: Any) -> Pure:
        module, method = (model, "__call__") if self.owns(model) else (model.__self__, model.__name__)
        run = functools.partial(captured, method)
        return Pure(("nnx", method), nnx.split(module), run, lambda new: write_changes(module, new), hooked_in(module))


def _static_attributes(graphdef):
    """The static attributes of modules that may change without being given another value."""
    values = [getattr(each, "value", None) for name, each in graphdef.attributes if name not in MODULE_STATE]
    return [value for value in values if type(value) not in UNCHANGING]


PARTS[nnx.GraphDef] = _static_attributes


class ModuleHooks(HookRegistry, HookSite):
    """The hooks of one nnx module and of the copies that nnx makes of it, by methods.

    Attributes:
        cls: the module's own class.
        owner: the user's module, and those copies that have the same hooks.
    """

    def __init__(self, path: str, module: Any, cls: type):
        super().__init__()
        self.path, self.cls, self.cls_name = path, cls, cls.__name__
        self.owner = OwnerRef(module)
        self._undo: Any = None
        self._subjects: dict[str, ModuleSubject] = {}

    tables = property(HookRegistry.present)

    def cells_and_names(self) -> list[tuple[str, Any]]:
        return list(nnx_modules(self.users_module()))

    def changed(self) -> None:
        """Give the module and its copies other hooks; without any, they are as they were before they had some."""
        for each in (self.owner(), *self.owner.copies):
            transformation = transformation_of(each)
            if transformation is not None:
                weakref.finalize(transformation, self.changed)
                return
        attribute, cls = None, self.cls
        if self._rows:
            attribute = _HooksAttribute(self, tuple([(row.kind, frozenset(row.calls), row.hook.key) for row in self._in_order()]))
            cls = _hooked_class(cls, self._methods())
        module = self.owner()
        if module is not None:
            self._undo = _put(attribute, cls, module, self._undo)
        for copied in self.owner.copies:
            _put(attribute, cls, copied, None)

    def _methods(self):
        return tuple(sorted({call for row in self._rows for call in row.calls}))

    def subject(self, method: str, module: Any) -> ModuleSubject | None:
        """The subject of a call of a method of `module` (the user's, or a copy), which hooks get as their module; None if the method has no hooks."""
        if self.table(method) is EMPTY:
            return None
        if self.owner() is None:  # a copy outlives the module that it was copied from
            return ModuleSubject(None, lambda: module, functools.partial(self.table, method))
        subject = self._subjects.get(method)
        if subject is None:
            subject = self._subjects[method] = ModuleSubject(None, self.users_module, functools.partial(self.table, method))
        return subject

    def users_module(self) -> Any:
        """The user's module; if it is gone, a module without weights that has the same class and path."""
        module = self.owner()
        if module is None:
            module = object.__new__(_hooked_class(self.cls, self._methods()))
            vars(module)[SITE] = _HooksAttribute(self, ())
        return module

    def copied(self, module: Any) -> None:
        """Note a copy that split, merge or jax.tree.map has made outside of programs: it has the hooks that the module has."""
        if self.owner() is not module and jax_slots.trace_state() == jax_slots.NO_TRACE:
            self.owner.copies.add(module)

    def own_of_copy(self, module: Any) -> ModuleHooks:
        """The registry of a copy that gets hooks of its own; it begins with those that the copy has."""
        self.owner.copies.discard(module)
        own = ModuleHooks(self.path, module, self.cls)
        own._rows = self._rows
        for row in own._rows:
            row.registries.append(weakref.ref(own))
        return own


def _put(attribute, cls, module, undo):
    """Put the attribute on a module, or take it off; returns what takes it off again."""
    if attribute is not None:
        given = set_static(module, SITE, attribute)
        undo = undo or given
    elif SITE in vars(module):
        delete_static(module, SITE, undo or _OF_A_COPY)
        undo = None
    if type(module) is not cls:
        object.__setattr__(module, "__class__", cls)
    return undo


_OF_A_COPY = None, object()

# {(identity of a module, path): its registry}, for as long as the module has hooks, or a program looks there for observers.
_REGISTRIES: weakref.WeakValueDictionary[Any, ModuleHooks] = weakref.WeakValueDictionary()


def hooked_in(model: nnx.Module) -> Any:
    """An object that lives as long as the first hooked module in a model: the user's module, of which this one may be a copy; None without hooks."""
    if not _REGISTRIES and not hasattr(model, "_hooks"):
        return None
    for _, module in nnx_modules(model):
        registry = _shared_registry(module)
        if registry is not None:
            return registry if (owner := registry.owner()) is None else owner
        table = getattr(module, "_hooks", EMPTY)
        if table:
            owner = None if table.owner is None else table.owner()
            return module if owner is None else owner
    return None


def _shared_registry(module):
    """The registry of a module that has hooks, or of the module that it is a copy of."""
    attribute = vars(module).get(SITE)
    return None if attribute is None else attribute.registry


class _HooksAttribute(HookSite, Mapping[str, Any]):
    """The attribute of a hooked nnx module, and so a part of its definition. Equal ones share a compiled program.

    A mapping without items: flax's nnx.bridge.ToNNX takes all attributes of its own for variables, and mappings for the variables in them.

    Attributes:
        registry: the hooks; None of copies without hooks.
        key: what programs with the hooks that the module has are found by.
    """

    __slots__ = ("__weakref__", "cls_name", "key", "path", "registry")

    def __init__(self, registry: ModuleHooks | None, key: tuple[Any, ...]):
        self.registry = registry
        self.key = key
        self.path, self.cls_name = ("", "a copy without hooks") if registry is None else (registry.path, registry.cls_name)

    @property
    def tables(self) -> dict[str, HookTable]:
        """{name of a method: its present hooks}."""
        return {} if self.registry is None else self.registry.tables

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _HooksAttribute) and self.registry is other.registry and self.key == other.key

    def __hash__(self) -> int:
        return hash((id(self.registry), self.key))

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    # Copies and pickled modules have no hooks.

    def __deepcopy__(self, memo: dict[int, Any]) -> _HooksAttribute:
        return _HooksAttribute(None, ())

    def __reduce__(self) -> Any:
        return _HooksAttribute, (None, ())

    def __repr__(self) -> str:
        return f"<{len(self.key)} hooks of {self.path or 'the model'} ({self.cls_name})>" if self.registry else "<no hooks>"


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
    attribute = vars(module).get(SITE)
    if attribute is None:
        return
    if attribute.registry is None:  # of a model that was copied as a whole
        _put(None, cls, module, None)
    else:
        attribute.registry.copied(module)


def _with_hooks(cls, method):
    @functools.wraps(getattr(cls, method))
    def call(self, *args, **kwargs):
        own = getattr(cls, method)  # the present one: a test may have put another one there
        registry = _shared_registry(self)
        if registry is None or (subject := registry.subject(method, self)) is None:  # removed while the call was under way
            return own(self, *args, **kwargs)
        return call_with_array_hooks(functools.partial(own, self), args, kwargs, subject, registry)

    return call


def _without_hooks(cls, attributes):
    """A module of the class without hooks, with these attributes."""
    module = object.__new__(cls)
    vars(module).update(without_attribute(attributes, SITE))
    return module


# ---- hooks.jit of functions of modules


def is_object_or_state(value: object) -> bool:
    """Whether a value is one of nnx's objects, or a State, which is none."""
    return is_object(value) or isinstance(value, nnx.State)


def hooked_among(values: Any) -> list[Any]:
    """For each hooked model or network of Cells among values, an object that lives as long as it does."""
    leaves = jax.tree.leaves(values, is_leaf=_MODELS.owns)
    return [hooked for leaf in leaves if _MODELS.owns(leaf) and (hooked := hooked_in(leaf)) is not None]


def on_modules(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function on nnx modules, to be called under nnx.jit."""

    @functools.wraps(fn)
    def program(*args, **kwargs):
        tag = object()

        def pure(args, kwargs):
            args, kwargs = nnx.from_tree((args, kwargs), ctxtag=tag, is_inner=True)
            out = fn(*args, **kwargs)
            objects = objects_among((args, kwargs))
            return nnx.to_tree((objects, out), ctxtag=tag)

        with nnx.update_context(tag):
            args, kwargs = nnx.to_tree((args, kwargs), ctxtag=tag)
            result, observed = with_observed(pure, (args, kwargs), {})
            # The user's objects change as fn has changed theirs.
            _, out = nnx.from_tree(result, ctxtag=tag, is_inner=False)
        return out, observed

    return program


_MODELS = NnxModels()
add_framework(_MODELS)
