"""The reduction of elementwise losses, shared by all loss functions."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_one_of
from msjax.core.base.typing import JaxArray


def check_reduction(reduction: str, who: str) -> None:
    """ValueError unless it is one of the three."""
    check_one_of(reduction, ("mean", "sum", "none"), "reduction", who)


def reduce_loss(x: TensorLike, reduction: str) -> JaxArray:
    """The mean, the sum or all of elementwise losses, as jax arrays."""
    if reduction == "mean":
        return jnp.mean(x)
    return jnp.sum(x) if reduction == "sum" else x
