"""The verbs of interpretability on models of all frameworks, against the same by hand."""

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

W = [jnp.asarray(np.random.default_rng(i).normal(size=(4, 4)), "float32") for i in range(2)]
CLEAN = jnp.asarray(np.random.default_rng(8).normal(size=(2, 3, 4)), "float32")
CORRUPT = jnp.asarray(np.random.default_rng(9).normal(size=(2, 3, 4)), "float32")


def by_hand(x, edit=lambda name, value: value):
    """Two layers, `a` and `b`, each tanh(x @ w)."""
    for name, w in zip("ab", W):
        x = edit(name, jnp.tanh(edit(f"{name}:in", x) @ w))
    return x


def metric(out):
    return (jax.tree.leaves(out)[0] ** 2).sum()


class NnxLayer(nnx.Module):
    def __init__(self, i):
        self.w = nnx.Param(W[i])

    def __call__(self, x):
        return jnp.tanh(x @ self.w[...])


class NnxNet(nnx.Module):
    def __init__(self):
        self.a, self.b, self.calls = NnxLayer(0), NnxLayer(1), nnx.Variable(jnp.int32(0))

    def __call__(self, x):
        self.calls[...] += 1
        return self.b(self.a(x))


class LinenLayer(linen.Module):
    i: int

    @linen.compact
    def __call__(self, x):
        return jnp.tanh(x @ self.param("w", lambda _: W[self.i]))


class LinenNet(linen.Module):
    @linen.compact
    def __call__(self, x):
        return LinenLayer(1, name="b")(LinenLayer(0, name="a")(x))


class EquinoxLayer(equinox.Module):
    w: jax.Array

    def __call__(self, x):
        return jnp.tanh(x @ self.w)


class EquinoxNet(equinox.Module):
    a: EquinoxLayer
    b: EquinoxLayer

    def __call__(self, x):
        return self.b(self.a(x))


class CellLayer(nn.Cell):
    def __init__(self, i):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor(W[i]))

    def construct(self, x):
        return ops.tanh(ops.matmul(x, self.w))


class CellNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = CellLayer(0), CellLayer(1)

    def construct(self, x):
        return self.b(self.a(x))


def haiku_net(x):
    class Layer(haiku.Module):
        def __init__(self, i, name):
            super().__init__(name)
            self.i = i

        def __call__(self, x):
            return jnp.tanh(x @ haiku.get_parameter("w", (4, 4), init=lambda *_: W[self.i]))

    return Layer(1, "b")(Layer(0, "a")(x))


def linen_model():
    model = LinenNet()
    return model, (model.init(jax.random.key(0), CLEAN),)


def haiku_model():
    model = haiku.without_apply_rng(haiku.transform(haiku_net))
    return model, (model.init(None, CLEAN),)


MODELS = {
    "nnx": lambda: (NnxNet(), ()),
    "linen": linen_model,
    "equinox": lambda: (EquinoxNet(*map(EquinoxLayer, W)), ()),
    "haiku": haiku_model,
    "cell": lambda: (CellNet(), ()),
    "function": lambda: (lambda x: by_hand(x, hooks.site), ()),
}
every = pytest.mark.parametrize("framework", MODELS)


def close(a, b):
    np.testing.assert_allclose(jax.tree.leaves(a)[0], b, rtol=2e-4, atol=1e-5)


