"""What a modifier holds when it is registered is part of the key of programs with it."""

import functools
import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks
from msjax.core.base.held_state import held_state

FACTOR = 1.0


class Scale:
    by = 1.0

    def __init__(self):
        self.more = {"list": [1.0], "array": np.ones(2)}

    def __call__(self, module, args, output):
        return output * self.by * self.more["list"][0] * self.more["array"][0]

    def method(self, module, args, output):
        return self(module, args, output)


def by_global(module, args, output):
    return output * FACTOR


def by_closure():
    factor = 1.0

    def scale(module, args, output):
        return output * factor

    def change(value):
        nonlocal factor
        factor = value

    return scale, change


def by_default(module, args, output, factor=1.0):
    return output * factor


def kinds():
    scale = Scale()
    closure, change = by_closure()
    partial = functools.partial(by_default, factor=1.0)
    return {
        "attribute": (scale, lambda value: setattr(scale, "by", value)),
        "list": (scale, lambda value: scale.more["list"].__setitem__(0, value)),
        "array": (scale, lambda value: scale.more["array"].__setitem__(0, value)),
        "class": (scale, lambda value: setattr(Scale, "by", value)),
        "method": (scale.method, lambda value: setattr(scale, "by", value)),
        "global": (by_global, lambda value: globals().__setitem__("FACTOR", value)),
        "closure": (closure, change),
        "default": (by_default, lambda value: setattr(by_default, "__defaults__", (value,))),
        "partial": (partial, lambda value: partial.keywords.__setitem__("factor", value)),
    }


@pytest.mark.parametrize("kind", kinds())
def test_a_modifier_that_has_changed_is_another_one(kind):
    modifier, change = kinds()[kind]
    model, x = nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0)), jnp.ones((1, 1))
    traced = []

    def run(model, x):
        traced.append(None)
        return model(x)

    for compiled in (hooks.jit(run), nnx.jit(run)):
        traced.clear()
        try:
            for value, expected in ((1.0, 1), (4.0, 2), (1.0, 2)):
                change(value)
                with hooks.register_forward_hook(model, modifier, traced=True):
                    assert compiled(model, x) == value == model(x)
                assert len(traced) == expected, "the earlier program is used again"
        finally:
            change(1.0)


def test_a_function_that_holds_nothing_is_the_same_modifier_when_it_is_made_anew():
    model, x = nnx.Linear(1, 1, kernel_init=nnx.initializers.ones, rngs=nnx.Rngs(0)), jnp.ones((1, 1))
    traced = []

    def run(model, x):
        traced.append(None)
        return model(x)

    for compiled in (hooks.jit(run), nnx.jit(run)):
        traced.clear()
        for _ in range(3):
            with hooks.register_forward_hook(model, lambda module, args, output: output * 2):
                assert compiled(model, x) == 2.0
        assert len(traced) == 1
        for factor in (3.0, 4.0):
            with hooks.register_forward_hook(model, lambda module, args, output, factor=factor: output * factor):
                assert compiled(model, x) == factor
            with hooks.register_forward_hook(model, lambda module, args, output: output * factor):  # noqa: B023
                assert compiled(model, x) == factor


def test_the_key_keeps_nothing_alive():
    scale = Scale()
    scale.other = Scale()
    gone = weakref.ref(scale.other)
    key = held_state(scale)
    del scale
    gc.collect()
    assert gone() is None and hash(key) is not None


def test_arrays_of_jax_count_by_their_identity():
    scale = Scale()
    scale.vector = jnp.ones(2)
    before = held_state(scale)
    scale.vector = jax.device_put(np.ones(2))
    assert held_state(scale) != before
