"""The names of a function's arguments in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
from flax import nnx

from msjax.core.hooks.places import is_array
from msjax.core.models.frameworks.registry import key_name


class LeafName(str):
    """The name of an array in words.

    Attributes:
        weight: its dotted name in a model; None if it belongs to none.
    """

    weight: str | None = None


def argument_names(
    args: tuple[Any, ...], kwargs: dict[str, Any], model: Any = None, weights: Mapping[int, str] | None = None
) -> list[LeafName]:
    """The names of the arrays among the arguments of a function, such as "argument 0['w']" and "the Param layers.scale".

    Args:
        args, kwargs: the arguments.
        model: a model whose arrays come before those of the arguments: an nnx module or a pytree.
        weights: {id of an array: its dotted name in a model} of the weights among all these.
    """
    return [
        *([] if model is None else _names(model, "the model", weights, "the ")),
        *(name for i, arg in enumerate(args) for name in _names(arg, f"argument {i}", weights)),
        *(name for key in sorted(kwargs) for name in _names(kwargs[key], f"argument {key}", weights)),
    ]


def changed(before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """Leaves after a call; None for those that are what they were before."""
    return [None if i < len(before) and before[i] is leaf else leaf for i, leaf in enumerate(after)]


def became(names: Sequence[str], path: tuple[Any, ...]) -> str:
    """The name of a leaf of (result, what the arguments have become)."""
    if path[0].idx == 0:
        return f"the result{jax.tree_util.keystr(path[1:])}"
    return f"{names[path[1].idx]}, as it is afterwards" if path[1].idx < len(names) else "an argument, as it is afterwards"


def gradient_of(names: Sequence[str], path: tuple[Any, ...]) -> str:
    """The name of a leaf of (results, gradients)."""
    if path[0].idx == 0:
        return "the result"
    return f"the gradient of {names[path[2].idx]}"


def _names(value, outer, weights, article=""):
    """Of each array in a pytree."""
    found = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(value, is_leaf=_is_variable)[0]:
        dotted, text = None, f"{outer}{jax.tree_util.keystr(path)}"
        if isinstance(leaf, nnx.Variable):
            dotted = ".".join(map(key_name, path))
            text = f"{article}{type(leaf).__name__} {dotted}" + ("" if article else f" of {outer}")
        for array in jax.tree.leaves(leaf):
            if is_array(array):
                name = LeafName(text)
                name.weight = (weights or {}).get(id(array), dotted)
                found.append(name)
    return found


def _is_variable(value):
    return isinstance(value, nnx.Variable)
