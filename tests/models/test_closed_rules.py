"""Rules of derivation that close over traced values, under capture: they are kept, and computed while these values are there."""

import equinox
import flax.linen as linen
import haiku
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks

X = jnp.array([1.0, 2.0, 3.0])


def times_ten(kind, w, rule_w=None):
    """A function that multiplies by `w`, with a rule that says ten times the gradient."""
    rule_w = w if rule_w is None else rule_w

    def body(y):
        return hooks.site("inside", y * w)

    if kind == "vjp":
        f = jax.custom_vjp(body)
        f.defvjp(lambda y: (f(y), y), lambda y, ct: (ct * rule_w * 10,))
    else:
        f = jax.custom_jvp(body)
        f.defjvp(lambda p, t: (f(*p), t[0] * rule_w * 10))
    return f


@pytest.mark.parametrize("jit", [lambda fn: fn, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("kind", ["vjp", "jvp"])
def test_a_rule_that_closes_over_a_traced_value(kind, jit):
    def fn(scale, x):
        f = times_ten(kind, hooks.site("w", x * 2), jnp.sin(x))
        return f(hooks.site("h", x * scale)).sum()

    found = jit(hooks.capture(fn, gradients=True))(2.0, X)[1]
    by_rule = 10 * np.sin(X)
    # What the rule gives no derivative of, the function's body does.
    for name, expected in {"h": by_rule, "w": X * 2, "inside": np.ones(3)}.items():
        np.testing.assert_allclose(found.gradients[name], expected, rtol=1e-6)
    for edit, factor in ({}, 1.0), ({"inside": lambda v, i: v + 1}, 1.0), ({"h": lambda v, i: v * 3}, 3.0):
        run = hooks.capture(fn, "h", edit=edit)
        got = jit(jax.grad(lambda scale, run=run: run(scale, X)[0]))(2.0)
        np.testing.assert_allclose(got, factor * np.sum(by_rule * X), rtol=1e-5)


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
def test_in_a_loop_over_a_value_from_outside_of_it(kind):
    def fn(x):
        w = jnp.sin(x)
        return jax.lax.scan(lambda c, _: (times_ten(kind, w)(hooks.site("c", c)), None), x, length=2)[0].sum()

    (result, found), w = jax.jit(hooks.capture(fn, "c", gradients=True))(X), np.sin(X)
    np.testing.assert_allclose(result, np.sum(X * w * w), rtol=1e-6)
    np.testing.assert_allclose(found.gradients["c"], [100 * w * w, 10 * w], rtol=1e-5)


def test_effects_happen_once():
    calls = []

    def fn(x):
        f = times_ten("vjp", x * 2)
        jax.debug.callback(lambda v: calls.append(float(v)), x.sum())
        return f(hooks.site("h", x)).sum()

    hooks.capture(fn, "h", gradients=True)(X)
    jax.effects_barrier()
    assert calls == [6.0]


def of_nnx():
    class Layer(nnx.Module):
        def __init__(self):
            self.w = nnx.Param(jnp.full(3, 2.0))

        def __call__(self, x):
            return times_ten("vjp", self.w[...])(x)

    class Model(nnx.Module):
        def __init__(self):
            self.first, self.second = Layer(), Layer()

        def __call__(self, x):
            return self.second(self.first(x))

    return Model(), ()


def of_linen():
    class Layer(linen.Module):
        @linen.compact
        def __call__(self, x):
            return times_ten("vjp", self.param("w", lambda key: jnp.full(3, 2.0)))(x)

    class Model(linen.Module):
        def setup(self):
            self.first, self.second = Layer(), Layer()

        def __call__(self, x):
            return self.second(self.first(x))

    model = Model()
    return hooks.hooked(model), (model.init(jax.random.key(0), X),)


def of_equinox():
    class Layer(equinox.Module):
        w: jax.Array

        def __call__(self, x):
            return times_ten("vjp", self.w * jnp.ones(()) * x / x)(x)

    class Model(equinox.Module):
        first: Layer
        second: Layer

        def __call__(self, x):
            return self.second(self.first(x))

    return Model(Layer(jnp.full(3, 2.0)), Layer(jnp.full(3, 2.0))), ()


def of_haiku():
    class Layer(haiku.Module):
        def __call__(self, x):
            return times_ten("vjp", haiku.get_parameter("w", [3], init=haiku.initializers.Constant(2.0)))(x)

    transformed = haiku.without_apply_rng(haiku.transform(lambda x: Layer("second")(Layer("first")(x))))
    return hooks.hooked(transformed), (transformed.init(jax.random.key(0), X),)


@pytest.mark.parametrize("make", [of_nnx, of_linen, of_equinox, of_haiku])
def test_models_of_all_frameworks(make):
    model, params = make()
    out, found = hooks.capture(model, ["first", "second"], gradients=True)(*params, X)
    np.testing.assert_allclose(out, X * 4)
    np.testing.assert_allclose(found.gradients["first"], np.full(3, 20.0))
    scores = hooks.attribute(model, *params, X, at=["first"], method="gradient x activation")
    np.testing.assert_allclose(scores["first"], 20 * X * 2)


def test_beside_an_edit_that_asks_for_the_number_of_an_iteration():
    def fn(x):
        w = jnp.sin(x)

        def body(c, _):
            return times_ten("vjp", w)(hooks.site("c", c)), None

        return jax.lax.scan(body, x, length=2)[0].sum()

    run = hooks.capture(fn, "c", gradients=True, edit={"c": lambda v, i: v * (1 + i[0])})
    (result, found), w = run(X), np.sin(X)
    np.testing.assert_allclose(result, np.sum(2 * X * w * w), rtol=1e-6)
    np.testing.assert_allclose(found.gradients["c"], [200 * w * w, 10 * w], rtol=1e-5)
