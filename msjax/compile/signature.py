"""Signatures: what of a call's arguments a program is compiled for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from msjax.common.dtype import Type
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, is_leaf

STATIC = (type(None), bool, int, float, complex, str, bytes, Type, np.dtype, slice, type(Ellipsis))


def signature(args: tuple, kwargs: dict[str, Any]) -> tuple:
    """(key, leaves, treedef) of a call; treedef is None if all arguments are plain Tensors."""
    if not kwargs:
        key = []
        for arg in args:
            if arg.__class__ is not Tensor or arg._hooks is not None:
                break
            value = arg._value
            key.append((value.shape, value.dtype))
        else:
            return tuple(key), args, None
    leaves, treedef = jax.tree.flatten((args, kwargs), is_leaf=is_leaf)
    return (treedef, *map(_leaf_key, leaves)), leaves, treedef


def _leaf_key(leaf):
    if isinstance(leaf, Parameter):
        return "variable", id(leaf)
    if isinstance(leaf, Tensor):
        hooks = leaf._hooks
        return leaf._value.shape, leaf._value.dtype, tuple(hooks.hooks) if hooks else ()
    if isinstance(leaf, (jax.Array, np.ndarray)):
        return "array", leaf.shape, leaf.dtype
    if isinstance(leaf, STATIC):
        return type(leaf), str(leaf) if isinstance(leaf, slice) else leaf
    return "object", id(leaf)


def aliases(leaves: Sequence[Any], variables: list[Tensor]) -> tuple:
    """Which leaves are an object that stands earlier among the leaves, or among the variables: (leaf, other) pairs of numbers.

    The other's number is negative for a variable: -1 for the first. () if all are objects of their own.
    """
    known = {id(v): -1 - i for i, v in enumerate(variables)}
    found = []
    for i, leaf in enumerate(leaves):
        if is_argument(leaf):
            other = known.setdefault(id(leaf), i)
            if other != i:
                found.append((i, other))
    return tuple(found)


def is_argument(leaf: Any) -> bool:
    """True for a Tensor that goes in with the arguments; a Parameter is a variable."""
    return isinstance(leaf, Tensor) and not isinstance(leaf, Parameter)


def is_input(leaf: Any) -> bool:
    """True for a leaf whose value goes into the program."""
    return is_argument(leaf) or isinstance(leaf, (jax.Array, np.ndarray))


def raw(leaf: Any) -> Any:
    """The array of a leaf."""
    return leaf._value if isinstance(leaf, Tensor) else leaf
