"""Checks of operands that have to be Tensors."""

from __future__ import annotations

from typing import Any

from msjax.common.tensor import Tensor
from msjax.errors import describe


def require_tensors(who: str, /, **values: Any) -> None:
    """Raise unless all values are Tensors.

    Args:
        who: the caller's name in the message.
        values: what was given, by the arguments' names.

    Raises:
        TypeError: a value is not a Tensor.
    """
    for name, value in values.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"For '{who}', '{name}' should be a Tensor, but got {describe(value)}.")


def require_integers(who: str, /, **values: Any) -> None:
    """Raise TypeError unless all values are Tensors of integers; the arguments are those of `require_tensors`."""
    for name, value in values.items():
        if not isinstance(value, Tensor) or value.dtype.kind not in "iu":
            raise TypeError(f"For '{who}', '{name}' should be a Tensor of integers, but got {describe(value)}.")
