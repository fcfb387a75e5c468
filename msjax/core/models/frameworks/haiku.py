"""Hooks on haiku transforms, whose functions run with an interceptor of method calls."""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any

import haiku
import jax

from msjax.core.models.array_hooks import SITE, subclasses
from msjax.core.models.frameworks.registry import Registry, named_leaves


def hooked(model: Any) -> Any:
    """A transform with the functions of `model`, whose `apply` runs with hooks; `init` runs without."""
    registry, cls = _OfTransform(), type(model)
    apply = jax.tree.map(lambda function: _running(function, registry, with_hooks=True), model.apply)
    new = _hooked_class(cls)(_running(model.init, registry, with_hooks=False), apply)
    new.msjax_registry = registry
    return new


# For one capture.
captured = hooked


@subclasses
def _hooked_class(cls):
    """The class of a hooked transform, which has a registry: a subclass of haiku's, whose instances have no attributes."""
    return {}


class _OfTransform(Registry):
    def weights(self, model, inputs):
        """The weights among the inputs: those of the params, which come first, and of the state, which may come next."""
        with_state = isinstance(model, (haiku.TransformedWithState, haiku.MultiTransformedWithState))
        given = zip(inputs, (True, False) if with_state else (True,))
        return [(name, leaf, trained) for tree, trained in given for name, leaf in named_leaves(tree)]


def _running(function, registry, with_hooks):
    @functools.wraps(function)
    def run(*args, **kwargs):
        this_run = object()

        def intercept(call, args, kwargs, context):
            module, method = context.module, context.method_name
            # haiku's own module that keeps another transform's parameters, and returns them, is not one of the model
            within = None if type(module).__module__ == "haiku._src.lift" else _names_around(this_run)
            if (method.startswith("_") and method != "__call__") or within is None:
                return call(*args, **kwargs)
            path = "/".join([*within, module.module_name]).replace("/", ".")
            at = vars(module)[SITE] = registry.at(path, type(module))
            registry.see(path, module)
            if not with_hooks:
                return call(*args, **kwargs)
            return registry.call(at, module, call, args, kwargs, None, method, context.orig_class)

        with haiku.intercept_methods(intercept):
            out = function(*args, **kwargs)
        registry.check()
        return out

    return run


def _names_around(this_run):
    """The names that parameters have in front of the module's that is called: those of the stacks of layers around it, outermost first.

    None if the module is not one of the hooked transform, but of another one that its function applies. Transforms that haiku makes itself,
    as in layer_stack, are parts of the one around them. Only Python's frames tell.

    Args:
        this_run: an object of the hooked transform's run.
    """
    frame, applied, names = sys._getframe(2), False, []
    while frame is not None:
        name = frame.f_globals["__name__"]
        if name == __name__ and frame.f_code.co_name == "run":
            return names[::-1] if frame.f_locals["this_run"] is this_run else None
        if name in ("haiku._src.transform", "haiku._src.multi_transform"):
            applied = True
        elif name == "haiku._src.layer_stack":
            applied = False
            if frame.f_code.co_name == "__call__":
                lifted = inspect.getclosurevars(frame.f_locals["params_and_state_fn"]).nonlocals["f"]
                names += [lifted.prefix_name] if lifted.prefix_name else []
        elif applied and name.partition(".")[0] not in ("jax", "haiku", "contextlib"):
            return None
        frame = frame.f_back
    return None
