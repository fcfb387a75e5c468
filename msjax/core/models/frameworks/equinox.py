"""Hooks on equinox models. A hooked model is a copy whose modules are of generated subclasses, with their paths as a static field."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import weakref
from collections.abc import Callable, Iterable

import equinox
import jax
import numpy as np

from msjax.core.base.arrays import is_tracer
from msjax.core.models.array_hooks import SITE, subclasses
from msjax.core.models.frameworks.registry import NUMBERS, ModuleAt, Registry, named_leaves
from msjax.core.models.where import call_name, selected_calls, why_not_called


def hooked(model: equinox.Module) -> equinox.Module:
    """A copy of an equinox model, with the same leaves, that takes hooks."""
    return _copy(model, _OfModules())


def captured(model: equinox.Module) -> equinox.Module:
    """A copy for one capture; those of models of one structure are of one structure."""
    return _copy(model, _NOBODYS)


class _Life:
    """A token that all modules of a hooked model hold: gone with the last of them, though a program that jax keeps may still hold the registry."""


class _OfModules(Registry):
    """The hooks of an equinox model, whose modules are there before it runs."""

    complete = True
    _life: Callable[[], _Life | None] = staticmethod(lambda: None)

    def new_number(self):
        """No number yet: `life` gives one for as long as the model is there, since jax may keep the registry for longer."""
        return 0

    def life(self):
        life = self._life()
        if life is None:
            # Also of a model that was gone, and is made again of a structure that somebody has kept.
            life = _Life()
            self._life = weakref.ref(life)
            self.number = NUMBERS.of(life)
            weakref.finalize(life, _gone, weakref.ref(self)).atexit = False
            if self._rows:
                self.changed()
        return life

    @property
    def key(self):
        return None if self._life() is None else super().key

    def held(self):
        """A strong reference: nothing but its modules keeps the registry of a model that is a pytree."""
        return lambda: self

    def function(self, model):
        return model

    def paths(self, model):
        found = {path: module for path, module in _every(model) if hasattr(module, SITE)}
        return dict(sorted(found.items(), key=lambda item: item[0].count(".") + bool(item[0])))

    def unhookable(self, model):
        found = {}
        for path, module in _every(model):
            if hasattr(module, "__wrapped__") and not hasattr(module, SITE):
                found[path] = "equinox made it of a function: hook the module that calls it"
            elif (why := why_not_hooked(module)) is not None:
                found[path] = why
        return found

    def weights(self, model, inputs):
        """The arrays in the model; trained are those of floating-point numbers."""
        return [(name, leaf, equinox.is_inexact_array(leaf)) for name, leaf in named_leaves(model)]

    def chosen(self, modules, where, who):
        # By the paths in the whole model, if only a part of it was given. Which paths there are tells them from methods.
        self.modules |= {getattr(module, SITE).path: None for module in modules.values()}
        calls = selected_calls(modules, where, who, why_not=why_not_hooked)
        return {call_name(getattr(module, SITE).path, method) for _, module, method in calls}


def _gone(registry):
    """Take the hooks of a model that is gone out of jax's cache key."""
    if (there := registry()) is not None:
        there.changed()


# That of copies on which nobody registers hooks.
_NOBODYS = _OfModules()
_NOBODYS_LIFE = _NOBODYS.life()


def registries_among(models: Iterable[equinox.Module]) -> list[Registry]:
    """The registries of the hooked models among models, and within them, each once."""
    found = [getattr(module, SITE).registry for model in models for _, module in _every(model) if hasattr(module, SITE)]
    return list(dict.fromkeys(found))


def _every(module, path=""):
    """(path, module) of a module and all inside, whether they take hooks or not."""
    yield path, module
    for name in _dynamic_fields(module):
        value = getattr(module, name)
        if isinstance(value, (jax.Array, np.ndarray)):  # most of a model's fields
            continue
        for keys, inner in jax.tree.leaves_with_path(value, is_leaf=_is_module):
            if _is_module(inner):
                yield from _every(inner, _inside(path, name, keys))


def _inside(path, name, keys):
    """The path of a module that stands, in containers with these keys, in attribute `name` of the module at `path`."""
    return jax.tree_util.keystr((*([path] if path else []), name, *keys), simple=True, separator=".")


