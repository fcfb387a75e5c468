"""What jax and msjax keep of a capture that is over: nothing of its edits."""

import gc
import weakref

import jax
import jax.numpy as jnp
import pytest

from msjax import hooks

W, X = jnp.ones((3, 2), jnp.float32), jnp.ones((2, 3), jnp.float32)


def model(w, x):
    return jnp.tanh(hooks.site("hidden", x @ w))


def size(out):
    return (out**2).sum()


class Patch:
    value = 1.0


@pytest.mark.parametrize("compiled", [False, True])
def test_what_an_edit_holds_goes_with_it(compiled):
    patch = Patch()
    gone = weakref.ref(patch)
    run = hooks.capture(model, [], edit={"hidden": lambda value, index, patch=patch: value + patch.value})
    (jax.jit(run) if compiled else run)(W, X)
    del patch, run
    gc.collect()
    assert gone() is None


def test_edits_with_traced_values_leave_no_tracer_behind():
    with jax.checking_leaks():
        hooks.attribute(model, W, X, at="hidden", metric=size, method="integrated gradients")
        hooks.patch_sweep(model, hooks.Inputs(W, X), hooks.Inputs(W, 2 * X), ["hidden"], metric=size)


def test_what_comes_before_a_place_without_jit():
    with jax.disable_jit():
        out, cache = hooks.run_with_cache(model, W, X, stop_after="hidden")
    assert out is None and (cache["hidden"] == 3).all()
