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
from msjax.models import kept, same_program

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
    with pytest.raises(ValueError, match="'over' should be some of 'layer', 'position', 'head'"):
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
    parts = [corrupt + (i + 0.5) / 8 * (clean - corrupt) for i in range(8)]
    by_parts = sum(map(jax.grad(from_a), parts)) / 8 * (clean - corrupt)
    found = attribute(method="integrated gradients", corrupt=(*given, CORRUPT), steps=8)
    close(found, by_parts)
    np.testing.assert_allclose(found.sum(), metric(by_hand(CLEAN)) - metric(by_hand(CORRUPT)), rtol=0.05)


def test_errors_of_attribute():
    with pytest.raises(ValueError, match="'method' should be one of 'gradient x activation', 'integrated gradients'"):
        hooks.attribute(NnxNet(), CLEAN, at="a", method="saliency")
    with pytest.raises(ValueError, match="needs other inputs"):
        hooks.attribute(NnxNet(), CLEAN, at="a", method="attribution patching")
    with pytest.raises(ValueError, match="nearest to 'aa': 'a'"):
        hooks.attribute(NnxNet(), CLEAN, at="aa")


# ---- programs that are kept


@pytest.mark.parametrize("framework", [name for name in MODELS if name != "function"])
def test_a_model_that_stops_early_is_compiled_once(framework, monkeypatch):
    model, given = MODELS[framework]()
    kept._KEPT.clear()
    for x in (CLEAN, CORRUPT):
        out, cache = hooks.run_with_cache(model, *given, x, stop_after="a")
        assert out is None and list(cache) == ["a"]
        close(cache, jnp.tanh(x @ W[0]))
    [program] = kept._KEPT.values()
    assert program._cache_size() == 1


def test_a_function_that_stops_early_is_compiled_once_for_what_it_closes_over():
    same_program._KEPT.clear()
    weights, factor = list(W), 1

    def model(x):
        return hooks.site("a", jnp.tanh(x @ weights[0]) * factor) @ weights[1]

    for w in (W[0], W[0] + 1):  # an array that it closes over comes in, a number is part of the program
        weights[0] = w
        for x in (CLEAN, CORRUPT):
            close(hooks.run_with_cache(model, x, stop_after="a")[1], jnp.tanh(x @ w))
    assert len(same_program._KEPT) == 1
    factor = 2
    close(hooks.run_with_cache(model, CLEAN, stop_after="a")[1], jnp.tanh(CLEAN @ w) * 2)
    assert len(same_program._KEPT) == 2


def test_trained_weights_are_inputs_of_a_kept_program():
    kept._KEPT.clear()
    model = NnxNet()
    hooks.run_with_cache(model, CLEAN, stop_after="a")
    model.a.w[...] = W[1]
    close(hooks.run_with_cache(model, CLEAN, stop_after="a")[1], jnp.tanh(CLEAN @ W[1]))
    changed = equinox.tree_at(lambda net: net.a.w, EquinoxNet(*map(EquinoxLayer, W)), W[1])
    for net, w in ((EquinoxNet(*map(EquinoxLayer, W)), W[0]), (changed, W[1])):
        close(hooks.run_with_cache(net, CLEAN, stop_after="a")[1], jnp.tanh(CLEAN @ w))
    assert [program._cache_size() for program in kept._KEPT.values()] == [1, 1]


def test_compile_is_kept_and_changes_the_state():
    kept._KEPT.clear()
    model = NnxNet()

    def double(value, index):
        return value * 2

    for _ in range(2):
        out, found = hooks.compile(model, "b:in", edit={"a": double})(CLEAN)
    assert int(model.calls[...]) == 2 and len(kept._KEPT) == 1
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
