"""Single names of MindSpore's private modules that public programs import; `msjax.alias` says which modules have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from ml_dtypes import bfloat16 as bfloat16

from msjax.core.door import RemovableHandle

__all__ = ["HookHandle", "StubTensor", "bfloat16", "cell_attr_register", "get_broadcast_shape"]

HookHandle = _TensorHookHandle = RemovableHandle


def cell_attr_register(fn: Any = None, attrs: Any = None) -> Any:
    """Returns the constructor that it decorates. MindSpore records its arguments; here `extend_repr` shows a cell's settings."""
    return (lambda decorated: decorated) if fn is None else fn


def _get_cache_prim(cls: Any) -> Any:
    """The class of an operator itself: creating an operator takes a microsecond here, so none is kept."""
    return cls


class StubTensor:
    """A Tensor whose value is still being computed, for programs that ask whether one is. No Tensor is one: jax computes behind each of them."""


def get_broadcast_shape(
    x_shape: Sequence[int],
    y_shape: Sequence[int],
    prim_name: str,
    shape_type: str = "",
    arg_name1: str = "x",
    arg_name2: str = "y",
) -> list[int]:
    """The shape of what an operator computes from two Tensors.

    Args:
        x_shape, y_shape: their shapes.
        prim_name (str): the operator's name, for messages.
        shape_type (str): accepted for compatibility, without effect.
        arg_name1, arg_name2 (str): the names of the Tensors.

    Raises:
        ValueError: they don't fit.

    Example:
        >>> from msjax.compat.private_names import get_broadcast_shape
        >>> get_broadcast_shape((2, 1), (3,), "add")
        [2, 3]
    """
    try:
        return list(np.broadcast_shapes(tuple(x_shape), tuple(y_shape)))
    except ValueError:
        raise ValueError(
            f"For '{prim_name}', {arg_name1} and {arg_name2} should have shapes that broadcast, but got {list(x_shape)} and {list(y_shape)}."
        ) from None
