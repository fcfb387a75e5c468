"""What the network computes, and what its hooks get, without any framework."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.engine.networks import example, weight


def total(body_in=1, inner_in=1, inner_out=1, body_out=1, backward=False):
    """The sum of the network's outputs as a function of its input and the weights of ``body.inner``, with factors in the places of
    hooks.

    Args:
        body_in, inner_in, inner_out, body_out: what the inputs and outputs of both modules are multiplied with.
        backward: True multiplies the gradients there instead.
    """

    def times(factor, value):
        # An identity whose gradient is multiplied.
        return value * factor + jax.lax.stop_gradient(value - value * factor) if backward else value * factor

    def of(x, inner):
        hidden = times(inner_in, times(body_in, x @ weight("first")))
        y = times(body_out, jnp.tanh(times(inner_out, hidden @ inner)))
        return (y @ weight("last")).sum()

    return of


# The kinds of which `calls` tells.
KINDS = ("forward_pre", "forward", "backward_pre", "backward")


def calls():
    """{kind: what its hooks get}, in the order of the calls."""
    first, inner, last = (np.asarray(weight(name)) for name in ("first", "inner", "last"))
    hidden = np.asarray(example()) @ first
    of_inner = hidden @ inner
    body = np.tanh(of_inner)
    back_body = np.ones((2, 1), "float32") @ last.T
    back_inner = back_body * (1 - body**2)
    back_hidden = back_inner @ inner.T
    return {
        "forward_pre": [((hidden,),), ((hidden,),)],
        "forward": [((hidden,), of_inner), ((hidden,), body)],
        "backward_pre": [((back_body,),), ((back_inner,),)],
        "backward": [((back_hidden,), (back_inner,)), ((back_hidden,), (back_body,))],
    }
