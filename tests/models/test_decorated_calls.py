"""Modules of equinox whose call is decorated."""

import functools

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from msjax import hooks

X = jnp.ones(3)


class Scaled(equinox.Module):
    weight: jax.Array

    def __call__(self, x):
        return x * self.weight


def around(decorate):
    """A model with a module whose call is decorated, which calls another module."""
    namespace = {"__annotations__": {"inner": Scaled}, "__call__": decorate(lambda self, x: self.inner(x) * 2)}
    outer = type(equinox.Module)("Outer", (equinox.Module,), namespace)

    class Model(equinox.Module):
        outer: equinox.Module

        def __call__(self, x):
            return self.outer(x) + 1

    return hooks.hooked(Model(outer(Scaled(jnp.asarray(3.0)))))


DECORATORS = {
    "eqx.filter_jit": equinox.filter_jit,
    "jax.jit": jax.jit,
    "eqx.filter_checkpoint": equinox.filter_checkpoint,
    "eqx.filter_vmap": functools.partial(equinox.filter_vmap, in_axes=(None, 0)),
}


@pytest.mark.parametrize("jit", [lambda fn: fn, hooks.jit], ids=["eager", "hooks.jit"])
@pytest.mark.parametrize("decorator", DECORATORS)
def test_a_decorated_call_takes_hooks_and_is_a_place(decorator, jit):
    model, log = around(DECORATORS[decorator]), []
    run = jit(lambda model, x: model(x))
    with hooks.register_forward_hook(model, lambda module, args, output: log.append(hooks.path(module)), "*"):
        run(model, X)
        hooks.barrier()
    inner = ["outer.inner"] * (3 if decorator == "eqx.filter_vmap" else 1)
    assert log == [*inner, "outer", ""]
    with hooks.register_forward_hook(model, print, "*"):
        assert list(model.msjax_hooks.tables) == ["__call__"]  # those of its modules are no methods of its own
    with hooks.register_forward_hook(model, lambda module, args, output: output * 10, "outer"):
        np.testing.assert_allclose(run(model, X), 61)
    np.testing.assert_allclose(run(model, X), 7)
    assert list(hooks.run_with_cache(model, X)[1]) == ["outer.inner", "outer", ""]
    np.testing.assert_allclose(hooks.capture(model, "outer", gradients=True)(X)[1].gradients["outer"], 1)
