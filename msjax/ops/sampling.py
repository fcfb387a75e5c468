"""Random operators, on the keys of the default generator."""

import jax
import jax.numpy as jnp

from msjax.autograd.op import Op, apply
from msjax.common.random import default_generator

__all__ = [
    "dropout",
]


def _dropout(x, key, p, axes):
    """`axes`: the axes along which elements are dropped together; () for none."""
    shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
    keep = jax.random.bernoulli(jax.random.wrap_key_data(key), 1 - p, shape)
    return jnp.where(keep, x / (1 - p), jnp.zeros((), x.dtype)) if p < 1 else jnp.zeros_like(x)


_DROPOUT = Op("Dropout", _dropout)


def dropout(input, p=0.5, training=True, seed=None):
    """Elements set to zero with probability `p`, the others scaled by 1 / (1 - p); the input itself when not training."""
    del seed
    if not training or p == 0:
        return input
    return apply(_DROPOUT, (input, default_generator.next_key()), (float(p), ()))
