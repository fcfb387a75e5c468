"""Places within what jax wraps: checkpoints, custom_vjp, models that change their state."""

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks

X = jnp.ones(3)


class Scaled(equinox.Module):
    weight: jax.Array

    def __call__(self, x):
        return x * self.weight


class Changing(nnx.Module):
    def __init__(self):
        self.drop, self.norm = nnx.Dropout(0.5, rngs=nnx.Rngs(0)), nnx.BatchNorm(3, rngs=nnx.Rngs(0))
        self.count = nnx.Variable(jnp.int32(0))

    def __call__(self, x):
        self.count[...] += 1
        return self.inner(self.drop(self.norm(x)))

    @nnx.jit
    def inner(self, x):
        self.count[...] += 1
        return jnp.exp(x)


def test_the_operations_of_a_model_that_changes_its_state():
    model = Changing()
    names = [operation.name.partition("@")[0] for operation in hooks.ops(model)(jnp.ones((2, 3), "float32"))]
    assert "exp" in names and int(model.count[...]) == 0
    model(jnp.ones((2, 3), "float32"))
    assert int(model.count[...]) == 2


def test_a_scan_in_an_eager_checkpoint_keeps_the_order():
    class Model(equinox.Module):
        a: Scaled
        b: Scaled

        def __call__(self, x):
            def body(x):
                return self.b(jax.lax.scan(lambda h, _: (self.a(h), None), self.b(x), length=2)[0])

            return equinox.filter_checkpoint(body)(x)

    model, log = hooks.hooked(Model(Scaled(jnp.ones(())), Scaled(jnp.ones(())))), []
    with hooks.register_forward_hook(model, lambda module, args, output: log.append(hooks.path(module)), "*"):
        model(X)
    assert log == ["b", "a", "a", "b", ""]


@pytest.mark.parametrize("jit", [lambda fn: fn, jax.jit], ids=["eager", "jit"])
def test_a_custom_vjp_that_closes_over_values(jit):
    weight = jnp.array([2.0, 3.0, 4.0])

    def closing(weight, backward):
        @jax.custom_vjp
        def f(x):
            return hooks.site("inside", jnp.sin(x) * weight)

        f.defvjp(lambda x: (f(x), x), backward)
        return f

    plain = closing(weight, lambda x, g: (g * jnp.cos(x) * 10,))
    for select in ("before", "inside", "after"):
        fn = lambda x: hooks.site("after", plain(hooks.site("before", x * 2)))  # noqa: E731
        _, found = jit(hooks.capture(fn, select, gradients=True))(X)
        np.testing.assert_allclose(found.gradients[select], {"before": 10 * np.cos(2.0)}.get(select, 1.0), rtol=1e-5)

    def given(weight, x):
        return closing(weight, lambda x, g: (g * 10,))(x)

    np.testing.assert_allclose(jit(hooks.capture(given, "inside", gradients=True))(weight, X)[1].gradients["inside"], 1)
