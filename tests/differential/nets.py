"""Cells of a function, and their gradient under jax, for what the random cases have found."""

import jax
import jax.numpy as jnp
import pytest

import msjax as ms
from msjax import nn
from tests.compile.calls import Calls

X = jnp.array([[1.0, -2.0, 3.0]], "float32")


class Of(Calls):
    """A Cell of a function of itself and its inputs."""


def grad_of(net, wrap=lambda f: f):
    """The gradient of the objects under jax.grad, after all hooks have been called."""
    grad = wrap(jax.grad(lambda v: net(ms.Tensor(v)).sum()._value))(X)
    ms.hooks.barrier()
    return grad.tolist()


WRAPS = pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])


class Doubles(nn.Cell):
    def construct(self, x):
        return x

    def bprop(self, x, out, dout):
        return (dout * 2.0 * x,)
