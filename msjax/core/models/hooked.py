"""hooked: models of other frameworks that take hooks."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from msjax.core.base.errors import callable_name, called, describe
from msjax.core.models.frameworks.framework import Framework, framework_of

# {a framework: its classes of models}; one that isn't imported has no models.
_MODELS = {
    "flax.linen": ("linen", ("Module",)),
    "equinox": ("equinox", ("Module",)),
    "haiku": ("haiku", ("Transformed", "TransformedWithState", "MultiTransformed", "MultiTransformedWithState")),
}


def hooked(model: Any) -> Any:
    """A model of flax linen, equinox or haiku that takes hooks, and whose modules are places of `capture`.

    It is called like the model, has the same parameters and is an instance of the model's class. `register_forward_hook` and the
    like, `paths`, `path`, `capture` and `run_with_cache` take it. The model itself stays as it is.

    Args:
        model: a linen module, an equinox model, or a haiku transform (``hk.transform(f)`` and its variants). An nnx module or a
            Cell takes hooks as it is, and is returned.

    Returns:
        A linen module, whose `apply` runs with hooks (`init` without); an equinox model with the same leaves; a transform.
        Hooks belong to it and all that is made of it by jax.tree.map, an optimizer or a clone; deep copies and pickled models
        have none. The paths of a linen or haiku model's modules are known when it has run for the first time.

    Raises:
        TypeError: `model` is of another type.
        ValueError: a linen module is bound to its variables.

    Example:
        >>> import flax.linen
        >>> import jax
        >>> import jax.numpy as jnp
        >>> import msjax as ms
        >>> model = ms.hooks.hooked(flax.linen.Sequential([flax.linen.Dense(2), flax.linen.relu]))
        >>> params = model.init(jax.random.key(0), jnp.ones(3))
        >>> with ms.hooks.register_forward_hook(model, lambda module, args, output: print(output.shape), "layers_*"):
        ...     out = model.apply(params, jnp.ones(3))
        (2,)
    """
    if framework_of(model) is not None:
        return model
    name = unhooked(model)
    if name is None:
        raise TypeError(
            "For 'hooked', the model should be a flax linen module, an equinox model, a haiku transform or an nnx module, but got "
            f"{_told(model)}"
        )
    return importlib.import_module(f"msjax.core.models.frameworks.{name}").hooked(model)


def unhooked(model: object) -> str | None:
    """The name of the framework if a model takes hooks only when `hooked` has taken it, else None."""
    for framework, (name, classes) in _MODELS.items():
        there = sys.modules.get(framework)
        # What equinox makes of functions are modules, too.
        if (
            there is not None
            and isinstance(model, tuple(getattr(there, c) for c in classes))
            and not hasattr(model, "__wrapped__")
        ):
            return name
    return None


def framework_with_hooks(model: Any, who: str) -> Framework:
    """The framework of a model that takes hooks; TypeError, which names the function that was called, if it takes none."""
    framework = framework_of(model)
    if framework is not None:
        return framework
    if unhooked(model) is not None:
        raise TypeError(f"For '{called(who)}', the model should take hooks, but got {describe(model)}. Give hooks.hooked(model).")
    raise TypeError(
        f"For '{called(who)}', the model should be a flax nnx module, a Cell, or what hooks.hooked(model) returns for a flax linen module, an "
        f"equinox model or a haiku transform, but got {_told(model)}"
    )


def _told(value):
    """What is no model, and what else it may be good for."""
    if not isinstance(value, (types.FunctionType, types.MethodType)):
        return f"{describe(value)}."
    return (
        f"the function {callable_name(value)}. A function has no modules: hooks.with_hooks puts hooks around it, and hooks.capture returns "
        "the values that hooks.site names in it."
    )


def as_model(fn: Any) -> Any:
    """What `capture` takes for `fn`: of a linen module, a haiku transform or an equinox model, one that takes hooks."""
    name = unhooked(fn)
    if name is None or framework_of(fn) is not None:
        return fn
    return importlib.import_module(f"msjax.core.models.frameworks.{name}").captured(fn)


def as_function(fn: Any) -> Any:
    """What `capture` calls: of a linen module or a haiku transform its `apply`, of an equinox model a hooked copy."""
    return called_as(as_model(fn))


def called_as(model: Any) -> Any:
    """What is called to run what `as_model` returns."""
    return model if unhooked(model) is None else model.msjax_registry.function(model)


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
    return framework_with_hooks(model, "paths").paths(model)
