"""Programs that are kept for a model: what somebody writes into a list among its static data makes other programs of it."""

import dataclasses
import types

import equinox
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks


class Factor:
    """An object that is like no other one."""

    def __init__(self, factor):
        self.factor = factor


class Silent(float):
    def __repr__(self):
        return "a number"


@dataclasses.dataclass(eq=False)
class Settings:
    factor: float


def scaled(setting, x):
    """x by what is in the setting, whatever that is."""
    if callable(setting):
        return setting(x)
    if isinstance(setting, dict):
        setting = setting["factor"]
    return x * np.asarray(getattr(setting, "factor", setting)).astype(np.float32)


class InEquinox(equinox.Module):
    linear: equinox.nn.Linear
    settings: list = equinox.field(static=True)

    def __call__(self, x):
        return self.linear(scaled(self.settings[0], x))


class InNnx(nnx.Module):
    def __init__(self, settings):
        self.linear = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
        self.settings = nnx.static(settings)

    def __call__(self, x):
        return self.linear(scaled(self.settings[0], x))


MODELS = {"equinox": lambda settings: InEquinox(equinox.nn.Linear(2, 2, key=jax.random.key(0)), settings), "nnx": InNnx}
OTHERS = {
    "function": (jnp.sin, jnp.cos),
    "object": (Factor(2), Factor(3)),
    "within": ({"factor": Factor(2)}, {"factor": Factor(3)}),
    "number": (2, 2.5),
    "bool": (1, False),
    "number of a class with one text": (Silent(2), Silent(3)),
    "namespace": (types.SimpleNamespace(factor=2), types.SimpleNamespace(factor=3)),
    "dataclass": (Settings(2), Settings(3)),
}


@pytest.mark.parametrize("owner", MODELS)
@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_written_into_a_list_of_static_data_counts(kind, owner):
    first, second = OTHERS[kind]
    settings = [first]
    model, x = MODELS[owner](settings), jnp.array([0.5, -1.0])
    run = hooks.compile(model, "linear")
    for setting in (first, second, first):
        settings[0] = setting
        np.testing.assert_allclose(run(x)[0], model(x), rtol=1e-6)


@pytest.mark.parametrize("owner", MODELS)
def test_what_is_written_into_an_object_in_static_data_counts(owner):
    setting = types.SimpleNamespace(factor=2)
    model, x = MODELS[owner]([setting]), jnp.array([0.5, -1.0])
    run = hooks.compile(model, "linear")
    for factor in (2, 3):
        setting.factor = factor
        np.testing.assert_allclose(run(x)[0], model(x), rtol=1e-6)
