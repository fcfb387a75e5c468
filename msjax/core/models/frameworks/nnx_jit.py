"""hooks.jit of functions of flax nnx modules."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from flax import nnx

from msjax.core.jaxprs.observers import with_observed
from msjax.core.models.frameworks.nnx import hooked_in
from msjax.core.models.frameworks.nnx_outputs import is_object, objects_among

jit = nnx.jit


def is_module(value: object) -> bool:
    """Whether a value is an nnx module."""
    return isinstance(value, nnx.Module)


def is_object_or_state(value: object) -> bool:
    """Whether a value is one of nnx's objects, or a State, which is none."""
    return is_object(value) or isinstance(value, nnx.State)


def hooked_among(values: Any) -> list[Any]:
    """For each hooked model or network of Cells among values, an object that lives as long as it does."""
    models = [model for model in jax.tree.leaves(values, is_leaf=is_module) if is_module(model)]
    return [hooked for model in models if (hooked := hooked_in(model)) is not None]


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
