"""Matrix products and linear algebra."""

import jax.numpy as jnp

from msjax.ops.dispatch import operator
from msjax.ops.promote import promote

__all__ = [
    "dense",
    "matmul",
]


@operator(2, name="MatMul", int_grad=True, shape_error=RuntimeError)
def matmul(input, other):
    """The matrix product, batched over leading axes; of two vectors, their dot product."""
    return jnp.matmul(*promote(input, other))


@operator(3, name="Dense")
def dense(input, weight, bias=None):
    """input @ weight.T + bias, over the last axis of `input`; weight has shape (out, in)."""
    out = jnp.matmul(input, weight.T)
    return out if bias is None else out + bias
