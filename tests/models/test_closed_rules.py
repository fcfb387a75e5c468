"""Rules of derivation that close over traced values, under capture: the values are found, and gradients are an error that says what to do."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

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


class Squares(nnx.Module):
    def __call__(self, y):
        return y * y


class WithARule(nnx.Module):
    """Calls another module in a function with a rule of its own, which jax traces again, in a program or a branch."""

    def __init__(self, kind, around):
        self.inner, self.kind, self.around = Squares(), kind, around

    def __call__(self, x):
        inner = self.inner
        if self.kind == "converted":
            inner, constants = jax.closure_convert(inner, x)
            assert not constants
        f = jax.custom_jvp(inner) if self.kind == "jvp" else jax.custom_vjp(inner)
        if self.kind == "jvp":
            f.defjvp(lambda p, t: jax.jvp(inner, p, t))
        else:
            f.defvjp(lambda y: jax.vjp(inner, y), lambda pull, ct: pull(ct))
        return jax.jit(f)(x) if self.around == "jit" else jax.lax.cond(x.sum() < 100, f, lambda x: x, x)


@pytest.mark.parametrize("around", ["jit", "cond"])
@pytest.mark.parametrize("kind", ["vjp", "jvp", "converted"])
def test_a_rule_that_calls_a_hooked_module_behind_the_hooks_of_others(kind, around):
    model, seen = WithARule(kind, around), []
    hooks.register_forward_pre_hook(model, lambda module, args: seen.append("outer"))
    hooks.register_forward_hook(model, lambda module, args, output: seen.append("inner"), "inner")
    hooks.register_forward_hook(model, lambda module, args, output: output * 2, "inner")
    np.testing.assert_allclose(jax.jit(jax.grad(lambda x: model(x).sum()))(X), 4 * X)
    hooks.barrier()
    assert seen[0] == "outer" and set(seen[1:]) == {"inner"}
