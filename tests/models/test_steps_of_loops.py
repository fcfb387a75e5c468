"""Steps of loops as places: "layers.mlp[1]" means the same in all verbs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen, nnx

from msjax import hooks

X = jnp.linspace(-1.0, 1.0, 6, dtype="float32").reshape(1, 3, 2)
Y = X[:, ::-1] * 2
W = jnp.array([[[0.5, 0.0], [0.0, 0.5]], [[0.3, 0.3], [0.3, 0.3]], [[0.2, -0.4], [0.1, 0.6]]], "float32")


def by_hand(x, change=lambda step, value: value):
    """(the result, what "mlp" puts out at each step), of x + x @ w three times."""
    values = []
    for step in range(3):
        values.append(change(step, x @ W[step]))
        x = x + values[-1]
    return x, values


def plain(x):
    return jax.lax.scan(lambda x, w: (x + hooks.site("layers.mlp", x @ w), None), x, W)[0]


class Layer(linen.Module):
    @linen.compact
    def __call__(self, x, _):
        return x + linen.Dense(2, use_bias=False, name="mlp")(x), None


class Scanned(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.scan(Layer, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)(name="layers")(x, None)[0]


class NnxLayer(nnx.Module):
    def __init__(self, rngs):
        self.mlp = nnx.Linear(2, 2, use_bias=False, rngs=rngs)

    def __call__(self, x):
        return x + self.mlp(x)


class NnxScanned(nnx.Module):
    def __init__(self):
        self.layers = nnx.vmap(NnxLayer)(nnx.Rngs(0).split(3))
        self.layers.mlp.kernel[...] = W

    def __call__(self, x):
        return nnx.scan(lambda x, layer: layer(x), in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)(x, self.layers)


MODELS = {
    "function": (plain, ()),
    "linen": (hooks.hooked(Scanned()), ({"params": {"layers": {"mlp": {"kernel": W}}}},)),
    "nnx": (NnxScanned(), ()),
}


@pytest.fixture(params=MODELS)
def case(request):
    return MODELS[request.param]


def near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def without_second(step, value):
    return 0 * value if step == 1 else value


def test_captured(case):
    model, before = case
    out, found = hooks.capture(model, ["layers.mlp[1]", "layers.mlp"], gradients=True)(*before, X)
    result, values = by_hand(X)
    near(out, result)
    assert list(found.activations) == ["layers.mlp[1]", "layers.mlp"]
    near(found["layers.mlp[1]"], values[1])
    near(found["layers.mlp"], jnp.stack(values))
    near(found.gradients["layers.mlp[1]"], found.gradients["layers.mlp"][1])
    near(hooks.run_with_cache(model, *before, X, where="layers.mlp[2]")[1]["layers.mlp[2]"], values[2])
    _, first = hooks.compile(model, "layers.mlp[0]", stop_after="layers.mlp")(*before, X)
    near(first["layers.mlp[0]"], values[0])


def test_ablated_steered_spliced_and_transplanted(case):
    model, before = case
    expected = by_hand(X, without_second)[0]
    near(hooks.ablate(model, "layers.mlp[1]")(*before, X), expected)
    near(jax.jit(hooks.ablate(model, "layers.mlp[1]"))(*before, X), expected)
    coder = (lambda value: 0 * value, lambda features: features)
    near(hooks.splice(model, {"layers.mlp[1]": coder}, error=False)(*before, X), expected)
    near(hooks.splice(model, {"layers.m*": coder}, error=False)(*before, X), X)
    added = hooks.steer(model, {"layers.mlp[2]": 1.0}, positions=-1)(*before, X)
    near(added, by_hand(X, lambda step, v: v.at[:, -1].add(1.0) if step == 2 else v)[0])
    swapped = hooks.transplant(model, hooks.Inputs(*before, Y), {"layers.mlp[1]": "layers.mlp[0]"})(*before, X)
    near(swapped, by_hand(X, lambda step, v: by_hand(Y)[1][0] if step == 1 else v)[0])


def test_the_edit_of_a_step_sees_the_value_and_the_index(case):
    model, before = case
    edit = {"layers.mlp[1]": lambda value, index: value * index[0] * 3}
    near(hooks.capture(model, [], edit=edit)(*before, X)[0], by_hand(X, lambda step, v: 3 * v if step == 1 else v)[0])
    with pytest.raises(ValueError, match=r"The edit .*<lambda> of the place 'layers.mlp' returned array\(shape=\[2, 3, 2\]"):
        hooks.capture(model, [], edit={"layers.mlp[1]": lambda value, index: jnp.concatenate([value, value])})(*before, X)


def test_swept_and_attributed(case):
    model, before = case
    sweep = hooks.patch_sweep(model, (*before, X), (*before, Y), ["layers.mlp[1]", "layers.mlp[2]"], metric=jnp.sum, over="layer")
    assert sweep.layers == ["layers.mlp[1]", "layers.mlp[2]"]
    clean = by_hand(X)[1]
    near(sweep.values, [by_hand(Y, lambda s, v, at=at: clean[at] if s == at else v)[0].sum() for at in (1, 2)])
    for method in ("gradient x activation", "integrated gradients"):
        found = hooks.attribute(model, *before, X, at="layers.mlp[1]", method=method)["layers.mlp[1]"]
        near(found.sum(), by_hand(X)[0].sum() - by_hand(X, without_second)[0].sum())


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("layers.mlp[3]", r"no place 'layers.mlp\[3\]': 'layers.mlp' is in loops of \(3,\) steps"),
        ("layers.mlp[0][0]", r"'layers.mlp' is in loops of \(3,\) steps. Name it without a step: .* index\[0\]"),
    ],
)
def test_steps_that_are_not_there(case, place, words):
    model, before = case
    for verb in (hooks.ablate, hooks.capture):
        with pytest.raises(ValueError, match=rf"For '{verb.__name__}', there is .*{words}"):
            verb(model, place)(*before, X)
    with pytest.raises(ValueError, match="no place"):
        hooks.splice(model, {place: (jnp.sin, jnp.sin)})(*before, X)


def test_a_place_in_no_loop_and_one_in_a_while_loop():
    with pytest.raises(ValueError, match=r"no place 'a\[0\]': 'a' is in no loop"):
        hooks.steer(lambda x: hooks.site("a", x), {"a[0]": 1.0})(X)
    loop = lambda x: jax.lax.while_loop(lambda c: c[1] < 2, lambda c: (hooks.site("a", c[0] * 2), c[1] + 1), (x, 0))[0]  # noqa: E731
    with pytest.raises(ValueError, match=r"no place 'a\[0\]': 'a' is in a while_loop or on devices"):
        hooks.capture(loop, "a[0]")(X)


def test_brackets_of_patterns_stay_those_of_fnmatch():
    def model(x):
        for i in range(3):
            x = hooks.site(f"block_{i}", x + 1)
        return x

    assert list(hooks.capture(model, "block_[12]")(X)[1].activations) == ["block_1", "block_2"]
    near(hooks.ablate(model, "block_[1]")(X), 0 * X + 1)


def test_steps_of_parts_operations_and_of_the_second_call():
    def layer(x, w):
        both = hooks.site("both", (x @ w, x))
        return hooks.site("sum", hooks.site("sum", jnp.tanh(both[0]) + both[1]) * 2), None

    model = lambda x: jax.lax.scan(layer, x, W)[0]  # noqa: E731
    places = ["both:out[0][1]", "both[1]:out[0]", "sum[2]#1", "/tanh[0]"]
    whole = hooks.capture(model, ["both:out[0]", "sum#1", "/tanh"])(X)[1]
    found = hooks.capture(model, places[1:])(X)[1]
    near(found["both[1]:out[0]"], whole["both:out[0]"][1])
    near(found["sum[2]#1"], whole["sum#1"][2])
    near(found["/tanh[0]"], whole["/tanh"][0])
    with pytest.raises(ValueError, match=r"no place 'both:out\[0\]\[1\]'"):
        hooks.capture(model, places[0])(X)
    index = {"both:out[0]": lambda value, index: jnp.where(index[0] == 1, value + 1, value)}
    near(hooks.steer(model, {"both[1]:out[0]": 1.0})(X), hooks.capture(model, [], edit=index)(X)[0])


def test_a_function_for_several_names_of_an_operation_changes_it_once_and_each_step_that_it_is_for():
    def add(value, index):
        return value + 1

    def f(x):
        return jax.lax.scan(lambda carry, w: (carry + jnp.exp(w), None), x, jnp.zeros(3))[0]

    for edit, expected in (
        ({"exp@*": add}, 6.0),
        ({"exp@*": add, "*/exp": add}, 6.0),
        ({"/exp[0]": add, "/exp[2]": add}, 5.0),
    ):
        assert hooks.capture(f, [], edit=edit)(0.0)[0] == expected
