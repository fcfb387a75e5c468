"""The reduction of elementwise losses, shared by all loss functions."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.common.typing import TensorLike
from msjax.core.base.errors import describe
from msjax.core.base.typing import JaxArray


def check_reduction(reduction: str, who: str) -> None:
    """ValueError unless it is one of the three."""
    if not isinstance(reduction, str) or reduction not in ("mean", "sum", "none"):
        raise ValueError(f"For '{who}', 'reduction' should be 'mean', 'sum' or 'none', but got {describe(reduction)}.")


def reduce_loss(x: TensorLike, reduction: str) -> JaxArray:
    """The mean, the sum or all of elementwise losses, as jax arrays."""
    if reduction == "mean":
        return jnp.mean(x)
    return jnp.sum(x) if reduction == "sum" else x
