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
        TypeError: a value is no Tensor.
    """
    for name, value in values.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"For '{who}', '{name}' should be a Tensor, but got {describe(value)}.")
