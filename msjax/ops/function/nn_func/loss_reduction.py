"""What loss functions share: how elementwise losses are reduced."""

import jax.numpy as jnp

from msjax.errors import describe


def check_reduction(reduction, who):
    """ValueError unless it is one of the three."""
    if not isinstance(reduction, str) or reduction not in ("mean", "sum", "none"):
        raise ValueError(f"For '{who}', 'reduction' should be 'mean', 'sum' or 'none', but got {describe(reduction)}.")


def reduce_loss(x, reduction):
    """The mean, the sum or all of elementwise losses, as jax arrays."""
    if reduction == "mean":
        return jnp.mean(x)
    return jnp.sum(x) if reduction == "sum" else x
