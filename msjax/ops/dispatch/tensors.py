"""Checks of operands that have to be Tensors, and Tensors in nested containers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_int, check_kind, check_type


def map_tensors(fn: Callable[[Tensor], Any], value: Any) -> Any:
    """What a function gives for a Tensor, or for each one in nested tuples, lists and dicts; other values as they are."""
    if isinstance(value, Tensor):
        return fn(value)
    if isinstance(value, (tuple, list)):
        mapped = [map_tensors(fn, v) for v in value]
        return value._make(mapped) if hasattr(value, "_fields") else type(value)(mapped)
    if isinstance(value, dict):
        return {k: map_tensors(fn, v) for k, v in value.items()}
    return value


def axis_of(tensor: Tensor, axis: int | Tensor, who: str) -> int:
    """The number of an axis, counted from 0."""
    axis = axis.item() if isinstance(axis, Tensor) else axis
    if not -tensor.ndim <= check_int(axis, "axis", who) < tensor.ndim:
        raise ValueError(f"For '{who}', there is no axis {axis} in a Tensor of shape {tensor.shape}.")
    return axis % tensor.ndim


def require_tensors(who: str, /, **values: Any) -> None:
    """Raise unless all values are Tensors."""
    for name, value in values.items():
        check_type(value, Tensor, name, who)


def require_integers(who: str, /, **values: Any) -> None:
    """Raise TypeError unless all values are Tensors of integers; the arguments are those of `require_tensors`."""
    for name, value in values.items():
        check_kind(value, isinstance(value, Tensor) and value.dtype.kind in "iu", "be a Tensor of integers", name, who)
