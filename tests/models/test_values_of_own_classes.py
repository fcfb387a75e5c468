"""Places whose values are pytrees of a class that knows its shape, as named arrays are."""

from collections import OrderedDict
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx, struct
from flax.core import FrozenDict
from jax.tree_util import register_pytree_node_class

from msjax import hooks

W = jnp.array([[[1.0, 2.0], [0.5, -1.0]], [[0.0, 1.0], [1.0, 1.0]]])
X = jnp.array([[1.0, 2.0], [3.0, -1.0]])


@register_pytree_node_class
class Named:
    """An array with named axes, whose sizes are static and checked."""

    def __init__(self, array, axes):
        if hasattr(array, "shape"):
            assert tuple(axes.values()) == array.shape, (axes, array.shape)
        self.array, self.axes = array, axes

    @property
    def shape(self):
        return self.axes

    dtype = property(lambda self: self.array.dtype)

    def tree_flatten(self):
        return (self.array,), tuple(self.axes.items())

    @classmethod
    def tree_unflatten(cls, axes, leaves):
        return cls(leaves[0], dict(axes))


def model(x):
    def layer(x, w):
        out = hooks.site("layer", Named(jnp.tanh(x.array @ w), x.axes))
        return out, None

    return jax.lax.scan(layer, Named(x, {"position": 2, "feature": 2}), W)[0].array


def by_hand(x, edit=lambda i, v: v):
    for i in range(2):
        x = edit(i, jnp.tanh(x @ W[i]))
    return x


def test_captured_in_a_scan_they_are_arrays():
    _, found = hooks.capture(model, "layer", gradients=True)(X)
    np.testing.assert_allclose(found["layer"], jnp.stack([jnp.tanh(X @ W[0]), by_hand(X)]), rtol=1e-5)
    assert found.gradients["layer"].shape == (2, 2, 2)
    plain = hooks.capture(lambda x: hooks.site("one", Named(x, {"position": 2, "feature": 2})).array, "one")(X)[1]
    assert isinstance(plain["one"], Named) and plain["one"].axes == {"position": 2, "feature": 2}


def test_verbs_take_the_array_in_them():
    vector = jnp.array([1.0, -1.0])
    np.testing.assert_allclose(
        hooks.steer(model, {"layer": vector}, positions=-1)(X), by_hand(X, lambda i, v: v.at[-1].add(vector)), rtol=1e-5
    )
    sweep = hooks.patch_sweep(model, X, X + 1, "layer", metric=jnp.sum, position_axis=0)
    first = jnp.tanh(X @ W[0])
    patched = by_hand(X + 1, lambda i, v: v.at[1].set(first[1]) if i == 0 else v)
    np.testing.assert_allclose(sweep.values[0, 1], patched.sum(), rtol=1e-5)
    found = hooks.attribute(model, X, at="layer", method="integrated gradients", steps=200)["layer"]
    np.testing.assert_allclose(found[1], by_hand(X), rtol=1e-5)
    with pytest.raises(TypeError, match=r"name one of its elements, such as 'pair:out\[0\]', 'pair:out\[1\]'"):
        hooks.steer(lambda x: sum(hooks.site("pair", (x, x))), {"pair": vector})(X)


@pytest.mark.parametrize("method", ["gradient x activation", "integrated gradients", "attribution patching"])
def test_attributions_are_of_the_class_of_the_value(method):
    def square(x):
        return (hooks.site("one", Named(x, {"position": 2, "feature": 2})).array ** 2).sum()

    corrupt = None if method == "gradient x activation" else 0 * X
    found = hooks.attribute(square, X, at="one", method=method, corrupt=corrupt)["one"]
    factor = {"gradient x activation": 2, "integrated gradients": 1, "attribution patching": 0}[method]
    assert isinstance(found, Named) and found.axes == {"position": 2, "feature": 2}
    np.testing.assert_allclose(found.array, factor * X**2, rtol=1e-5)


@register_pytree_node_class
class Two:
    """Two arrays, of a class that is no dataclass."""

    def __init__(self, left, right):
        self.left, self.right = left, right

    def tree_flatten(self):
        return (self.left, self.right), None

    @classmethod
    def tree_unflatten(cls, _, leaves):
        return cls(*leaves)


class Point(NamedTuple):
    a: jax.Array
    b: jax.Array


@struct.dataclass
class Struct:
    a: jax.Array
    b: jax.Array


class Pair(nnx.Module):
    def __init__(self):
        self.double = Doubled()

    def __call__(self, x):
        both = self.double(x)
        return both.left - 2 * both.right


class Doubled(nnx.Module):
    def __call__(self, x):
        return Two(x, x)


def test_a_part_of_a_module_is_put_into_a_copy():
    np.testing.assert_allclose(hooks.steer(Pair(), {"double:out[left]": jnp.ones(2)})(X), 1 - X, rtol=1e-6)
    np.testing.assert_allclose(hooks.ablate(Pair(), "double:out[right]")(X), X, rtol=1e-6)


def test_the_elements_that_an_error_names_are_places():
    vector = jnp.array([1.0, -1.0])

    def flat(x):
        both = hooks.site("both", Two(x, 2 * x))
        return both.left - both.right

    def nested(x):
        both = hooks.site("both", {"pair": (x, 3 * x)})
        return both["pair"][0] - both["pair"][1]

    with pytest.raises(TypeError, match=r"name one of its elements, such as 'both:out\[0\]', 'both:out\[1\]'"):
        hooks.steer(flat, {"both": vector})(X)
    near = np.testing.assert_allclose
    near(hooks.steer(flat, {"both:out[0]": vector})(X), vector - X, rtol=1e-6)
    near(hooks.steer(flat, {"both:out[right]": vector})(X), -X - vector, rtol=1e-6)
    near(hooks.steer(Pair(), {"double:out[1]": vector})(X), -X - 2 * vector, rtol=1e-6)
    with pytest.raises(TypeError, match=r"'both:out\[pair\]\[0\]', 'both:out\[pair\]\[1\]'"):
        hooks.steer(nested, {"both": vector})(X)
    near(hooks.ablate(nested, "both:out[pair][1]")(X), X, rtol=1e-6)
    near(hooks.capture(nested, "both:out[pair][1]", gradients=True)(X)[1].gradients["both:out[pair][1]"], -jnp.ones((2, 2)))
    with pytest.raises(ValueError, match=r"no place 'both:out\[triple\]': the output of the module: dict"):
        hooks.capture(nested, "both:out[triple]")(X)


@pytest.mark.parametrize("kind", [dict, OrderedDict, FrozenDict, Point, Struct, list], ids=lambda kind: kind.__name__)
def test_elements_are_put_back_into_containers_of_their_class(kind):
    made = kind([X, X]) if kind is list else kind(a=X, b=X)
    first = "0" if kind is list else "a"
    seen = []

    def model(x):
        value = hooks.site("value", made)
        seen.append(type(value))
        return sum(jax.tree.leaves(value))

    np.testing.assert_allclose(hooks.ablate(model, f"value:out[{first}]")(X), X)
    assert {*seen} == {kind}
