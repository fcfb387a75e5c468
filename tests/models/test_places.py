"""Places by the paths of modules: inputs, elements of outputs, operations and functions of jax."""

import gc
import weakref

import equinox
import flax.linen as linen
import haiku
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import hooks, nn, ops

X = jnp.linspace(-1.0, 1.0, 12, dtype="float32").reshape(2, 2, 3)
W = jnp.linspace(0.0, 1.0, 9, dtype="float32").reshape(3, 3)


def by_hand(x):
    pattern = jax.nn.softmax(x @ W)
    return {"mix": pattern @ W, "softmax": pattern, "in": pattern, "out": jnp.sum(pattern @ W)}


class NnxMix(nnx.Module):
    def __init__(self):
        self.weight = nnx.Param(W)

    def __call__(self, x):
        return x @ self.weight[...], x.sum()


class NnxNet(nnx.Module):
    def __init__(self):
        self.weight, self.mix = nnx.Param(W), NnxMix()

    def __call__(self, x):
        return self.mix(jax.nn.softmax(x @ self.weight[...]))[0]


class LinenMix(linen.Module):
    @linen.compact
    def __call__(self, x):
        return x @ W, x.sum()


class LinenNet(linen.Module):
    @linen.compact
    def __call__(self, x):
        return LinenMix(name="mix")(jax.nn.softmax(x @ W))[0]


class EquinoxMix(equinox.Module):
    weight: jax.Array

    def __call__(self, x):
        return x @ self.weight, x.sum()


class EquinoxNet(equinox.Module):
    weight: jax.Array
    mix: EquinoxMix

    def __call__(self, x):
        return self.mix(jax.nn.softmax(x @ self.weight))[0]


def haiku_net():
    class Mix(haiku.Module):
        def __call__(self, x):
            return x @ W, x.sum()

    class Net(haiku.Module):
        def __call__(self, x):
            return Mix(name="mix")(jax.nn.softmax(x @ W))[0]

    return hooks.hooked(haiku.without_apply_rng(haiku.transform(lambda x: Net(name="net")(x))))


class CellMix(nn.Cell):
    def construct(self, x):
        return ops.matmul(x, ms.Tensor(W)), x.sum()


class CellNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mix = CellMix()

    def construct(self, x):
        return self.mix(ops.softmax(ops.matmul(x, ms.Tensor(W))))[0]


def cases():
    """{framework: (what is captured, the arguments before x, what the paths begin with)}"""
    cell = CellNet()
    return {
        "nnx": (NnxNet(), (), ""),
        "linen": (hooks.hooked(LinenNet()), ({},), ""),
        "equinox": (hooks.hooked(EquinoxNet(W, EquinoxMix(W))), (), ""),
        "haiku": (haiku_net(), ({},), "net."),
        "cell": (cell, ms.functionalize(cell)[1:], ""),
    }


@pytest.mark.parametrize("framework", cases())
def test_inputs_and_elements_of_outputs(framework):
    model, before, prefix = cases()[framework]
    prefix = prefix.replace("net.", "net.~.") if framework == "haiku" and "net.~.mix" in _names(model, before) else prefix
    places = [f"{prefix}mi*:in", f"{prefix}mi*:out[0]", f"{prefix}mi*:out[1]"]
    _, found = hooks.capture(model, places, gradients=True)(*before, X)
    expected = by_hand(X)
    names = [f"{prefix}mix:in", f"{prefix}mix:out[0]", f"{prefix}mix:out[1]"]
    assert list(found.activations) == names
    for name, want in zip(names, (expected["in"], expected["mix"], expected["in"].sum())):
        np.testing.assert_allclose(found.activations[name], want, rtol=1e-5)
    np.testing.assert_allclose(found.gradients[names[1]], np.ones((2, 2, 3)))
    edit = {f"{prefix}mix:in": lambda value, index: value * 2}
    changed, _ = hooks.capture(model, [], edit=edit)(*before, X)
    np.testing.assert_allclose(jax.tree.leaves(changed)[0], 2 * expected["mix"], rtol=1e-5)
    if framework != "cell":
        assert list(hooks.run_with_cache(model, *before, X, where=names[0], stop_after=names[0])[1]) == [names[0]]


def _names(model, before):
    hooks.capture(model, "*")(*before, X)
    return list(hooks.paths(model))


@pytest.mark.parametrize("framework", [name for name in cases() if name != "cell"])
def test_functions_of_jax_in_modules(framework):
    model, before, prefix = cases()[framework]
    outer = prefix.rstrip(".")
    _, found = hooks.capture(model, f"{outer}*/softmax", gradients=True)(*before, X)
    [(name, value)] = found.activations.items()
    assert name == f"{outer}/softmax"
    np.testing.assert_allclose(value, by_hand(X)["softmax"], rtol=1e-5)
    np.testing.assert_allclose(found.gradients[name][0, 0], W.sum(1), rtol=1e-5)
    patched, _ = hooks.capture(model, [], edit={name: lambda value, index: value * 0})(*before, X)
    assert not np.any(patched)


