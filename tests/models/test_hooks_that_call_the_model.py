"""Hooks and edits that call the model that they are on."""

import traceback

import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks

X = jnp.array([1.0, 2.0], "float32")


class Net(nnx.Module):
    def __init__(self):
        self.a, self.b = nnx.Sequential(lambda x: x * 2), nnx.Sequential(jax.jit(lambda x: x + 1))

    def __call__(self, x):
        return self.b(self.a(x))


class LinenNet(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(2, name="a")(x)


def linen_run():
    model = hooks.hooked(LinenNet())
    params = model.init(jax.random.key(0), X)
    return model, lambda x: model.apply(params, x)


def nnx_run():
    model = Net()
    return model, model


@pytest.mark.parametrize("make", [nnx_run, linen_run], ids=["nnx", "linen"])
@pytest.mark.parametrize("where", ["", "a"])
def test_a_hook_that_calls_the_model_again_is_one_short_error(make, where):
    model, run = make()
    with hooks.register_forward_hook(model, lambda module, args, output: run(X), where):
        with pytest.raises(RecursionError, match=r"The module .* called itself without end: .* hooks\.without") as caught:
            run(X)
    assert len(traceback.format_exception(caught.value)) < 30
    run(X)


def test_a_hook_that_differentiates_the_model_again_is_an_error():
    """jax took all memory of the machine."""
    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    gradient = nnx.grad(lambda model: model(X).sum())
    seen = []
    with hooks.register_backward_hook(model, lambda module, grads, outs: gradient(model) and None):
        with pytest.raises(RecursionError, match=r"differentiated the model without end.* hooks\.without"):
            gradient(model)

    def hook(module, grad_input, grad_output):
        with hooks.without(model):
            seen.append(gradient(model).bias[...])

    with hooks.register_backward_hook(model, hook):
        gradient(model)
    np.testing.assert_array_equal(seen, [[1, 1]])


def test_a_hook_may_call_the_model_without_hooks():
    model, seen = Net(), []

    def hook(module, args, output):
        with hooks.without(model):
            seen.append(model(X))

    with hooks.register_forward_hook(model, hook, "a"):
        model(X)
    np.testing.assert_array_equal(seen, [X * 2 + 1])


@pytest.mark.parametrize("jit", [lambda fn: fn, jax.jit], ids=["eager", "jit"])
def test_an_edit_that_calls_the_model_gets_it_without_edits(jit):
    model = Net()
    edit = {"a": lambda value, index: model(X), "b": lambda value, index: value * 10}
    out, found = jit(hooks.capture(model, "*", edit=edit))(X)
    # The edit's model is plain; the places are those of the model that was captured.
    np.testing.assert_array_equal(out, ((X * 2 + 1) + 1) * 10)
    assert list(found.activations) == ["a", "b", ""]
