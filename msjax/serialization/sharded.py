"""Sharded checkpoints of jax arrays, by Orbax: every process writes and reads its own shards."""

from __future__ import annotations

import os
from typing import Any

import jax

from msjax.common.tensor import Tensor, is_tensor


def save_sharded(path: str, tree: Any, overwrite: bool = False) -> None:
    """Save a tree of arrays, such as the Parameters of a functionalized network.

    Args:
        path (str): a folder to be made.
        tree: nested dicts, lists and tuples of jax arrays or Tensors.
        overwrite (bool): whether a folder that is there is replaced. Default: False.

    Raises:
        ImportError: Orbax (orbax-checkpoint) is not installed.
        ValueError: the folder is there.
    """
    arrays = jax.tree.map(_array, tree, is_leaf=is_tensor)
    with _orbax().StandardCheckpointer() as checkpointer:
        checkpointer.save(os.path.abspath(path), arrays, force=overwrite)


def load_sharded(path: str, like: Any = None) -> Any:
    """Load a tree of arrays that `save_sharded` saved.

    Args:
        path (str): the folder.
        like (optional): a tree of arrays or ``jax.ShapeDtypeStruct`` in whose structure, types and shardings they are
            loaded. By default those in which they were saved.

    Raises:
        ImportError: Orbax (orbax-checkpoint) is not installed.
        FileNotFoundError: there is no such folder.
    """
    if like is not None:
        like = jax.tree.map(lambda leaf: _struct(_array(leaf)), like, is_leaf=is_tensor)
    with _orbax().StandardCheckpointer() as checkpointer:
        return checkpointer.restore(os.path.abspath(path), like)


def _orbax():
    try:
        import orbax.checkpoint
    except ImportError as error:
        raise ImportError("Sharded checkpoints need Orbax: install orbax-checkpoint.") from error
    return orbax.checkpoint


def _array(leaf):
    return leaf._value if isinstance(leaf, Tensor) else leaf


def _struct(leaf):
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=getattr(leaf, "sharding", None))
