"""Heads and positions of ablate and steer: from the end, out of range, traced; and names of what captures found."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from msjax import hooks

# (batch, positions, heads, features)
X = jnp.ones((1, 3, 2, 4), "float32")


class Net(nnx.Module):
    def __init__(self):
        self.part = nnx.Sequential(lambda x: x)

    def __call__(self, x):
        return self.part(x)


@pytest.fixture
def net():
    return Net()


@pytest.mark.parametrize(("head", "zero"), [(0, 0), (1, 1), (-1, 1), (-2, 0), ([0, -1], [0, 1]), (np.int64(-1), 1)])
def test_heads_from_the_end(net, head, zero):
    expected = np.ones(X.shape)
    expected[:, :, zero] = 0
    np.testing.assert_array_equal(hooks.ablate(net, "part", heads=head)(X), expected)
    np.testing.assert_array_equal(jax.jit(lambda h: hooks.ablate(net, "part", heads=h)(X))(jnp.asarray(head)), expected)


def test_heads_within_the_last_axis(net):
    expected = np.ones(X.shape)
    expected[..., 2:] = 0
    np.testing.assert_array_equal(hooks.ablate(net, "part", heads=-1, n_heads=2)(X), expected)
    with pytest.raises(ValueError, match=r"'n_heads' should divide the value's last axis, of 4, but got 3"):
        hooks.ablate(net, "part", heads=0, n_heads=3)(X)
    with pytest.raises(ValueError, match="'n_heads' should come with heads=, which says which of them, but got 2"):
        hooks.ablate(net, "part", n_heads=2)


def test_positions_from_the_end_are_steered(net):
    expected = np.ones(X.shape)
    expected[:, -1] = 3
    for positions in (-1, 2, [2, -1]):
        np.testing.assert_array_equal(hooks.steer(net, {"part": 2.0}, positions=positions, axis=1)(X), expected)
    each = jax.vmap(lambda p: hooks.steer(net, {"part": 2.0}, positions=p, axis=1)(X))(jnp.array([-1, 2]))
    np.testing.assert_array_equal(each, [expected, expected])


@pytest.mark.parametrize("head", [2, -3, [0, 5]])
def test_out_of_range_is_an_error_and_nan_where_it_is_traced(net, head):
    with pytest.raises(ValueError, match=r"For 'ablate', 'heads' should be from -2 to 1, since axis 2 .* \(1, 3, 2, 4\)"):
        hooks.ablate(net, "part", heads=head)(X)
    assert np.isnan(jax.jit(lambda h: hooks.ablate(net, "part", heads=h)(X))(jnp.asarray(head))).all()
    with pytest.raises(ValueError, match=r"For 'steer', 'positions' should be from -3 to 2"):
        hooks.steer(net, {"part": 1.0}, positions=3, axis=1)(X)


def test_what_selects_nothing_is_an_error(net):
    with pytest.raises(ValueError, match="For 'ablate', 'heads' should be at least one number"):
        hooks.ablate(net, "part", heads=[])(X)
    with pytest.raises(TypeError, match="For 'ablate', 'heads' should be integers"):
        hooks.ablate(net, "part", heads=[True, False])(X)
    with pytest.raises(ValueError, match=r"For 'steer', 'axis' should be an axis of a value of shape \(1, 3, 2, 4\), but got 4"):
        hooks.steer(net, {"part": 1.0}, positions=0, axis=4)(X)
    for run in (lambda: hooks.ablate(net, [])(X), lambda: hooks.steer(net, {})(X)):
        with pytest.raises(ValueError, match="no place was selected"):
            run()
    with pytest.raises(ValueError, match=r"For 'patch_sweep', 'position_axis' should be an axis"):
        hooks.patch_sweep(net, X, X, "part", metric=jnp.sum, position_axis=7)


def test_a_sweep_over_places_of_different_lengths_is_an_error():
    class Shortened(nnx.Module):
        def __init__(self):
            self.a, self.b = nnx.Sequential(lambda x: x), nnx.Sequential(lambda x: x[:, 1:])

        def __call__(self, x):
            return self.b(self.a(x))

    with pytest.raises(ValueError, match=r"all places should have as many positions .*: 'a' 3, 'b' 2"):
        hooks.patch_sweep(Shortened(), X, X, ["a", "b"], metric=jnp.sum)


def test_what_was_captured_is_found_by_name(net):
    _, found = hooks.capture(net, "*", gradients=True)(X)
    assert found["part"] is found.activations["part"] and found[1] is found.gradients
    assert "part" in found and "prt" not in found
    activations, _, _ = found
    assert activations is found[0]
    with pytest.raises(KeyError, match=r"'prt'; found are 'part', ''; nearest to 'prt': 'part'"):
        found["prt"]
