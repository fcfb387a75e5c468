"""Corners of hooks and captures on jax models that were silent or wrong: decorated calls, changing state, eager checkpoints, closed-over values."""

import functools

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


def test_what_takes_no_hooks_is_an_error_at_registration():
    class Property(equinox.Module):
        weight: jax.Array

        @property
        def __call__(self):
            return lambda x: x * self.weight

    class Model(equinox.Module):
        part: Property

        def __call__(self, x):
            return self.part(x)

    model = hooks.hooked(Model(Property(jnp.asarray(3.0))))
    with pytest.raises(
        ValueError, match=r"'register_forward_hook', 'part' \(Property\) takes no hooks: its __call__ is a property"
    ):
        hooks.register_forward_hook(model, print, "part")
    with pytest.raises(ValueError, match=r"'register_backward_hook', 'the model' .*has no __call__"):
        hooks.register_backward_hook(nnx.List([nnx.Linear(2, 2, rngs=nnx.Rngs(0))]), print)


def test_errors_name_the_function_and_near_names():
    model = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)))
    with pytest.raises(
        ValueError,
        match=r"'register_forward_pre_hook', no module matches where='layer.0'; the paths are '', 'layers.0'; nearest to 'layer.0': 'layers.0'",
    ):
        hooks.register_forward_pre_hook(model, print, "layer.0")
    x = jnp.ones((1, 2))
    runs = {
        "ablate": lambda: hooks.ablate(model, "layer.0")(x),
        "steer": lambda: hooks.steer(model, {"layer.0": 1})(x),
        "run_with_cache": lambda: hooks.run_with_cache(model, x, where="layer.0"),
        "compile": lambda: hooks.compile(model, "layer.0")(x),
        "patch_sweep": lambda: hooks.patch_sweep(model, x, x, "layer.0", metric=jnp.sum),
        "attribute": lambda: hooks.attribute(model, x, at="layer.0"),
        "monitor": lambda: hooks.monitor(lambda model, x: model(x), "layer.0")(model, x),
        "capture": lambda: hooks.capture(model, "layer.0")(x),
    }
    for name, run in runs.items():
        with pytest.raises(ValueError, match=rf"^For '{name}', .*nearest to 'layer.0': 'layers.0'"):
            run()


def test_errors_for_jax_users_speak_of_modules_and_arrays():
    model, x = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.relu), jnp.ones((1, 2), "float32")

    def branches(module, args, output):
        return output * 2 if output.sum() > 0 else output

    with (
        hooks.register_forward_hook(model, branches, "layers.0"),
        pytest.raises(
            TypeError, match=r"(?s)branches .* of module layers\.0 \(Linear\).*computes with arrays.*outside of jit"
        ) as caught,
    ):
        hooks.jit(lambda model, x: model(x))(model, x)
    assert not any(word in str(caught.value) for word in ("Cell", "cell", "Tensor", "PyNative"))
    with pytest.raises(
        ValueError, match=r"'layers\.0:in\[1\]': the arguments of the module: \(array\(shape=\[1, 2\], dtype=float32\)\)"
    ):
        hooks.capture(model, "layers.0:in[1]")(x)
    with pytest.raises(ValueError, match=r"added at 'layers\.0' should have the shape of the value, \(1, 2\),.* has \(3,\)"):
        hooks.steer(model, {"layers.0": jnp.ones(3)})(x)
    with pytest.raises(ValueError, match=r"value of 'layers\.0' is of shape \(1, 2\) on the clean ones, and \(3, 2\)"):
        hooks.patch_sweep(model, x, jnp.ones((3, 2)), "layers.0", metric=jnp.sum)


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