@every
def test_ablate(framework):
    model, given = MODELS[framework]()
    close(hooks.ablate(model, "a")(*given, CLEAN), by_hand(CLEAN, lambda n, v: v * 0 if n == "a" else v))
    second = lambda n, v: v.at[..., 2:].set(0) if n == "b:in" else v  # noqa: E731  the second of two heads
    run = jax.jit(hooks.ablate(model, "b:in", heads=[1], n_heads=2))
    close(run(*given, CLEAN), by_hand(CLEAN, second))
    swept = jax.vmap(lambda head: jax.tree.leaves(hooks.ablate(model, "b:in", heads=head, n_heads=2)(*given, CLEAN))[0])(
        jnp.arange(2)
    )
    close(swept[1], by_hand(CLEAN, second))
    mean = lambda n, v: jnp.broadcast_to(v.mean((0, 1)), v.shape) if n == "a" else v  # noqa: E731
    close(hooks.ablate(model, "a", value="mean")(*given, CLEAN), by_hand(CLEAN, mean))
    with pytest.raises(
        ValueError, match=r"'value' should be an array, since a value of shape \(3,\) has no axes before .*got 'mean'"
    ):
        hooks.ablate(jax.vmap(lambda x: hooks.site("one", x)), "one", value="mean")(jnp.ones((2, 3)))


@every
def test_steer(framework):
    model, given = MODELS[framework]()
    vector = jnp.array([1.0, -1.0, 0.5, 0.0], "float32")
    close(
        hooks.steer(model, {"a": vector}, scale=2)(*given, CLEAN), by_hand(CLEAN, lambda n, v: v + 2 * vector if n == "a" else v)
    )
    at_one = lambda n, v: v.at[:, 1].add(vector) if n == "a" else v  # noqa: E731
    close(hooks.steer(model, {"a": vector}, positions=1)(*given, CLEAN), by_hand(CLEAN, at_one))


@every
def test_patch_sweep(framework):
    model, given = MODELS[framework]()
    found = hooks.patch_sweep(model, (*given, CLEAN), (*given, CORRUPT), ["a", "b"], metric=metric, chunk=4)
    assert found.layers == ["a", "b"] and found.values.shape == (2, 3)
    close(found.clean, metric(by_hand(CLEAN)))
    close(found.corrupt, metric(by_hand(CORRUPT)))
    clean = {}
    by_hand(CLEAN, lambda n, v: clean.setdefault(n, v))
    for i, name in enumerate("ab"):
        for position in range(3):
            patch = lambda n, v, name=name, p=position: v.at[:, p].set(clean[name][:, p]) if n == name else v  # noqa: E731
            close(found.values[i, position], metric(by_hand(CORRUPT, patch)))


def test_patch_sweep_over_the_steps_of_a_scan_and_heads():
    class Stack(linen.Module):
        @linen.compact
        def __call__(self, x):
            scan = linen.scan(
                lambda layer, x, _: (layer(x), None), variable_axes={"params": 0}, split_rngs={"params": True}, length=2
            )
            return scan(LinenLayer(0, name="layers"), x, None)[0]

    model = Stack()
    params = {"params": {"layers": {"w": jnp.stack(W)}}}
    found = hooks.patch_sweep(
        model, (params, CLEAN), (params, CORRUPT), "layers", metric=metric, over=("layer", "head"), head_axis=-1
    )
    assert found.layers == ["layers[0]", "layers[1]"] and found.values.shape == (2, 4)
    clean = {}
    by_hand(CLEAN, lambda n, v: clean.setdefault(n, v))
    for i, name in enumerate("ab"):
        patch = lambda n, v, name=name: v.at[..., 3].set(clean[name][..., 3]) if n == name else v  # noqa: E731
        close(found.values[i, 3], metric(by_hand(CORRUPT, patch)))
    with pytest.raises(ValueError, match="'over' should be 'layer', 'position', 'head' or 'neuron', but got"):
        hooks.patch_sweep(model, (params, CLEAN), (params, CORRUPT), "layers", metric=metric, over=("token",))


def from_a(value):
    return metric(jnp.tanh(value @ W[1]))


