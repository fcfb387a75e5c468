"""Hooks on flax linen modules. A hooked module is of a generated subclass, whose methods run with an interceptor of method calls."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import sys
import threading
import types
import weakref
from collections.abc import Mapping

import flax.linen as linen
import jax
from flax.core import axes_scan, freeze

from msjax.core.base.checks import check_kind
from msjax.core.base.errors import called
from msjax.core.hooks.places import HOOKED_WITH
from msjax.core.models.array_hooks import SITE
from msjax.core.models.frameworks.registry import Registry, named_leaves


def hooked(model: linen.Module) -> linen.Module:
    """A linen module, equal to `model`, that takes hooks."""
    if model.scope is not None:
        raise ValueError(f"For 'hooked', {type(model).__name__} is bound to its variables: hook the module, then bind it.")
    registry = _Running()
    # The modules have it, not the class, which goes only when Python looks for cycles.
    new = _hooked_class(type(model), _with_registry(weakref.ref(registry)))
    return new(**_attributes(model), parent=None)


def _hooked_class(cls, make):
    """The subclass of the hooked modules of a class; `make` is its ``__new__``."""
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__new__": make,
        # A copy or a pickled module has no hooks.
        "__reduce_ex__": lambda self, protocol: (_plain, (cls, _attributes(self))),
    }
    new = types.new_class(cls.__name__, (cls,), exec_body=lambda body: body.update(namespace))
    for name in _methods(cls):
        # Set now, when flax has wrapped the class: a wrapped method would be a call of the module, for flax.
        setattr(new, name, _with_interceptor(cls, name))
    apply = cls.apply
    new.apply = functools.wraps(apply)(
        lambda self, variables, *args, **kwargs: apply(self, _checked(self, variables), *args, **kwargs)
    )
    for name in ("__getattribute__", "__getattr__"):  # flax runs setup when the second one is asked for what isn't there yet
        setattr(new, name, _with_hooked_parts(getattr(cls, name)))
    return new


# For one capture.
captured = hooked


def _attributes(model):
    return {f.name: getattr(model, f.name) for f in dataclasses.fields(model) if f.init and f.name != "parent"}


def _plain(cls, attributes):
    return cls(**attributes, parent=None)


def _methods(cls):
    own = [base for base in cls.__mro__ if issubclass(base, linen.Module) and base is not linen.Module]
    names = {name for base in own for name, value in vars(base).items() if inspect.isfunction(value)}
    return [name for name in names if name == "__call__" or not (name.startswith("_") or name == "setup")]


def _with_registry(registry):
    def new(cls, *_args, **_kwargs):
        module = object.__new__(cls)
        object.__setattr__(module, "msjax_registry", registry())
        return module

    return new


def _with_hooked_parts(get):
    def attribute(self, name):
        value = get(self, name)
        if isinstance(value, (linen.Module, tuple, Mapping)) and name != "parent" and not name.startswith("_"):
            self.msjax_registry.reached(self, value)
        return value

    return attribute


def _checked(module, variables):
    what = f"the first argument of the linen module {type(module).__name__}"
    should = "be its variables, as {'params': ...}, before the inputs"
    return check_kind(variables, isinstance(variables, Mapping), should, what, called("apply"))


def _with_plain_copies(cls):
    return lambda _cls, *args, **kwargs: cls(*args, **kwargs)


def _with_interceptor(cls, method):
    @functools.wraps(getattr(cls, method))
    def call(self, *args, **kwargs):
        with self.msjax_registry.running(self):
            return getattr(cls, method)(self, *args, **kwargs)

    return call


class _Running(Registry):
    """The hooks of a linen module, which is told the calls of its modules by flax while it runs."""

    def __init__(self):
        super().__init__()
        # The name of a flag of flax's scopes, which it passes on to all scopes within. Its value is the path of the hooked module.
        self._flag = f"msjax_{self.number}"
        self._running = threading.local()
        self._classes: dict[type[linen.Module], type[linen.Module]] = {}

    def weights(self, model, inputs):
        """The weights among the inputs: those of the variables, which come first; trained are the params."""
        return [
            (name, leaf, collection == "params")
            for collection, variables in (_checked(model, inputs[0]).items() if inputs else ())
            for name, leaf in named_leaves(variables)
        ]

    def paths(self, model):
        found = dict(self.modules)
        if "" in found:
            found[""] = model
            object.__setattr__(model, SITE, self.at("", type(model)))
        return found

    @contextlib.contextmanager
    def running(self, module):
        """Within, calls of the modules of a hooked one run with their hooks."""
        if module.scope is None:  # flax says what is wrong with a module without variables
            yield
            return
        if self._root(module.scope) is None:
            self._mark(module.scope, module.path)
        if hasattr(self._running, "now"):
            yield
            return
        self._running.now = True
        try:
            with linen.intercept_methods(self._intercept):
                yield
        finally:
            del self._running.now
        if self._root(module.scope) == module.path:
            self.check()

    def reached(self, module, value):
        """Modules that code outside of a bound one takes from it, ``model.bind(variables).encoder``, run with their hooks when they are called."""
        if module.scope is None or hasattr(self._running, "now"):
            return
        for part in jax.tree.leaves(value, is_leaf=lambda leaf: isinstance(leaf, linen.Module)):
            if not isinstance(part, linen.Module) or part.scope is None or hasattr(part, "msjax_registry"):
                continue
            if self._root(module.scope) is None:
                self._mark(module.scope, module.path)
            if self._root(part.scope) is not None:
                plain = type(part)
                cls = self._classes.get(plain) or self._classes.setdefault(plain, _hooked_class(plain, _with_plain_copies(plain)))
                object.__setattr__(part, "__class__", cls)
                object.__setattr__(part, "msjax_registry", self)

    def _mark(self, scope, root):
        scope.flags = freeze({**scope.flags, self._flag: root})

    def _root(self, scope):
        """The path of the hooked module that a scope is in; None if it is that of another model, which the hooked one calls."""
        root = scope.flags.get(self._flag)
        if root is None and scope.parent is not None:
            # It was there before the hooked module ran.
            root = self._root(scope.parent)
            if root is not None:
                self._mark(scope, root)
        return root

    def _intercept(self, call, args, kwargs, context):
        module = context.module
        root = None if module.scope is None else self._root(module.scope)
        if root is None:
            return call(*args, **kwargs)
        if context.orig_method.func.__globals__ is vars(linen.transforms):
            # nn.scan, nn.remat, nn.jit: the module's own call is inside. nn.jit keeps its programs with the class, so one with
            # hooks has to differ from that of a module without.
            with HOOKED_WITH((HOOKED_WITH.value, self.number)) if self._rows else contextlib.nullcontext():
                return call(*args, **kwargs)
        method = context.method_name
        if method == "setup" or (method.startswith("_") and method != "__call__"):
            return call(*args, **kwargs)
        at = self.at(".".join(module.path[len(root) :]), type(module))
        self.see(at.path, _unbound(module, at))
        if not at.path:
            self.modules[""] = None  # the model has the registry: it would keep itself
        if module.is_initializing() or _is_dry_run():
            return call(*args, **kwargs)
        object.__setattr__(module, SITE, at)
        return self.call(at, module, call, args, kwargs, lambda: _unbound(module, at), method, context.orig_method.func)


def _is_dry_run():
    """Whether flax traces the body of a scan just to find what doesn't depend on the step; hooks there would be results that do."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "body_fn" and frame.f_globals is vars(axes_scan) and frame.f_locals.get("init_mode"):
            return True
        frame = frame.f_back
    return False


def _unbound(module, at):
    """The module without its variables, which are gone when the run is over."""
    copy = module.clone(parent=None)
    object.__setattr__(copy, SITE, at)
    return copy
