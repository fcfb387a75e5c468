"""The network in linen, equinox, haiku, and as plain functions; see `networks`."""

import equinox
import flax.linen as linen
import haiku
import jax
import jax.numpy as jnp

from msjax import hooks
from tests.engine.networks import inside_of_arrays, one, weight


def _linen_dense(name):
    given = weight(name)
    return linen.Dense(
        given.shape[1], kernel_init=lambda *_: given, use_bias=False, dtype=given.dtype, param_dtype=given.dtype, name=name
    )


class LinenBody(linen.Module):
    @linen.compact
    def __call__(self, x, *, scale=1.0):
        return inside_of_arrays(jnp.tanh(_linen_dense("inner")(x))) * scale


class LinenNet(linen.Module):
    @linen.compact
    def __call__(self, x):
        return _linen_dense("last")(LinenBody(name="body")(_linen_dense("first")(x), scale=one()))


class EquinoxLinear(equinox.Module):
    weight: jax.Array

    def __call__(self, x):
        return x @ self.weight


class EquinoxBody(equinox.Module):
    inner: EquinoxLinear

    def __init__(self):
        self.inner = EquinoxLinear(weight("inner"))

    def __call__(self, x, *, scale=1.0):
        return inside_of_arrays(jnp.tanh(self.inner(x))) * scale


class EquinoxNet(equinox.Module):
    first: EquinoxLinear
    body: EquinoxBody
    last: EquinoxLinear

    def __init__(self):
        self.first, self.body, self.last = EquinoxLinear(weight("first")), EquinoxBody(), EquinoxLinear(weight("last"))

    def __call__(self, x):
        return self.last(self.body(self.first(x), scale=one()))


def _haiku_linear(name):
    given = weight(name)
    return haiku.Linear(given.shape[1], with_bias=False, w_init=lambda *_: given, name=name)


class HaikuBody(haiku.Module):
    def __call__(self, x, *, scale=1.0):
        return inside_of_arrays(jnp.tanh(_haiku_linear("inner")(x))) * scale


class HaikuNet(haiku.Module):
    def __call__(self, x):
        return _haiku_linear("last")(HaikuBody(name="body")(_haiku_linear("first")(x), scale=one()))


def haiku_transform(module, name):
    return hooks.hooked(haiku.without_apply_rng(haiku.transform(lambda *args, **kwargs: module(name=name)(*args, **kwargs))))


def network_of_functions(hooks_at, params, x):
    """The network as functions, with the hooks that {path: {argument of hooks.with_hooks: hook}} has."""

    def inner(y):
        return y @ params["inner"]

    def body(y, *, scale):
        return inside_of_arrays(jnp.tanh(hooks.with_hooks(inner, **hooks_at["body.inner"])(y))) * scale

    return hooks.with_hooks(body, **hooks_at["body"])(x @ params["first"], scale=one()) @ params["last"]