@every
def test_attribute(framework):
    model, given = MODELS[framework]()
    clean, corrupt = (jnp.tanh(x @ W[0]) for x in (CLEAN, CORRUPT))
    attribute = lambda **how: hooks.attribute(model, *given, CLEAN, at="a", metric=metric, **how)["a"]  # noqa: E731
    close(attribute(), jax.grad(from_a)(clean) * clean)
    patched = attribute(method="attribution patching", corrupt=(*given, CORRUPT))
    close(patched, jax.grad(from_a)(corrupt) * (clean - corrupt))
    points, weights = np.polynomial.legendre.leggauss(8)
    slopes = [w / 2 * jax.grad(from_a)(corrupt + (p + 1) / 2 * (clean - corrupt)) for p, w in zip(points, weights)]
    found = attribute(method="integrated gradients", corrupt=(*given, CORRUPT), steps=8)
    close(found, sum(slopes) * (clean - corrupt))
    np.testing.assert_allclose(found.sum(), metric(by_hand(CLEAN)) - metric(by_hand(CORRUPT)), rtol=1e-4)


def test_errors_of_attribute():
    with pytest.raises(ValueError, match="'method' should be 'gradient x activation', 'integrated gradients'"):
        hooks.attribute(NnxNet(), CLEAN, at="a", method="saliency")
    with pytest.raises(ValueError, match="needs other inputs"):
        hooks.attribute(NnxNet(), CLEAN, at="a", method="attribution patching")
    with pytest.raises(ValueError, match="nearest to 'aa': 'a'"):
        hooks.attribute(NnxNet(), CLEAN, at="aa")


# ---- programs that are kept


@pytest.fixture
def compiled():
    """A function that calls what it is given, and returns (the result, how many programs were compiled meanwhile)."""
    done = []

    def listen(event, seconds, **more):
        if event == "/jax/core/compile/backend_compile_duration":
            done.append(seconds)

    def run(fn, *args, **kwargs):
        done.clear()
        return fn(*args, **kwargs), len(done)

    jax.monitoring.register_event_duration_secs_listener(listen)
    assert run(jax.jit(lambda x: x * 2), CLEAN)[1] == 1
    yield run
    jax.monitoring.unregister_event_duration_listener(listen)


@pytest.mark.parametrize("framework", [name for name in MODELS if name != "function"])
def test_a_model_that_stops_early_is_compiled_once(framework, compiled):
    model, given = MODELS[framework]()
    counts = []
    for x in (CLEAN, CORRUPT):
        (out, cache), count = compiled(hooks.run_with_cache, model, *given, x, stop_after="a")
        assert out is None and list(cache) == ["a"]
        close(cache, jnp.tanh(x @ W[0]))
        counts.append(count)
    assert counts[1] == 0  # the first one may find the program of an equal model


def test_a_function_that_stops_early_is_compiled_once_for_what_it_closes_over(compiled):
    weights, factor, counts = list(W), 1, []

    def model(x):
        return hooks.site("a", jnp.tanh(x @ weights[0]) * factor) @ weights[1]

    for w in (W[0], W[0] + 1):  # an array that it closes over comes in, a number is part of the program
        weights[0] = w
        for x in (CLEAN, CORRUPT):
            (_, cache), count = compiled(hooks.run_with_cache, model, x, stop_after="a")
            close(cache, jnp.tanh(x @ w))
            counts.append(count)
    assert counts[0] > 0 and not any(counts[1:])
    factor = 2
    (_, cache), count = compiled(hooks.run_with_cache, model, CLEAN, stop_after="a")
    close(cache, jnp.tanh(CLEAN @ w) * 2)
    assert count > 0


def test_trained_weights_are_inputs_of_a_kept_program(compiled):
    model = NnxNet()
    hooks.run_with_cache(model, CLEAN, stop_after="a")
    model.a.w[...] = W[1]
    (_, cache), count = compiled(hooks.run_with_cache, model, CLEAN, stop_after="a")
    close(cache, jnp.tanh(CLEAN @ W[1]))
    assert count == 0
    net = EquinoxNet(*map(EquinoxLayer, W))
    hooks.run_with_cache(net, CLEAN, stop_after="a")
    changed = equinox.tree_at(lambda net: net.a.w, net, W[1])
    (_, cache), count = compiled(hooks.run_with_cache, changed, CLEAN, stop_after="a")
    close(cache, jnp.tanh(CLEAN @ W[1]))
    assert count == 0


