"""Activation functions."""

import jax
import jax.numpy as jnp

from msjax.ops.dispatch import operator
from msjax.ops.promote import to_float

__all__ = [
    "gelu",
    "leaky_relu",
    "log_softmax",
    "relu",
    "sigmoid",
    "softmax",
]


@jax.custom_jvp
def _relu(x):
    return jnp.maximum(x, 0)


@_relu.defjvp
def _relu_jvp(primals, tangents):
    # From the output, not the input: the one residual that is there anyway.
    out = _relu(primals[0])
    return out, jnp.where(out > 0, tangents[0], jnp.zeros_like(tangents[0]))


@operator(int_grad=True)
def relu(input):
    """max(input, 0); its gradient at 0 is 0."""
    return _relu(jnp.asarray(input))


@operator()
def sigmoid(input):
    """1 / (1 + exp(-input))."""
    return jax.nn.sigmoid(to_float(input))


@operator()
def softmax(input, axis=-1, *, dtype=None):
    """exp(input) / sum(exp(input)) along `axis`."""
    from msjax.common import dtype as mstype

    return jax.nn.softmax(to_float(input if dtype is None else input.astype(mstype.to_jax(dtype))), axis)


@operator()
def log_softmax(logits, axis=-1):
    """log(softmax(logits)) along `axis`, computed without overflow."""
    return jax.nn.log_softmax(to_float(logits), axis)


@operator()
def gelu(input, approximate="none"):
    """input * Phi(input); approximate="tanh" for the tanh formula."""
    return jax.nn.gelu(to_float(input), approximate=approximate == "tanh")


@operator()
def leaky_relu(input, alpha=0.2):
    """input where positive, alpha * input elsewhere."""
    return jnp.where(input > 0, input, jnp.asarray(alpha, input.dtype) * input)
