"""Split: a pytree as its arrays, and all else."""

from __future__ import annotations

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
        """That of a pytree; `is_array` says which of its leaves count as arrays, `is_leaf` what is not taken apart."""
        leaves, treedef = jax.tree.flatten(tree, is_leaf)
        at = tuple(i for i, leaf in enumerate(leaves) if is_array(leaf))
        arrays = set(at)
        others = tuple(leaf for i, leaf in enumerate(leaves) if i not in arrays)
        return cls([leaves[i] for i in at], (treedef, at, others))

    def joined(self) -> PyTree:
        """The pytree."""
        treedef, at, others = self.rest
        places, arrays, others = set(at), iter(self.arrays), iter(others)
        return jax.tree.unflatten(treedef, [next(arrays if i in places else others) for i in range(treedef.num_leaves)])


jax.tree_util.register_pytree_node(Split, lambda s: (s.arrays, s.rest), lambda rest, arrays: Split(arrays, rest))
