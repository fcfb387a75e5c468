"""The same network in each framework: ``first`` (2 to 3), ``body`` with ``inner`` (3 to 3) and a tanh, ``last`` (3 to 1).

``body`` and ``body.inner`` get the hooks. The layer before them has weights, so that what goes into them is on a Cell's tape. All
weights are the same numbers.
"""

import equinox
import flax.linen as linen
import haiku
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import msjax as ms
from msjax import hooks, nn, ops

WEIGHTS = {
    "first": np.array([[0.5, -0.25, 0.75], [1.0, 0.125, -0.5]], "float32"),
    "inner": np.array([[0.5, 0.25, -0.75], [-0.125, 1.0, 0.5], [0.375, -0.5, 0.25]], "float32"),
    "last": np.array([[1.0], [-0.5], [0.25]], "float32"),
}
X = np.array([[1.0, -2.0], [0.5, 0.25]], "float32")


def _dense(name):
    weight = WEIGHTS[name]
    return nn.Dense(*weight.shape, weight_init=ms.Tensor(weight.T), bias_init="zeros")


def _linear(name):
    weight = WEIGHTS[name]
    return nnx.Linear(*weight.shape, kernel_init=lambda *_: jnp.asarray(weight), rngs=nnx.Rngs(0))


class CellBody(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = _dense("inner")

    def construct(self, x, scale=1.0):
        return ops.tanh(self.inner(x)) * scale


class CellNet(nn.Cell):
    """A network of Cells, in which the body is a Cell or a function of Tensors."""

    def __init__(self, body):
        super().__init__()
        self.first = _dense("first")
        self.body = body
        self.last = _dense("last")

    def construct(self, x):
        return self.last(self.body(self.first(x)))


class NnxBody(nnx.Module):
    def __init__(self):
        self.inner = _linear("inner")

    def __call__(self, x, *, scale=1.0):
        return jnp.tanh(self.inner(x)) * scale


class NnxNet(nnx.Module):
    def __init__(self):
        self.first, self.body, self.last = _linear("first"), NnxBody(), _linear("last")

    def __call__(self, x):
        return self.last(self.body(self.first(x)))


class NnxInCell(CellNet):
    def construct(self, x):
        return self.last(ms.from_jax(self.body)(self.first(x)))


def _linen_dense(name):
    return linen.Dense(WEIGHTS[name].shape[1], kernel_init=lambda *_: jnp.asarray(WEIGHTS[name]), name=name)


class LinenBody(linen.Module):
    @linen.compact
    def __call__(self, x, *, scale=1.0):
        return jnp.tanh(_linen_dense("inner")(x)) * scale


class LinenNet(linen.Module):
    @linen.compact
    def __call__(self, x):
        return _linen_dense("last")(LinenBody(name="body")(_linen_dense("first")(x)))


class EquinoxLinear(equinox.Module):
    weight: jax.Array

    def __init__(self, name):
        self.weight = jnp.asarray(WEIGHTS[name])

    def __call__(self, x):
        return x @ self.weight


class EquinoxBody(equinox.Module):
    inner: EquinoxLinear

    def __init__(self):
        self.inner = EquinoxLinear("inner")

    def __call__(self, x, *, scale=1.0):
        return jnp.tanh(self.inner(x)) * scale


class EquinoxNet(equinox.Module):
    first: EquinoxLinear
    body: EquinoxBody
    last: EquinoxLinear

    def __init__(self):
        self.first, self.body, self.last = EquinoxLinear("first"), EquinoxBody(), EquinoxLinear("last")

    def __call__(self, x):
        return self.last(self.body(self.first(x)))


def _haiku_linear(name):
    return haiku.Linear(WEIGHTS[name].shape[1], w_init=lambda *_: jnp.asarray(WEIGHTS[name]), name=name)


class HaikuBody(haiku.Module):
    def __call__(self, x, *, scale=1.0):
        return jnp.tanh(_haiku_linear("inner")(x)) * scale


class HaikuNet(haiku.Module):
    def __call__(self, x):
        return _haiku_linear("last")(HaikuBody(name="body")(_haiku_linear("first")(x)))


def haiku_transform(module, name):
    return hooks.hooked(haiku.without_apply_rng(haiku.transform(lambda x: module(name=name)(x))))


def by_hand(body_in=1, inner_in=1, inner_out=1, body_out=1, backward=False):
    """The sum of the network's outputs as a function of its input, with factors in the places of hooks.

    Args:
        body_in, inner_in, inner_out, body_out: what the inputs and outputs of both modules are multiplied with.
        backward: True multiplies the gradients there instead.
    """

    def times(factor, value):
        # An identity whose gradient is multiplied.
        return value * factor + jax.lax.stop_gradient(value - value * factor) if backward else value * factor

    def total(x):
        hidden = times(inner_in, times(body_in, x @ WEIGHTS["first"]))
        y = times(body_out, jnp.tanh(times(inner_out, hidden @ WEIGHTS["inner"])))
        return (y @ WEIGHTS["last"]).sum()

    return total


def calls_by_hand():
    """{kind of hook: what it gets from the inner module and from the body}, in the order of the calls."""
    hidden = X @ WEIGHTS["first"]
    inner = hidden @ WEIGHTS["inner"]
    body = np.tanh(inner)
    of_body = np.ones((2, 1), "float32") @ WEIGHTS["last"].T
    of_inner = of_body * (1 - body**2)
    of_hidden = of_inner @ WEIGHTS["inner"].T
    return {
        "forward_pre": [((hidden,),), ((hidden,),)],
        "forward": [((hidden,), inner), ((hidden,), body)],
        "backward_pre": [((of_body,),), ((of_inner,),)],
        "backward": [((of_hidden,), (of_inner,)), ((of_hidden,), (of_body,))],
    }
