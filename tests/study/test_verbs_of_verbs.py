"""Verbs of models that verbs have made, such as a sweep of an ablated one, against the same by hand."""

import jax
import jax.numpy as jnp
import pytest

import msjax as ms
from msjax import hooks
from tests.study.test_verbs import CLEAN, CORRUPT, MODELS, W, by_hand, close, every, metric

VECTOR = jnp.array([1.0, -1.0, 0.5, 0.0], "float32")


def both(name, value):
    return value * 0.5 if name == "a" else value + VECTOR if name == "b" else value


def halved(name, value):
    return value * 0.5 if name == "a" else value


@every
def test_a_steered_model_that_is_steered_patched_and_looked_at(framework):
    model, given = MODELS[framework]()
    half = hooks.splice(model, {"a": (lambda v: v / 2, lambda v: v)}, error=False)
    close(jax.jit(hooks.steer(half, {"b": VECTOR}))(*given, CLEAN), by_hand(CLEAN, both))
    out, cache = hooks.run_with_cache(hooks.steer(half, {"b": VECTOR}), *given, CLEAN, where=["a", "b", "b:in"])
    close(out, by_hand(CLEAN, both))
    close(cache["b"], by_hand(CLEAN, both))
    close(cache["b:in"], cache["a"])
    found = hooks.patch_sweep(half, (*given, CLEAN), (*given, CORRUPT), "b", metric=metric, over=("layer",))
    close(found.values, [metric(by_hand(CLEAN, halved))])
    close(found.corrupt, metric(by_hand(CORRUPT, halved)))


@pytest.mark.parametrize("framework", ["nnx", "cell"])
def test_kept_programs_of_such_models_have_weights_as_inputs(framework):
    model, _ = MODELS[framework]()
    moved = hooks.transplant(model, CORRUPT, {"b": "a"})
    for made, place, of_weights in [
        (hooks.ablate(model, "a", value=1.0), "b", lambda w: jnp.tanh(jnp.ones_like(CLEAN) @ w[1])),
        (moved, "b", lambda w: jnp.tanh(CORRUPT @ w[0])),
    ]:
        for weights in (W, W[::-1]):
            for layer, w in zip((model.a, model.b), weights):
                layer.w.set_data(ms.Tensor(w)) if framework == "cell" else layer.w.set_value(w)
            found = hooks.attribute(made, CLEAN, at=place)
            close(found[place], of_weights(weights))
