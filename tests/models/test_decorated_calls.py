"""Modules whose call is decorated, calls that of a base class, or has keywords of all names."""

import functools

import equinox
import flax.linen as linen
import haiku
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


def derived(base):
    """A class whose call, and another method, call those of the base class, and their own for a second step."""

    class Base(base):
        def __call__(self, x, steps=1):
            return x * 2 if steps == 1 else self(x, steps - 1) * 2

        def shift(self, x):
            return x + 1

    class Derived(Base):
        def __call__(self, x, steps=1):
            return self.shift(super().__call__(x, steps))

        def shift(self, x):
            return super().shift(x) + 1

    return Derived


def of_haiku(cls):
    model = hooks.hooked(haiku.without_apply_rng(haiku.transform(lambda x, steps: cls(name="m")(x, steps))))
    return model, "m", lambda x, steps: model.apply({}, x, steps)


def of_linen(cls):
    model = hooks.hooked(cls())
    return model, "", lambda x, steps: model.apply({}, x, steps)


def of_lifted_linen(cls):
    class Model(linen.Module):
        @linen.compact
        def __call__(self, x, steps):
            return linen.remat(cls, static_argnums=(2,))(name="m")(x, steps)

    model = hooks.hooked(Model())
    return model, "m", lambda x, steps: model.apply({}, x, steps)


def as_it_is(cls):
    model = hooks.hooked(cls())
    return model, "", model


@pytest.mark.parametrize("jit", [lambda fn: fn, functools.partial(hooks.jit, static_argnums=1)], ids=["eager", "hooks.jit"])
@pytest.mark.parametrize(
    "base, of",
    [(linen.Module, of_linen), (linen.Module, of_lifted_linen), (haiku.Module, of_haiku), (equinox.Module, as_it_is), (nnx.Module, as_it_is)],
    ids=["linen", "linen, remat", "haiku", "equinox", "nnx"],
)  # fmt: skip
def test_what_a_call_calls_by_super_is_part_of_it(base, of, jit):
    model, place, call = of(derived(base))
    log = []

    def run(*args):  # compiled anew: of an nnx model that is not an argument, a program keeps the hooks that it was made with
        return jit(lambda x, steps: call(x, steps))(*args)

    np.testing.assert_allclose(run(X, 1), 4)  # (1 * 2) + 2
    hooks.register_forward_hook(model, lambda module, args, output: output * 10, place)
    with hooks.register_forward_hook(model, lambda module, args, output: log.append(float(output[0])), place):
        np.testing.assert_allclose(run(X, 1), 40)
        hooks.barrier()
        assert log == [40]
        del log[:]
        np.testing.assert_allclose(run(X, 2), 820)  # the inner call gives 40, 40 * 2 + 2 is the outer one's
        hooks.barrier()
    assert log == [40, 820]
    hooks.remove_all(model)
    with hooks.register_forward_hook(model, lambda module, args, output: output * 10, f"{place}.shift".lstrip(".")):
        np.testing.assert_allclose(run(X, 1), 40)


class Keywords(equinox.Module):
    def __call__(self, x, **kwargs):
        return x + sum(kwargs.values())


def test_a_call_may_have_keywords_of_all_names():
    model, names = (
        hooks.hooked(Keywords()),
        ["at", "module", "function", "later", "name", "args", "kwargs", "method", "running", "key"],
    )
    with hooks.register_forward_hook(model, lambda module, args, output: output * 2):
        np.testing.assert_allclose(model(X, **dict.fromkeys(names, 1.0)), 22)
