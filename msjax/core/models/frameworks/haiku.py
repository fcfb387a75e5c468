"""Hooks on haiku transforms, whose functions run with an interceptor of method calls."""

from __future__ import annotations

import functools
from typing import Any

import haiku
import jax

from msjax.core.models.array_hooks import SITE
from msjax.core.models.frameworks.registry import Registry, Site, named_leaves


def hooked(model: Any) -> Any:
    """A transform with the functions of `model`, whose `apply` runs with hooks; `init` runs without."""
    registry, cls = _OfTransform(), type(model)
    new = type(cls.__name__, (cls,), {"__module__": cls.__module__, "msjax_registry": registry})
    apply = jax.tree.map(lambda function: _running(function, registry, with_hooks=True), model.apply)
    return new(_running(model.init, registry, with_hooks=False), apply)


class _OfTransform(Registry):
    def weights(self, model, inputs):
        """Those of the params, which come first, and of the state, which may come next."""
        with_state = isinstance(model, (haiku.TransformedWithState, haiku.MultiTransformedWithState))
        given = zip(inputs, (True, False) if with_state else (True,))
        return [(name, leaf, trained) for tree, trained in given for name, leaf in named_leaves(tree)]


def _running(function, registry, with_hooks):
    def intercept(call, args, kwargs, context):
        module, method = context.module, context.method_name
        if method.startswith("_") and method != "__call__":
            return call(*args, **kwargs)
        path = module.module_name.replace("/", ".")
        vars(module)[SITE] = Site(registry, path, type(module).__name__)
        registry.see(path, module)
        return registry.call(path, module, call, args, kwargs, None, method) if with_hooks else call(*args, **kwargs)

    @functools.wraps(function)
    def run(*args, **kwargs):
        with haiku.intercept_methods(intercept):
            out = function(*args, **kwargs)
        registry.check()
        return out

    return run