def _copy(module, registry, path=""):
    """The module and those inside, as instances of generated subclasses."""
    cls = type(module)
    if hasattr(module, SITE):
        raise ValueError(
            f"For 'hooked', {path!r} ({cls.__name__}) is a hooked model already: make the whole model hooked, not its parts."
        )
    takes_hooks = not path or (callable(module) and not hasattr(module, "__wrapped__"))
    new = object.__new__(_with_site(cls) if takes_hooks else cls)
    dynamic = _dynamic_fields(module)
    for name, value in vars(module).items():
        if name in dynamic:
            value = jax.tree.map_with_path(
                lambda keys, leaf, name=name: _copy(leaf, registry, _inside(path, name, keys)) if _is_module(leaf) else leaf,
                value,
                is_leaf=_is_module,
            )
        object.__setattr__(new, name, value)
    if takes_hooks:
        object.__setattr__(new, SITE, registry.at(path, cls))
    return new


class _Site:
    """The attribute `SITE` of modules of a hooked class: a module that gets it keeps its model's hooks in use."""

    def __get__(self, module, owner=None):
        try:
            return self if module is None else vars(module)[SITE]
        except KeyError:
            raise AttributeError(SITE) from None

    def __set__(self, module, at):
        vars(module)[SITE] = at
        if at is not None:
            # For each module of each jax.tree.map: without the properties.
            registry = at._registry()
            object.__setattr__(module, _LIFE, registry._life() or registry.life())


# A slot of modules, where flatten functions of equinox don't look.
_LIFE = "_msjax_life"


def _is_module(value):
    return isinstance(value, equinox.Module)


def _dynamic_fields(module):
    return [f.name for f in dataclasses.fields(module) if not f.metadata.get("static") and f.name in vars(module)]


def _with_site(cls):
    made = _hooked_class(cls)
    if not isinstance(vars(made).get(SITE), _Site):
        setattr(made, SITE, _Site())  # now, when equinox has made a field of it
    return made


@subclasses
def _hooked_class(cls):
    """The class of a hooked module: a subclass, since Python looks __call__ up in the class."""
    namespace = {
        "__slots__": (_LIFE,),
        "__annotations__": {SITE: ModuleAt},
        SITE: equinox.field(static=True, default=None),
        "__doc__": cls.__doc__,
        "__reduce_ex__": lambda self, protocol: (_plain, (cls, {k: v for k, v in vars(self).items() if k != SITE})),
        "msjax_registry": property(lambda self: getattr(self, SITE).registry),
    }
    return namespace | {method: _with_hooks(cls, method) for method in _methods(cls)}


def _methods(cls):
    own = [base for base in cls.__mro__ if issubclass(base, equinox.Module) and base is not equinox.Module]
    names = {name for base in own for name in vars(base) if name == "__call__" or not name.startswith("_")}
    return [name for name in names if _is_method(cls, name)]


def _is_method(cls, name):
    """Whether instances have a method of the name: a function, or what a decorator made of one (equinox.filter_jit and the like)."""
    static = inspect.getattr_static(cls, name)
    if isinstance(static, (staticmethod, classmethod, property, functools.cached_property, type)):
        return False
    # What equinox makes of a function in a class gives the function when it is looked up there, like one of Python's.
    return inspect.isfunction(getattr(cls, name, None)) or (callable(static) and hasattr(type(static), "__get__"))


def why_not_hooked(module: object) -> str | None:
    """Why a module takes no hooks; None if it does."""
    if not callable(module) or _is_method(type(module), "__call__"):
        return why_not_called(module)
    return f"its __call__ is a {type(inspect.getattr_static(type(module), '__call__')).__name__}, not a method"


def _with_hooks(cls, method):
    @functools.wraps(getattr(cls, method))
    def call(self, *args, **kwargs):
        at = getattr(self, SITE)
        own = getattr(cls, method)  # the present one: a test may have put another one there
        if not inspect.isfunction(own):
            own = functools.partial(_bound, inspect.getattr_static(cls, method), cls)
        later = functools.partial(_without_values, self) if any(map(is_tracer, jax.tree.leaves(self))) else None
        return at.registry.call(at, self, functools.partial(own, self), args, kwargs, later, method)

    return call


def _bound(decorated, cls, self, *args, **kwargs):
    """Call a method that a decorator has made."""
    return decorated.__get__(self, cls)(*args, **kwargs)


def _without_values(module):
    """The module with shapes and dtypes in the place of traced arrays. A program that keeps it doesn't keep the model's hooks in use."""
    module = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if is_tracer(leaf) else leaf, module)
    for _, each in _every(module):
        if hasattr(each, _LIFE):
            object.__delattr__(each, _LIFE)
    return module


def _plain(cls, attributes):
    """A module without hooks: what a copied or pickled one becomes."""
    module = object.__new__(cls)
    for name, value in attributes.items():
        object.__setattr__(module, name, value)
    return module
