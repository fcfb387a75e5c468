"""``mindspore.ops._utils``: shapes that operators of public programs compute by themselves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["get_broadcast_shape"]


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
        >>> from msjax.compat.op_utils import get_broadcast_shape
        >>> get_broadcast_shape((2, 1), (3,), "add")
        [2, 3]
    """
    try:
        return list(np.broadcast_shapes(tuple(x_shape), tuple(y_shape)))
    except ValueError:
        raise ValueError(
            f"For '{prim_name}', {arg_name1} and {arg_name2} should have shapes that broadcast, but got {list(x_shape)} and {list(y_shape)}."
        ) from None