def test_compile_is_kept_and_changes_the_state(compiled):
    model = NnxNet()

    def double(value, index):
        return value * 2

    for _ in range(2):
        (out, found), count = compiled(lambda: hooks.compile(model, "b:in", edit={"a": double})(CLEAN))
    assert int(model.calls[...]) == 2 and count == 0
    close(out, by_hand(CLEAN, lambda n, v: v * 2 if n == "a" else v))
    close(found.activations, 2 * jnp.tanh(CLEAN @ W[0]))
    with hooks.register_forward_hook(model, lambda module, args, output: output * 0, "b"):
        assert not np.any(hooks.compile(model, "b:in", edit={"a": double})(CLEAN)[0])
    close(hooks.compile(model, "b:in", edit={"a": double})(CLEAN)[0], out)


def test_patch_sweep_of_a_value_with_several_arrays_says_how_they_are_named():
    def fn(x):
        return sum(hooks.site("pair", (x, 2 * x)))

    with pytest.raises(
        TypeError, match=r"that of 'pair' is \(.*name one of its elements, such as 'pair:out\[0\]', 'pair:out\[1\]'"
    ):
        hooks.patch_sweep(fn, CLEAN, CORRUPT, "pair", metric=jnp.sum)


# ---- several calls of one module, lanes of vmaps, dtypes


class Twice(nnx.Module):
    def __init__(self):
        self.a = NnxLayer(0)

    def __call__(self, x):
        return self.a(self.a(x))


def twice(x):
    for _ in range(2):
        x = hooks.site("a", jnp.tanh(x @ W[0]))
    return x


@pytest.mark.parametrize("model", [Twice(), twice], ids=["module", "function"])
def test_one_of_several_calls_of_a_module(model):
    """An edit of "a#1" was accepted, and did nothing."""
    first, layer = jnp.tanh(CLEAN @ W[0]), lambda x: jnp.tanh(x @ W[0])
    out, found = hooks.capture(model, "a#1", edit={"a#1": lambda value, index: 2 * value})(CLEAN)
    close(out, 2 * layer(first))
    close(found.activations["a#1"], 2 * layer(first))
    close(hooks.capture(model, [], edit={"a": lambda value, index: 2 * value})(CLEAN)[0], 2 * layer(2 * first))
    swept = hooks.patch_sweep(model, CLEAN, CORRUPT, "a", metric=metric)
    assert swept.layers == ["a", "a#1"]
    for number, value in enumerate((layer(CLEAN), layer(layer(CLEAN)))):
        other = layer(CORRUPT) if number == 0 else layer(layer(CORRUPT))
        patched = other.at[:, 1].set(value[:, 1])
        close(swept.values[number, 1], metric(patched if number else layer(patched)))
    parts = hooks.attribute(model, CLEAN, at="a", metric=metric, method="integrated gradients", steps=64)
    np.testing.assert_allclose(parts["a#1"].sum(), metric(layer(first)), rtol=0.01)
    assert list(parts) == ["a", "a#1"]


def test_places_in_lanes_of_a_vmap():
    """Their values have an axis in front, which is no loop's."""

    def lane(x, w):
        return hooks.site("head", hooks.site("head", jnp.tanh(x @ w)) * 2)

    def fn(x):
        return jax.vmap(lane, (None, 0), 1)(x, jnp.stack(W)).sum(1)

    heads = [jnp.tanh(CLEAN[0] @ w) for w in W]
    others = [jnp.tanh(CORRUPT[0] @ w) for w in W]
    swept = hooks.patch_sweep(fn, CLEAN[0], CORRUPT[0], "head", metric=metric, over=("layer", "head"), head_axis=0)
    assert swept.layers == ["head", "head#1"]
    by_hand = [metric(2 * (heads[0] + others[1])), metric(2 * (others[0] + heads[1]))]
    close(swept.values, jnp.array([by_hand, by_hand]))
    close(hooks.capture(fn, [], edit={"head#1": lambda value, index: value[:, ::-1]})(CLEAN[0])[0], 2 * sum(heads)[:, ::-1])
    attributed = hooks.attribute(fn, CLEAN[0], at="head#1", method="integrated gradients", steps=2)["head#1"]
    close(attributed, 2 * jnp.stack(heads))


