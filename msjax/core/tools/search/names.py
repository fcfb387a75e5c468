"""The names of a function's arguments in words."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
from flax import nnx

from msjax.core.base.split import opened
from msjax.core.hooks.places import is_array


class LeafName(str):
    """The name of an array in words.

    Attributes:
        keys: those of its path in the argument, or in the model, such as ("params", "Dense_0", "kernel").
        owned: whether it is surely one of a model's.
    """

    keys: tuple[str, ...] = ()
    owned: bool = False


def argument_names(args: tuple[Any, ...], kwargs: dict[str, Any], *fns: Callable[..., Any], model: Any = None) -> list[LeafName]:
    """The names of the arrays among the arguments of a function, such as "argument params['w']" and "the Param layers.scale".

    Args:
        fns: the function, whose signature names them; without a name there, they are numbered from 0. Of the `apply` of a linen module, which
            names its first one, and the module, which names the others.
        model: a model whose arrays come before those of the arguments: an nnx module or a pytree.
    """
    called = [name for fn in fns for name in _parameters(fn)]
    return [
        *([] if model is None else _names(model, "the model", True)),
        *(name for i, arg in enumerate(args) for name in _names(arg, f"argument {called[i] if i < len(called) else i}")),
        *(name for key in sorted(kwargs) for name in _names(kwargs[key], f"argument {key}")),
    ]


def weight_names(model: Any) -> list[tuple[LeafName, Any]]:
    """(name, array) of the arrays of a model that a program has as constants: one that is no pytree, or that a function closes over."""
    tree = nnx.state(model) if isinstance(model, nnx.Module) else model
    return [*zip(_names(tree, "the model", True), filter(is_array, jax.tree.leaves(tree)))]


def _parameters(fn):
    """The names of the positional parameters of a function."""
    try:
        found = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # of some builtins, it isn't known
        found = ()
    return [each.name for each in found if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]


def changed(before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """Leaves after a call; None for those that are what they were before."""
    return [None if i < len(before) and before[i] is leaf else leaf for i, leaf in enumerate(after)]


def became(names: Sequence[str], path: tuple[Any, ...]) -> str:
    """The name of a leaf of (result, what the arguments have become)."""
    if path[0].idx == 0:
        return f"the result{jax.tree_util.keystr(path[1:])}"
    return f"{names[path[1].idx]}, as it is afterwards" if path[1].idx < len(names) else "an argument, as it is afterwards"


def gradient_of(names: Sequence[str], path: tuple[Any, ...]) -> str:
    """The name of a leaf of the pair (results, gradients), by its path in that pair."""
    if path[0].idx == 0:
        return "the result"
    return f"the gradient of {names[path[2].idx]}"


def _names(value, outer, of_model=False):
    """The `LeafName` of each array in a pytree."""
    found = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(opened(value), is_leaf=_is_variable)[0]:
        keys, text = tuple(jax.tree_util.keystr((key,), simple=True) for key in path), f"{outer}{jax.tree_util.keystr(path)}"
        if _is_variable(leaf):
            text = f"{'the ' if of_model else ''}{type(leaf).__name__} {'.'.join(keys)}" + ("" if of_model else f" of {outer}")
        for array in jax.tree.leaves(leaf):
            if is_array(array):
                name = LeafName(text)
                name.keys, name.owned = keys, of_model or _is_variable(leaf)
                found.append(name)
    return found


def _is_variable(value):
    return isinstance(value, nnx.Variable)
