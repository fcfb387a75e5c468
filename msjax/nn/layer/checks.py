"""Checks of the arguments of layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msjax.common.tensor import Tensor
from msjax.errors import describe

if TYPE_CHECKING:
    from msjax.common.initializers import HeUniform


def check_tensor(value: Tensor, name: str, who: str) -> Tensor:
    """The value, if it is a Tensor; TypeError otherwise."""
    if not isinstance(value, Tensor):
        raise TypeError(f"For '{who}', '{name}' should be a Tensor, but got {describe(value)}.")
    return value


def check_init_shape(init: HeUniform | str, shape: tuple[int, ...], name: str, who: str) -> HeUniform | str:
    """ValueError if an initial value is a Tensor of another shape than the Parameter's."""
    if isinstance(init, Tensor) and tuple(init.shape) != tuple(shape):
        raise ValueError(f"For '{who}', '{name}' should have shape {tuple(shape)}, but its shape is {tuple(init.shape)}.")
    return init
