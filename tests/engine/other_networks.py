"""The network in linen, equinox, haiku, and as plain functions; see `networks`."""

from typing import Any

import equinox
import flax.linen as linen
import haiku
import jax
import jax.numpy as jnp

from msjax import hooks
from tests.engine.networks import call_inner_cell, inside_of_arrays, one, weight


def _linen_dense(name):
    given = weight(name)
    return linen.Dense(
        given.shape[1], kernel_init=lambda *_: given, use_bias=False, dtype=given.dtype, param_dtype=given.dtype, name=name
    )


class LinenBody(linen.Module):
    @linen.compact
    def __call__(self, x, *, scale=1.0):
        return inside_of_arrays(jnp.tanh(_linen_dense("inner")(x))) * scale


class LinenBodyOfCell(linen.Module):
    """The inner module is a Cell, here and in the other frameworks."""

    inner: Any

    def __call__(self, x, *, scale=1.0):
        return call_inner_cell(self.inner, x, scale)


class LinenNet(linen.Module):
    inner: Any = None

    @linen.compact
    def __call__(self, x):
        body = LinenBody(name="body") if self.inner is None else LinenBodyOfCell(self.inner, name="body")
        return _linen_dense("last")(body(_linen_dense("first")(x), scale=one()))


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


class EquinoxBodyOfCell(equinox.Module):
    inner: Any = equinox.field(static=True)

    def __call__(self, x, *, scale=1.0):
        return call_inner_cell(self.inner, x, scale)


class EquinoxNet(equinox.Module):
    first: EquinoxLinear
    body: equinox.Module
    last: EquinoxLinear

    def __init__(self, inner=None):
        self.body = EquinoxBody() if inner is None else EquinoxBodyOfCell(inner)
        self.first, self.last = EquinoxLinear(weight("first")), EquinoxLinear(weight("last"))

    def __call__(self, x):
        return self.last(self.body(self.first(x), scale=one()))


def _haiku_linear(name):
    given = weight(name)
    return haiku.Linear(given.shape[1], with_bias=False, w_init=lambda *_: given, name=name)


class HaikuBody(haiku.Module):
    def __call__(self, x, *, scale=1.0):
        return inside_of_arrays(jnp.tanh(_haiku_linear("inner")(x))) * scale


class HaikuBodyOfCell(haiku.Module):
    def __init__(self, inner, name):
        super().__init__(name)
        self.inner = inner

    def __call__(self, x, *, scale=1.0):
        return call_inner_cell(self.inner, x, scale)


class HaikuNet(haiku.Module):
    def __init__(self, inner=None, name=None):
        super().__init__(name)
        self.inner = inner

    def __call__(self, x):
        body = HaikuBody(name="body") if self.inner is None else HaikuBodyOfCell(self.inner, name="body")
        return _haiku_linear("last")(body(_haiku_linear("first")(x), scale=one()))


def haiku_transform(module, name, **options):
    def call(*args, **kwargs):
        return module(name=name, **options)(*args, **kwargs)

    return hooks.hooked(haiku.without_apply_rng(haiku.transform(call)))


def network_of_functions(hooks_at, params, x, cell=None):
    """The network as functions, with the hooks that {path: {argument of hooks.with_hooks: hook}} has; the inner one may be a Cell."""

    def inner(y):
        return y @ params["inner"]

    def body(y, *, scale):
        if cell is not None:
            return call_inner_cell(cell, y, scale)
        return inside_of_arrays(jnp.tanh(hooks.with_hooks(inner, **hooks_at["body.inner"])(y))) * scale

    return hooks.with_hooks(body, **hooks_at["body"])(x @ params["first"], scale=one()) @ params["last"]
