"""Loss functions."""

import jax
import jax.numpy as jnp

from msjax.ops.dispatch import operator

__all__ = [
    "l1_loss",
    "mse_loss",
    "softmax_cross_entropy",
]


def reduce_loss(x, reduction):
    """The mean, the sum or all of elementwise losses."""
    if reduction == "mean":
        return jnp.mean(x)
    if reduction == "sum":
        return jnp.sum(x)
    if reduction == "none":
        return x
    raise ValueError(f"'reduction' should be 'mean', 'sum' or 'none', but got {reduction!r}.")


@operator(2, name="SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(logits, labels, sparse, reduction):
    """Cross entropy of logits (N, C) with class numbers (N,) if sparse, else with probabilities (N, C)."""
    log_p = jax.nn.log_softmax(logits, -1)
    if sparse:
        losses = -jnp.take_along_axis(log_p, labels[..., None].astype(jnp.int32), -1)[..., 0]
    else:
        losses = -jnp.sum(log_p * labels, -1)
    return reduce_loss(losses, reduction)


@operator(2)
def mse_loss(input, target, reduction="mean"):
    """(input - target) squared."""
    return reduce_loss(jnp.square(input - target), reduction)


@operator(2)
def l1_loss(input, target, reduction="mean"):
    """|input - target|."""
    return reduce_loss(jnp.abs(input - target), reduction)
