"""Modules that take and return random keys of jax."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks, tools


class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(2, 2, rngs=rngs)

    def __call__(self, x, key):
        here, key = jax.random.split(key)
        return self.dense(x) + jax.random.normal(here, x.shape), key


class Net(nnx.Module):
    def __init__(self, rngs):
        self.first, self.second = Noisy(rngs), Noisy(rngs)

    def __call__(self, x, key):
        return self.second(*self.first(x, key))[0]


def run(model, x, key):
    return model(x, key)


def in_scan(model, x, key):
    return jax.lax.scan(lambda carry, _: (model.first(*carry), None), (x, key), length=1)[0]


WAYS = {
    "eager": run,
    "hooks.jit": hooks.jit(run),
    "nnx.jit": nnx.jit(run),
    "vmap in nnx.jit": nnx.jit(lambda m, x, k: jax.vmap(functools.partial(run, m))(x[None], k[None])),
    "scan in hooks.jit": hooks.jit(in_scan),
    "scan in nnx.jit": nnx.jit(in_scan),
}


@pytest.mark.parametrize("way", WAYS)
def test_observers_get_keys(way):
    model, x, key = Net(nnx.Rngs(0)), jnp.ones((2, 2)), jax.random.key(3, impl="rbg")
    seen = []
    with hooks.register_forward_hook(model, lambda module, args, output: seen.append((args[1], output[1])), "first"):
        WAYS[way](model, x, key)
        hooks.barrier()
    ((given, made),) = seen
    for got, wanted in ((given, key), (made, jax.random.split(key)[1])):
        assert got.dtype == key.dtype
        np.testing.assert_array_equal(jax.random.key_data(got), jax.random.key_data(wanted))


def test_records_and_pages_of_keys(tmp_path):
    model, x, key = Net(nnx.Rngs(0)), jnp.ones((2, 2)), jax.random.key(3)
    first = tools.record(model, x, key, path=tmp_path / "run.safetensors")
    assert tools.compare(first, tools.record(model, x, key))
    np.testing.assert_array_equal(first.arrays["input/1"], jax.random.key_data(key))
    _, found = hooks.capture(model, "first")(x, key)
    assert "first" in tools.page(found).html()