def test_values_of_other_dtypes():
    def fn(x):
        choice = hooks.site("choice", jnp.argmax(hooks.site("scores", x.astype("bfloat16")), -1))
        return choice[..., None] * x

    scores = hooks.attribute(fn, CLEAN, at=["scores", "choice"])
    assert {name: value.dtype for name, value in scores.items()} == {"scores": "bfloat16"}
    with pytest.raises(ValueError, match="'choice' has others"):
        hooks.attribute(fn, CLEAN, at="choice")
    chosen = jnp.argmax(CLEAN.astype("bfloat16"), -1)
    close(hooks.ablate(fn, "choice", value="mean")(CLEAN), (chosen.mean(0, keepdims=True)).astype(int)[..., None] * CLEAN)
    swept = hooks.patch_sweep(fn, CLEAN, CORRUPT, "choice", over=("layer",), metric=metric)
    close(swept.values[0], metric(chosen[..., None] * CORRUPT))


def test_an_array_has_no_elements_to_be_named():
    with pytest.raises(ValueError, match=r"no place 'a:out\[1\]': the output of the module: array\("):
        hooks.run_with_cache(NnxNet(), CLEAN, where="a:out[1]")


class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.drop, self.factor = nn.Dropout(p=0.5), 2.0

    def construct(self, x):
        return self.drop(x) * self.factor


def test_kept_programs_see_attributes_of_cells_that_change():
    net, x = Scaled().set_train(False), jnp.ones((1, 8))
    verbs = (
        lambda: hooks.run_with_cache(net, x)[1]["drop"] * net.factor,
        lambda: hooks.compile(net)(x)[0],
        lambda: hooks.attribute(net, x, at="drop")["drop"],
    )
    for verb in verbs:
        net.factor = 2.0
        assert (verb() == 2).all()
        net.factor = 3.0
        assert (verb() == 3).all()
    net.set_train(True)
    dropped = hooks.run_with_cache(net, x)[1]["drop"]
    assert set(dropped.ravel().tolist()) <= {0.0, 2.0} and (dropped != 1).all()


class ScaledByList(nnx.Module):
    def __init__(self):
        self.factors, self.options, self.names = [2.0], {"shift": [0.0]}, {"a"}

    def __call__(self, x, other=None):
        y = hooks.site("scaled", x * self.factors[0] + self.options["shift"][0]) * len(self.names)
        return y if other is None else y * other.factors[0]


@pytest.mark.parametrize("change", [
    lambda model: model.factors.__setitem__(0, 3.0), lambda model: model.options["shift"].__setitem__(0, 1.0),
    lambda model: model.names.add("b"),
])  # fmt: skip
def test_kept_programs_see_what_is_written_into_lists_of_a_model_and_of_its_arguments(change):
    model, other, x = ScaledByList(), ScaledByList(), jnp.ones((1, 3))
    verbs = (
        lambda: hooks.run_with_cache(model, x, other)[0],
        lambda: hooks.compile(model)(x, other)[0],
        lambda: (
            hooks.integrated_gradients(model, x, other, metric=lambda out: out.sum(-1), wrt=0, steps=2).values
            + model.options["shift"][0] * len(model.names) * other.factors[0]
        ),
    )
    for verb in verbs:
        assert jnp.allclose(verb(), model(x, other))
    for changed in (model, other):
        change(changed)
        for verb in verbs:
            assert jnp.allclose(verb(), model(x, other))
