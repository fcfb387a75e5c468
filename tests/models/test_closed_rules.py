"""Rules of derivation that close over traced values, under capture: the values are found, and gradients are an error that says what to do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from msjax import hooks

X = jnp.array([1.0, 2.0, 3.0])


def times_ten(kind, w):
    """A function that multiplies by `w`, with a rule that says ten times the gradient."""

    def body(y):
        return hooks.site("inside", y * w)

    if kind == "vjp":
        f = jax.custom_vjp(body)
        f.defvjp(lambda y: (f(y), y), lambda y, ct: (ct * w * 10,))
    else:
        f = jax.custom_jvp(body)
        f.defjvp(lambda p, t: (f(*p), t[0] * w * 10))
    return f


@pytest.mark.parametrize("kind", ["vjp", "jvp"])
def test_a_rule_that_closes_over_a_traced_value(kind):
    def fn(x):
        return times_ten(kind, jnp.sin(x))(hooks.site("h", x)).sum()

    found = hooks.capture(fn)(X)[1]
    np.testing.assert_allclose(found.activations["inside"], X * np.sin(X), rtol=1e-6)
    with pytest.raises(ValueError, match="Pass the value to the custom function as an argument"):
        hooks.capture(fn, "h", gradients=True)(X)
