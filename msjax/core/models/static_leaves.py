"""Equinox models as arguments and results of jitted functions: their leaves that are no arrays are static, as for eqx.filter_jit."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from msjax.core.base.typing import PyTree


class Split:
    """A model as a pytree of its arrays alone; the rest of it is part of the pytree's structure."""

    def __init__(self, arrays: list[Any], rest: tuple[Any, ...]):
        self.arrays = arrays
        self.rest = rest

    @classmethod
    def of(cls, model: PyTree) -> Split:
        """That of a model."""
        leaves, treedef = jax.tree.flatten(model)
        at = tuple(i for i, leaf in enumerate(leaves) if isinstance(leaf, (jax.Array, np.ndarray)))
        arrays = set(at)
        others = tuple(leaf for i, leaf in enumerate(leaves) if i not in arrays)
        return cls([leaves[i] for i in at], (treedef, at, others))

    def joined(self) -> PyTree:
        """The model."""
        treedef, at, others = self.rest
        places, arrays, others = set(at), iter(self.arrays), iter(others)
        return jax.tree.unflatten(treedef, [next(arrays if i in places else others) for i in range(treedef.num_leaves)])


jax.tree_util.register_pytree_node(Split, lambda s: (s.arrays, s.rest), lambda rest, arrays: Split(arrays, rest))


def is_equinox(value: object) -> bool:
    """Whether a value is a module of equinox, which isn't imported for that."""
    equinox = sys.modules.get("equinox")
    return equinox is not None and isinstance(value, equinox.Module)


def split(tree: PyTree) -> PyTree:
    """A pytree in which equinox models have become `Split`."""
    return jax.tree.map(lambda v: Split.of(v) if is_equinox(v) else v, tree, is_leaf=is_equinox)


def join(tree: PyTree) -> PyTree:
    """The inverse of `split`."""
    return jax.tree.map(lambda v: v.joined() if isinstance(v, Split) else v, tree, is_leaf=lambda v: isinstance(v, Split))


def on_split(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function on arguments that are `split`; so is its result."""

    @functools.wraps(fn)
    def call(*args, **kwargs):
        args, kwargs = join((args, kwargs))
        return split(fn(*args, **kwargs))

    return call
