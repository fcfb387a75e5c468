"""Models whose arguments are keywords, given to every verb, against the same by hand."""

import equinox
import flax.linen as linen
import haiku
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from msjax import hooks

X, OTHER = jnp.array([[0.1, 0.5, -0.4], [0.3, -0.2, 0.7]]), jnp.array([[0.9, -0.5, 0.2], [0.4, 0.6, -0.1]])


def by_hand(x, edit=lambda number, value: value, scale=2.0):
    for i in range(2):
        x = x + edit(i, jnp.sin(x)) * scale
    return x


class NnxSine(nnx.Module):
    def __call__(self, x):
        return jnp.sin(x)


class NnxBlock(nnx.Module):
    def __init__(self):
        self.sine = NnxSine()

    def __call__(self, x, *, train):
        return x + self.sine(x) * (2.0 if train else 1.0)


class NnxModel(nnx.Module):
    def __init__(self):
        self.blocks = nnx.List([NnxBlock(), NnxBlock()])

    def __call__(self, *, inputs, train):
        for block in self.blocks:
            inputs = block(inputs, train=train)
        return inputs


class LinenSine(linen.Module):
    def __call__(self, x):
        return jnp.sin(x)


class LinenBlock(linen.Module):
    @linen.compact
    def __call__(self, x, *, train):
        return x + LinenSine(name="sine")(x) * (2.0 if train else 1.0)


class LinenModel(linen.Module):
    @linen.compact
    def __call__(self, *, inputs, train):
        for i in range(2):
            inputs = LinenBlock(name=f"block{i}")(inputs, train=train)
        return inputs


class EquinoxSine(equinox.Module):
    def __call__(self, x):
        return jnp.sin(x)


class EquinoxBlock(equinox.Module):
    sine: EquinoxSine

    def __call__(self, x, *, train):
        return x + self.sine(x) * (2.0 if train else 1.0)


class EquinoxModel(equinox.Module):
    blocks: list

    def __call__(self, *, inputs, train):
        for block in self.blocks:
            inputs = block(inputs, train=train)
        return inputs


class HaikuSine(haiku.Module):
    def __call__(self, x):
        return jnp.sin(x)


class HaikuBlock(haiku.Module):
    def __call__(self, x, *, train):
        return x + HaikuSine(name="sine")(x) * (2.0 if train else 1.0)


def haiku_net(*, inputs, train):
    for i in range(2):
        inputs = HaikuBlock(name=f"block{i}")(inputs, train=train)
    return inputs


# name: (a function that makes (model, arguments before the keywords), the pattern of its blocks, the name of module `sine` of block i).
MODELS = {
    "nnx": (lambda: (NnxModel(), ()), "blocks.*", "blocks.{}.sine"),
    "linen": (lambda: (LinenModel(), ({},)), "block*", "block{}.sine"),
    "equinox": (lambda: (EquinoxModel([EquinoxBlock(EquinoxSine())] * 2), ()), "blocks.*", "blocks.{}.sine"),
    "haiku": (lambda: (haiku.without_apply_rng(haiku.transform(haiku_net)), ({},)), "block*", "block{}.sine"),
}


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    """(model, arguments before, {"inputs", "train"}, the name of the second sine, the pattern of blocks)"""
    make, blocks, name = MODELS[request.param]
    model, before = make()
    return model, before, {"inputs": X, "train": True}, name.format(1), blocks


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def second(change):
    return lambda number, value: change(value) if number else value


def total(out):
    return out.sum()


def each(out):
    return out.sum(1)


SECOND = jnp.sin(X + 2 * jnp.sin(X))


def test_capture_and_compile(case):
    model, before, given, name, _ = case
    for verb in (hooks.capture, hooks.compile):
        out, found = verb(model, name, gradients=True)(*before, **given)
        close(out, by_hand(X))
        close(found[name], SECOND)
        close(found.gradients[name], jnp.full((2, 3), 2.0))


def test_run_with_cache(case):
    model, before, given, name, _ = case
    for _ in range(2):
        out, cache = hooks.run_with_cache(model, *before, where=name, **given)
        close(out, by_hand(X))
        close(cache[name], SECOND)


def test_ablate_and_steer(case):
    model, before, given, name, _ = case
    close(hooks.ablate(model, name)(*before, **given), by_hand(X, second(jnp.zeros_like)))
    close(hooks.steer(model, {name: jnp.ones(3)}, scale=3)(*before, **given), by_hand(X, second(lambda v: v + 3)))


def test_splice_and_transplant(case):
    model, before, given, name, _ = case
    coder = (lambda v: v * 3, lambda f: f + 1)
    close(hooks.splice(model, {name: coder}, error=False)(*before, **given), by_hand(X, second(lambda v: v * 3 + 1)))
    source = hooks.Inputs(*before, inputs=OTHER, train=False)
    moved = hooks.transplant(model, source, {name: name})(*before, **given)
    close(moved, by_hand(X, second(lambda v: jnp.sin(OTHER + jnp.sin(OTHER)))))


def test_patch_sweep_and_attribute(case):
    model, before, given, name, _ = case
    other = hooks.Inputs(*before, **{**given, "inputs": OTHER})
    sweep = hooks.patch_sweep(model, hooks.Inputs(*before, **given), other, name, metric=total, position_axis=0)
    for row in range(2):
        close(sweep.values[0, row], by_hand(OTHER, second(lambda v, row=row: v.at[row].set(SECOND[row]))).sum())
    close(hooks.attribute(model, *before, at=name, **given)[name], 2 * SECOND)
    change = hooks.attribute(model, *before, at=name, method="attribution patching", corrupt=other, **given)
    close(change[name], 2 * (SECOND - jnp.sin(OTHER + 2 * jnp.sin(OTHER))))