def test_operations_have_modules_and_calls():
    class Twice(nnx.Module):
        def __init__(self):
            self.mix = NnxMix()

        def __call__(self, x):
            return jnp.exp(self.mix(self.mix(x)[0])[0])

    found = hooks.ops(Twice())(X)
    assert [(o.module, o.call) for o in found if o.name.startswith("dot_general")] == [("mix", 0), ("mix", 1)]
    assert [o.places[0] for o in found if o.module == "mix" and "dot" in o.name] == ["mix/dot_general", "mix/dot_general#1"]
    assert [o.places for o in found if o.name.startswith("exp")] == [("/exp",)]
    _, second = hooks.capture(Twice(), "mix/dot_general#1")(X)
    np.testing.assert_allclose(second.activations["mix/dot_general#1"], X @ W @ W, rtol=1e-5)


def test_operations_of_a_network_of_cells_are_listed_by_the_names_that_capture_has_for_them():
    net = nn.SequentialCell(nn.Dense(3, 2), nn.Softmax())
    _, params, buffers = ms.functionalize(net)
    listed = [place for o in hooks.ops(net)(params, buffers, X) for place in o.places]
    assert "1/softmax" in listed
    _, found = hooks.capture(net, "*/*")(params, buffers, X)
    assert set(found.activations) <= {*listed, "", "0", "1"}


def test_functions_with_a_jit_of_their_own_and_places_within():
    def f(x):
        return jax.nn.silu(x).sum()

    run = hooks.capture(f, ["/silu", "/logistic"], gradients=True)
    _, found = jax.jit(run)(X)
    np.testing.assert_allclose(found.activations["/silu"], jax.nn.silu(X), rtol=1e-6)
    np.testing.assert_allclose(found.gradients["/silu"], np.ones(X.shape))
    np.testing.assert_allclose(found.gradients["/logistic"], X, rtol=1e-6)
    assert [o.places for o in hooks.ops(f, functions=True)(X) if "/silu" in o.places] != []


def test_in_a_scan_with_an_edit_of_one_layer():
    class Layer(linen.Module):
        @linen.compact
        def __call__(self, x, _):
            return LinenMix(name="mix")(jax.nn.softmax(x))[0], None

    class Stack(linen.Module):
        @linen.compact
        def __call__(self, x):
            scan = linen.scan(Layer, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
            return scan(name="layers")(x, None)[0]

    model = hooks.hooked(Stack())
    _, found = jax.jit(hooks.capture(model, ["layers/softmax", "layers.mix:in"]))({}, X)
    np.testing.assert_allclose(found.activations["layers/softmax"], found.activations["layers.mix:in"])
    edit = {"layers.mix:in": lambda value, index: jnp.where(index[0] == 2, 0, value)}
    assert not np.any(hooks.capture(model, [], edit=edit)({}, X)[0])


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("mix/softmax", r"'mix/softmax'; there are .*; nearest to 'mix/softmax': '/softmax'"),
        ("mx", r"no place was selected by 'mx'; there are '', 'mix'; nearest to 'mx': 'mix'"),
        ("mix:out[2]", r"no place 'mix:out\[2\]': the output of the module: \("),
        ("mux:in", r"no place was selected by 'mux:in'; .*nearest to 'mux': 'mix'"),
    ],
)
def test_errors_list_near_names(place, message):
    with pytest.raises(ValueError, match=message):
        hooks.capture(NnxNet(), place)(X)


def test_a_star_selects_neither_parts_nor_operations():
    _, found = hooks.capture(NnxNet(), ["*", "mix:in"])(X)
    assert list(found.activations) == ["mix:in", "mix", ""]
    doubled = {"*": lambda value, index: jax.tree.map(lambda v: v * 2, value)}
    _, found = hooks.capture(NnxNet(), "mix:in", edit=doubled)(X)
    np.testing.assert_allclose(found.activations["mix:in"], by_hand(X)["in"], rtol=1e-6)


# ---- what jax and msjax keep of a capture that is over


def tanh_of(w, x):
    return jnp.tanh(hooks.site("hidden", x @ w))


def size(out):
    return (out**2).sum()


class Patch:
    value = 1.0


@pytest.mark.parametrize("compiled", [False, True])
def test_what_an_edit_holds_goes_with_it(compiled):
    patch = Patch()
    gone = weakref.ref(patch)
    run = hooks.capture(tanh_of, [], edit={"hidden": lambda value, index, patch=patch: value + patch.value})
    (jax.jit(run) if compiled else run)(W, X[0])
    del patch, run
    gc.collect()
    assert gone() is None


def test_edits_with_traced_values_leave_no_tracer_behind():
    with jax.checking_leaks():
        hooks.attribute(tanh_of, W, X[0], at="hidden", metric=size, method="integrated gradients")
        hooks.patch_sweep(tanh_of, hooks.Inputs(W, X[0]), hooks.Inputs(W, 2 * X[0]), ["hidden"], metric=size)


def test_what_comes_before_a_place_without_jit():
    with jax.disable_jit():
        out, cache = hooks.run_with_cache(tanh_of, W, X[0], stop_after="hidden")
    assert out is None and jnp.allclose(cache["hidden"], X[0] @ W)
