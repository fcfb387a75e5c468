"""Errors of hooks and captures on models of jax: at registration, and in words of modules and arrays."""

import equinox
import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from msjax import hooks


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
