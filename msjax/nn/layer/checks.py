"""Checks of the arguments of layers."""

from __future__ import annotations

from msjax.common.initializers import HeUniform
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_type


def check_tensor(value: Tensor, name: str, who: str) -> Tensor:
    """The value, if it is a Tensor; TypeError otherwise."""
    return check_type(value, Tensor, name, who)


def check_init_shape(init: HeUniform | str, shape: tuple[int, ...], name: str, who: str) -> HeUniform | str:
    """ValueError if an initial value is a Tensor of another shape than the Parameter's."""
    if isinstance(init, Tensor) and tuple(init.shape) != tuple(shape):
        raise ValueError(f"For '{who}', '{name}' should have shape {tuple(shape)}, but its shape is {tuple(init.shape)}.")
    return init
