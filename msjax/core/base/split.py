"""Split: a pytree as its arrays, and all else."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from msjax.core.base.typing import PyTree


def _is_array(leaf):
    return isinstance(leaf, (jax.Array, np.ndarray))


class Split:
    """A pytree as a pytree of its arrays alone; the rest of it is part of the structure."""

    def __init__(self, arrays: Sequence[Any], rest: tuple[Any, ...]):
        self.arrays = list(arrays)
        self.rest = rest

    @classmethod
    def of(cls, tree: PyTree, is_array: Callable[[Any], bool] = _is_array, is_leaf: Callable[[Any], bool] | None = None) -> Split:
        """Split a pytree; `is_array` says which of its leaves count as arrays, `is_leaf` what is not taken apart."""
        leaves, treedef = jax.tree.flatten(tree, is_leaf)
        nnx = sys.modules.get("flax.nnx")
        if nnx is not None and any(_is_closed(leaf, nnx) for leaf in leaves):
            leaves, treedef = jax.tree.flatten(opened(tree, is_leaf), is_leaf)
        are_arrays = tuple(map(is_array, leaves))
        others = tuple(leaf for leaf, is_one in zip(leaves, are_arrays) if not is_one)
        return cls([*itertools.compress(leaves, are_arrays)], (treedef, are_arrays, others))

    def joined(self) -> PyTree:
        """The pytree."""
        treedef, are_arrays, others = self.rest
        arrays, others = iter(self.arrays), iter(others)
        return jax.tree.unflatten(treedef, [next(arrays if is_one else others) for is_one in are_arrays])


jax.tree_util.register_pytree_node(Split, lambda s: (s.arrays, s.rest), lambda rest, arrays: Split(arrays, rest))


def opened(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> PyTree:
    """A pytree in which the flax nnx modules that jax takes for leaves (pytree=False) are nodes; `unflatten` makes copies of these modules."""
    nnx: Any = sys.modules.get("flax.nnx")
    return tree if nnx is None else jax.tree.map(lambda v: _Opened(v) if _is_closed(v, nnx) else v, tree, is_leaf=is_leaf)


class _Opened:
    def __init__(self, module: Any):
        self.module = module


def _is_closed(leaf, nnx):
    # A Cell is run as the object that it is.
    return isinstance(leaf, nnx.Module) and not hasattr(leaf, "_hooks") and jax.tree_util.all_leaves([leaf])


def _children(opened):
    graphdef, state = sys.modules["flax.nnx"].split(opened.module)
    names = tuple(state)
    return [(jax.tree_util.DictKey(name), state[name]) for name in names], (graphdef, names)


def _module(definition, children):
    graphdef, names = definition
    nnx = sys.modules["flax.nnx"]
    return nnx.merge(graphdef, nnx.State(dict(zip(names, children))), copy=True)


jax.tree_util.register_pytree_with_keys(_Opened, _children, _module)
