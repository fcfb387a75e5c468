"""A method that a class gets while models have hooks, as by monkeypatch.setattr, runs in the place of the one before it."""

import equinox as eqx
import flax.linen as linen
import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from msjax import hooks

X = jnp.ones((2, 4))


class Plain(linen.Module):
    def __call__(self, x):
        return jnp.zeros(x.shape)


class Model(eqx.Module):
    linear: eqx.nn.Linear

    def __call__(self, x):
        return jax.vmap(self.linear)(x)


# {framework: (class, its new method, model, function of the model, path)}
MODELS = {
    "nnx": (nnx.Linear, lambda self, x: jnp.full((2, 3), 7.0), lambda: nnx.Sequential(nnx.Linear(4, 3, rngs=nnx.Rngs(0))), lambda m: m(X), "layers.0"),
    "equinox": (
        eqx.nn.Linear, lambda self, x, *, key=None: jnp.full(3, 7.0), lambda: hooks.hooked(Model(eqx.nn.Linear(4, 3, key=jax.random.key(0)))), lambda m: m(X), "linear",
    ),
    "linen": (Plain, lambda self, x: jnp.full((2, 3), 7.0), lambda: hooks.hooked(Plain()), lambda m: m.apply({}, X), ""),
}  # fmt: skip


@pytest.mark.parametrize("framework", MODELS)
@pytest.mark.parametrize("before", [True, False], ids=["hooked before", "hooked after"])
def test_a_method_that_is_replaced(framework, before, monkeypatch):
    cls, method, make, call, path = MODELS[framework]
    model, calls = make(), []
    plain = call(model)  # makes hooked classes, where they are made when a hook comes

    def seen(module, args, output):
        calls.append(hooks.path(module))

    with hooks.register_forward_hook(model, seen, path):
        call(model)
    if not before:
        monkeypatch.setattr(cls, "__call__", method)
    with hooks.register_forward_hook(model, seen, path):
        if before:
            monkeypatch.setattr(cls, "__call__", method)
        assert call(model)[0, 0] == 7
    if framework == "nnx":
        out, found = hooks.capture(model, path)(X)
        assert out[0, 0] == found.activations[path][0, 0] == 7
    monkeypatch.undo()
    assert call(model)[0, 0] == plain[0, 0] != 7
    # flax's interceptors, by which linen's modules get their hooks, know no function that a class gets later.
    assert set(calls) == {path} and (len(calls) >= 2 or framework == "linen")