def test_collect(case, tmp_path):
    model, before, given, name, _ = case
    batches = [hooks.Inputs(*before, **given), hooks.Inputs(*before, inputs=OTHER, train=False)]
    shards = hooks.collect(model, name, batches, to=tmp_path)
    close(shards[np.arange(4)][name], jnp.concatenate([SECOND, jnp.sin(OTHER + jnp.sin(OTHER))]))


def test_parts_of_the_stream(case):
    model, before, given, name, blocks = case
    stream = hooks.stream(model, blocks)
    found = stream.decompose(*before, **given)
    close(found[name], 2 * SECOND)
    close(found.values.sum(0), by_hand(X))
    close(stream.direct(*before, at=name, **given)[name], 2 * SECOND)
    close(stream.lens(*before, **given)[0], X)


def test_edges_and_circuits(case):
    model, before, given, name, blocks = case
    stream = hooks.stream(model, blocks)
    clean, corrupt = (hooks.Inputs(*before, **{**given, "inputs": value}) for value in (X, OTHER))
    edges = stream.edges(clean, corrupt, metric=total)
    close(edges["input", name], ((OTHER - X) * 2 * jnp.cos(X + 2 * jnp.sin(X))).sum())
    nothing = hooks.Circuit([], edges.senders, edges.readers)
    close(nothing.complement().run(stream, clean, corrupt), by_hand(X))
    close(nothing.run(stream, clean, stream.mean([corrupt])), jnp.broadcast_to(by_hand(OTHER).mean(0), (2, 3)))


def test_attributions_to_the_input(case):
    model, before, given, name, _ = case
    wrt = {"metric": each, "wrt": "inputs", **given}
    slope = jax.grad(lambda x: by_hand(x).sum())
    found = hooks.integrated_gradients(model, *before, **wrt)
    close(found.values.sum(1), by_hand(X).sum(1))
    close(hooks.noise_tunnel(model, *before, key=jax.random.key(0), noise=0.0, samples=2, **wrt), slope(X))
    shap = hooks.gradient_shap(model, *before, key=jax.random.key(0), baselines=X[:1] * 0, samples=2, **wrt)
    assert shap.values.shape == X.shape
    fall = hooks.occlusion(model, *before, window=(1,), **wrt)
    close(fall[:, 0], (by_hand(X) - by_hand(X.at[:, 0].set(0))).sum(1))
    close(hooks.conductance(model, *before, at=name, **wrt)[name], 2 * SECOND)


def test_inputs_stand_for_a_keyword_that_the_verb_has_itself():
    def model(x, *, key):
        return hooks.site("sum", x + key)

    found = hooks.noise_tunnel(model, hooks.Inputs(X, key=1.0), metric=each, key=jax.random.key(0), noise=0.0, samples=1)
    close(found, jnp.ones((2, 3)))
    _, cache = hooks.run_with_cache(lambda where: hooks.site("twice", where * 2), hooks.Inputs(where=X))
    close(cache["twice"], 2 * X)
    with pytest.raises(ValueError, match="wrt='inputs' should be the number, or the keyword, of an argument"):
        hooks.integrated_gradients(model, X, key=1.0, metric=each, wrt="inputs")


class Attention(nnx.Module):
    def __call__(self, x, *, cache):
        cache[...] += 1
        return jax.nn.softmax(x @ x.T) @ x * cache[...]


class AttentionBlock(nnx.Module):
    def __init__(self):
        self.attention = Attention()

    def __call__(self, x, *, cache):
        return x + self.attention(x, cache=cache)


class Attending(nnx.Module):
    def __init__(self):
        self.blocks = nnx.List([AttentionBlock(), AttentionBlock()])

    def __call__(self, *, inputs, caches):
        for block, cache in zip(self.blocks, caches):
            inputs = block(inputs, cache=cache)
        return inputs


def attending(x):
    """What comes into both blocks, and what leaves the last one, with caches that are 0 before."""
    values = [x]
    for _ in range(2):
        values.append(values[-1] + jax.nn.softmax(values[-1] @ values[-1].T) @ values[-1])
    return jnp.stack(values)


@pytest.mark.long
def test_a_stream_of_a_model_with_caches_leaves_them_alone():
    stream, caches = hooks.stream(Attending()), [nnx.Variable(jnp.zeros(())) for _ in range(2)]
    clean, corrupt = (hooks.Inputs(inputs=value, caches=caches) for value in (X, OTHER))
    values = attending(X)
    patterns = stream.patterns(clean)
    for i in range(2):
        close(patterns[f"blocks.{i}.attention"][0], jax.nn.softmax(values[i] @ values[i].T))
    edges = stream.edges(clean, corrupt, metric=total, method="patching")
    close(edges["blocks.0.attention", "blocks.1"], (attending(OTHER)[1] - OTHER - values[1] + X).sum())
    every = hooks.Circuit([], edges.senders, edges.readers).complement()
    close(every.run(stream, clean, corrupt), values[-1])

    def loss(bias):
        logits = jax.nn.log_softmax(values.at[:-1].add(bias[:, None]))
        return (jnp.exp(logits[-1]) * (logits[-1] - logits[:-1])).sum(-1).mean()

    close(stream.tune([clean], optax.sgd(1.0))[1], -jax.grad(loss)(jnp.zeros((2, 3))))
    assert [cache[...] for cache in caches] == [0.0, 0.0]
