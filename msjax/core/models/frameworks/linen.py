"""Hooks on flax linen modules. A hooked module is of a generated subclass, whose methods run with an interceptor of method calls."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import sys
import threading
import types

import flax.linen as linen
from flax.core import axes_scan

from msjax.core.hooks.places import HOOKED_WITH
from msjax.core.models.array_hooks import SITE
from msjax.core.models.frameworks.registry import Registry, Site, named_leaves


def hooked(model: linen.Module) -> linen.Module:
    """A linen module, equal to `model`, that takes hooks."""
    if model.scope is not None:
        raise ValueError(f"For 'hooked', {type(model).__name__} is bound to its variables: hook the module, then bind it.")
    cls, registry = type(model), _Running()
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "msjax_registry": registry,
        # A copy or a pickled module has no hooks.
        "__reduce_ex__": lambda self, protocol: (_plain, (cls, _attributes(self))),
    }
    new = types.new_class(cls.__name__, (cls,), exec_body=lambda body: body.update(namespace))
    for name in _methods(cls):
        # Set now, when flax has wrapped the class: a wrapped method would be a call of the module, for flax.
        setattr(new, name, _with_interceptor(getattr(cls, name), registry))
    return new(**_attributes(model), parent=None)


def _attributes(model):
    return {f.name: getattr(model, f.name) for f in dataclasses.fields(model) if f.init and f.name != "parent"}


def _plain(cls, attributes):
    return cls(**attributes, parent=None)


def _methods(cls):
    own = [base for base in cls.__mro__ if issubclass(base, linen.Module) and base is not linen.Module]
    names = {name for base in own for name, value in vars(base).items() if inspect.isfunction(value)}
    return [name for name in names if name == "__call__" or not (name.startswith("_") or name == "setup")]


def _with_interceptor(method, registry):
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        with registry.running(self):
            return method(self, *args, **kwargs)

    return call


class _Running(Registry):
    """The hooks of a linen module, which is told the calls of its modules by flax while it runs."""

    def __init__(self):
        super().__init__()
        # The path of the hooked module while it runs; of each thread.
        self._here = threading.local()

    def weights(self, model, inputs):
        """Those of the variables, which come first; trained are the params."""
        return [
            (name, leaf, collection == "params")
            for collection, variables in (inputs[0].items() if inputs else ())
            for name, leaf in named_leaves(variables)
        ]

    @contextlib.contextmanager
    def running(self, module):
        """Within, calls of modules run with their hooks."""
        if hasattr(self._here, "root") or module.scope is None:  # flax says what is wrong with a module without variables
            yield
            return
        self._here.root = module.path
        try:
            with linen.intercept_methods(self._intercept):
                yield
        finally:
            del self._here.root
        self.check()

    def _intercept(self, call, args, kwargs, context):
        module = context.module
        if context.orig_method.func.__globals__ is vars(linen.transforms):
            # nn.scan, nn.remat, nn.jit: the module's own call is inside. nn.jit keeps its programs with the class, so one with
            # hooks has to differ from that of a module without.
            with HOOKED_WITH(self.key):
                return call(*args, **kwargs)
        method = context.method_name
        if method == "setup" or (method.startswith("_") and method != "__call__"):
            return call(*args, **kwargs)
        path = ".".join(module.path[len(self._here.root) :])
        self.see(path, _unbound(module, self, path))
        if module.is_initializing() or _is_dry_run():
            return call(*args, **kwargs)
        object.__setattr__(module, SITE, Site(self, path, type(module).__name__))
        return self.call(path, module, call, args, kwargs, lambda: _unbound(module, self, path), method)


def _is_dry_run():
    """Whether flax traces the body of a scan just to find what doesn't depend on the step; hooks there would be results that do."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "body_fn" and frame.f_globals is vars(axes_scan) and frame.f_locals.get("init_mode"):
            return True
        frame = frame.f_back
    return False


def _unbound(module, registry, path):
    """The module without its variables, which are gone when the run is over."""
    copy = module.clone(parent=None)
    object.__setattr__(copy, SITE, Site(registry, path, type(module).__name__))
    return copy
