"""hooks.capture of flax nnx models, unedited: outputs by path, operations, state, transformations of nnx inside."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import msjax as ms
from msjax import nn
from msjax.hooks import capture, integrated_gradients, ops, run_with_cache


class Block(nnx.Module):
    def __init__(self, rngs):
        self.attention = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)
        self.norm = nnx.LayerNorm(8, rngs=rngs)
        self.mlp = nnx.Sequential(nnx.Linear(8, 16, rngs=rngs), nnx.relu, nnx.Linear(16, 8, rngs=rngs))

    def __call__(self, x):
        x = x + self.attention(self.norm(x))
        return x + self.mlp(x)


class Listed(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(10, 8, rngs=rngs)
        self.blocks = nnx.List([Block(rngs) for _ in range(2)])

    def __call__(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.embed.attend(x)

    def hidden(self, tokens):
        return self.blocks[0](self.embed(tokens))


class Scanned(nnx.Module):
    def __init__(self, rngs, remat):
        @nnx.split_rngs(splits=3)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def make(rngs):
            return Block(rngs)

        self.layers = make(rngs)
        self.remat = remat

    def __call__(self, x):
        def body(x, block):
            return block(x)

        body = nnx.remat(body) if self.remat else body
        return nnx.scan(body, in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)(x, self.layers)


TOKENS = jnp.array([[1, 2, 3, 4]])


@functools.partial(nnx.jit, static_argnames="edit")
def layers_by_hand(model, x, edit=lambda x, i: x):
    graphdef, state = nnx.split(model.layers)
    mlps = []
    for i in range(3):
        block = nnx.merge(graphdef, jax.tree.map(lambda a, i=i: a[i], state))
        x = x + block.attention(block.norm(x))
        mlps.append(edit(block.mlp(x), i))
        x = x + mlps[-1]
    return x, mlps


@pytest.mark.long
def test_outputs_by_path_and_the_model_is_left_alone():
    model = Listed(nnx.Rngs(0))
    before = str(nnx.split(model)[0])
    out, found = capture(model, "blocks.*.mlp", gradients=True)(TOKENS)
    np.testing.assert_allclose(out, model(TOKENS), rtol=1e-5)
    assert list(found.activations) == ["blocks.0.mlp", "blocks.1.mlp"] == list(found.gradients)
    assert str(nnx.split(model)[0]) == before and type(model.blocks[0]) is Block
    _, found = capture(model)(TOKENS)
    assert next(iter(found.activations)) == "embed" and list(found.activations)[-1] == ""
    x = model.embed(TOKENS)
    np.testing.assert_allclose(found.activations["blocks.0"], model.blocks[0](x), rtol=1e-5)
    grad = jax.grad(lambda x: model.embed.attend(model.blocks[1](x)).sum())(model.blocks[0](x))
    _, found = capture(model, "blocks.0", gradients=True)(TOKENS)
    np.testing.assert_allclose(found.gradients["blocks.0"], grad, rtol=1e-4)
    hidden, found = capture(model.hidden, ["", "blocks.0.norm"])(TOKENS)
    np.testing.assert_allclose(hidden, model.blocks[0](x), rtol=1e-5)
    np.testing.assert_allclose(found.activations[""], hidden, rtol=1e-6)
    with pytest.raises(ValueError, match=r"no place was selected by 'bloks.\*'; there are '', .*'blocks.0.mlp', .*'embed'"):
        capture(model, "bloks.*")(TOKENS)


@pytest.mark.long
@pytest.mark.parametrize("remat", [False, True])
def test_a_scan_over_layers(remat):
    model = Scanned(nnx.Rngs(0), remat)
    x = jax.random.normal(jax.random.key(0), (1, 4, 8), "float32")
    want, mlps = layers_by_hand(model, x)
    out, found = capture(model, "layers.mlp", gradients=True)(x)
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-5)
    assert found.activations["layers.mlp"].shape == (3, 1, 4, 8) == found.gradients["layers.mlp"].shape
    np.testing.assert_allclose(found.activations["layers.mlp"], mlps, rtol=1e-4, atol=1e-5)
    rms = lambda a: jnp.sqrt((a**2).mean())  # noqa: E731
    _, found = nnx.jit(lambda model, x: capture(model, "layers.*", gradients=True, statistic=rms)(x))(model, x)
    np.testing.assert_allclose(found.activations["layers.mlp"], [rms(m) for m in mlps], rtol=1e-4)
    skip = {"layers.mlp": lambda v, i: jnp.where(i[0] == 1, 0, v)}
    want, _ = layers_by_hand(model, x, lambda v, i: v * (i != 1))
    out, _ = capture(model, [], edit=skip)(x)
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=1e-5)
    grads = nnx.grad(lambda model: capture(model, [], edit=skip)(x)[0].sum())(model)
    expected = nnx.grad(lambda model: layers_by_hand(model, x, lambda v, i: v * (i != 1))[0].sum())(model)
    for a, b in zip(jax.tree.leaves(grads), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


@pytest.mark.long
def test_the_attention_pattern_is_captured_and_edited():
    model = Listed(nnx.Rngs(0))
    listed = [op for op in ops(model)(TOKENS) if op.name.startswith("div@attention.py")]
    assert [op.name.partition("#")[2] for op in listed] == ["", "1"] and listed[0].shape[-2:] == (4, 4)
    _, found = jax.jit(lambda tokens: capture(model, "div@attention.py:*")(tokens))(TOKENS)
    first, second = found.activations.values()
    np.testing.assert_allclose(first.sum(-1), np.ones(first.shape[:-1]), rtol=1e-5)
    out, found = capture(model, "div@attention.py:*", edit={listed[1].name: lambda v, i: jnp.full_like(v, 0.25)})(TOKENS)
    same, edited = found.activations.values()
    np.testing.assert_allclose(same, first, rtol=1e-5)
    np.testing.assert_array_equal(edited, np.full_like(edited, 0.25))
    assert float(abs(out - model(TOKENS)).max()) > 1e-4 and float(abs(second - 0.25).max()) > 1e-4


class Stateful(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.norm(self.linear(x)))


@pytest.mark.long
def test_state_changes_as_by_a_plain_call():
    plain, captured = Stateful(nnx.Rngs(0)), Stateful(nnx.Rngs(0))
    x = jnp.ones((4, 3), "float32")
    for _ in range(2):
        want = plain(x)
        out, _ = capture(captured, "norm")(x)
        np.testing.assert_allclose(out, want, rtol=1e-5)
    for a, b in zip(jax.tree.leaves(nnx.state(plain)), jax.tree.leaves(nnx.state(captured)), strict=True):
        if not jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            np.testing.assert_allclose(a, b, rtol=1e-5)

    @nnx.jit
    def run(model, x):
        return capture(model, "norm", gradients=True)(x)

    want, (out, found) = plain(x), run(captured, x)
    np.testing.assert_allclose(out, want, rtol=1e-5)
    assert found.gradients["norm"].shape == (4, 3)
    np.testing.assert_allclose(captured.norm.mean[...], plain.norm.mean[...], rtol=1e-5)


def test_modules_that_share_weights_have_one_path():
    class Twice(nnx.Module):
        def __init__(self, rngs):
            self.a = nnx.Linear(3, 3, rngs=rngs)
            self.b = self.a

        def __call__(self, x):
            return self.b(self.a(x))

    _, found = capture(Twice(nnx.Rngs(0)), "a")(jnp.ones((1, 3)))
    assert list(found.activations) == ["a", "a#1"]


def test_operations_of_a_function():
    @jax.jit
    def layer(x):
        return jax.nn.softmax(jnp.where(x > 0, x, 0))

    def f(x):
        layer(x[:1])
        return jax.lax.scan(lambda c, _: (layer(c), None), x, None, length=2)[0].sum()

    here = layer.__wrapped__.__code__.co_firstlineno + 2
    listed = ops(f)(jnp.ones(3))
    by_name = {op.name: op for op in listed}
    assert f"exp@test_capture_nnx.py:{here}" in by_name
    inner = by_name[f"exp@test_capture_nnx.py:{here}#1"]
    assert inner.path == "scan/jit(layer)" and inner.shape == (3,) and str(inner.dtype).startswith("float")
    # jax's own jits (where) are told to be at the line that calls them.
    assert f"select_n@test_capture_nnx.py:{here}" in by_name
    _, found = jax.jit(ms.hooks.capture(f, inner.name, gradients=True, edit={inner.name: lambda v, i: v + i[0]}))(jnp.ones(3))
    assert found.activations[inner.name].shape == (2, 3) == found.gradients[inner.name].shape
    np.testing.assert_allclose(found.activations[inner.name][0], np.ones(3), rtol=1e-6)


@pytest.mark.long
def test_gradients_of_runs_of_a_scan():
    """nnx refuses a module within a scan that was made in another trace."""
    model = Scanned(nnx.Rngs(0), remat=False)
    x = jax.random.normal(jax.random.key(0), (1, 4, 8))
    found = integrated_gradients(model, x, metric=lambda out: out.sum((1, 2)), steps=1)
    slope = nnx.grad(lambda x, model: layers_by_hand(model, x)[0].sum())(x / 2, model)
    np.testing.assert_allclose(found.values, slope * x, rtol=1e-4, atol=1e-5)


# ---- calls that change what the model consists of: attributes that come, grow and go


class Kept(nnx.Variable):
    pass


class Model(nnx.Module):
    def __init__(self, change):
        self.first, self.second = (nnx.Linear(3, 3, rngs=nnx.Rngs(i)) for i in range(2))
        self.old, self.items, self.note = Kept(jnp.zeros(3)), nnx.List([]), "new"
        self.change = change

    def __call__(self, x):
        x = self.first(x)
        self.change(self, x)
        return self.second(x)


def grown(model, x):
    values = model.old.get_value()
    model.old.set_value((*values, x.sum()) if isinstance(values, tuple) else (x.sum(),))


def shrunk(model, x):
    model.old.set_value(())


def appended(model, x):
    model.items.append(Kept(x.mean(0)))


def appended_module(model, x):
    model.items.append(nnx.Linear(3, 2, rngs=nnx.Rngs(len(model.items))))
    model.items[-1](x)


def made_lazily(model, x):
    if not hasattr(model, "third"):
        model.third = nnx.Linear(3, 2, rngs=nnx.Rngs(5))
    model.third(x)


def array_kept(model, x):
    model.last = nnx.data(x)


def arrays_kept(model, x):
    model.last = nnx.data({"mean": x.mean(0), "max": Kept(x.max(0))})


def taken_away(model, x):
    if hasattr(model, "old"):
        del model.old, model.note


CHANGES = [grown, shrunk, appended, appended_module, made_lazily, array_kept, arrays_kept, taken_away]
WAYS = {
    "capture": lambda model, x: capture(model, "second")(x)[0],
    "run_with_cache": lambda model, x: run_with_cache(model, x)[0],
    "an edit": lambda model, x: capture(model, [], edit={"first": lambda value, index: value})(x)[0],
    "under nnx.jit": lambda model, x: nnx.jit(lambda model, x: capture(model, "second")(x)[0])(model, x),
}


def plainly(model, x):
    return nnx.jit(lambda model, x: model(x))(model, x)


def parts(model):
    """(what the model consists of, its arrays)."""
    state = nnx.state(model)
    plain = {
        path: {k: v for k, v in vars(each).items() if isinstance(v, (str, int))}
        for path, each in nnx.iter_graph(model)
        if isinstance(each, nnx.Module)
    }
    return (sorted(map(str, dict(nnx.to_flat_state(state)))), plain), jax.tree.leaves(state)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_the_model_has_what_a_plain_call_gives_it(change, way):
    x = jnp.asarray(np.random.default_rng(0).normal(size=(5, 3)), jnp.float32)
    model, like = Model(change), Model(change)
    for _ in range(3):
        np.testing.assert_allclose(WAYS[way](model, x), plainly(like, x), atol=1e-6)
        (structure, arrays), (expected, values) = parts(model), parts(like)
        assert structure == expected
        assert [a.dtype for a in arrays] == [a.dtype for a in values]
        for a, b in zip(arrays, values, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_new_attribute_that_shares_a_variable_is_refused():
    def tied(model, x):
        model.same = model.old

    model = Model(tied)
    with pytest.raises(
        ValueError, match="an attribute 'same' that shares a variable with another of the model: call the model once"
    ):
        capture(model, "second")(jnp.ones((5, 3)))
    model(jnp.ones((5, 3)))
    capture(model, "second")(jnp.ones((5, 3)))
    assert model.same is model.old


class Keeps(nn.Cell):
    """Keeps what it has computed, a Tensor and a list with one, as MindSpore's programs do."""

    def construct(self, x):
        self.last = x * 2
        self.all = [self.last, "text"]
        return self.last


class Around(nnx.Module):
    def __init__(self):
        self.cell, self.out = Keeps(), nnx.Linear(3, 3, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return self.out(self.cell(ms.Tensor(x))._value)


@pytest.mark.parametrize("run", [lambda model, x: capture(model, "out")(x), run_with_cache])
def test_tensors_that_a_cell_in_the_model_keeps(run):
    model = Around()
    for factor in (1.0, 3.0):
        run(model, jnp.full((1, 3), factor))
        assert isinstance(model.cell.last, ms.Tensor) and model.cell.all[1] == "text"
        assert model.cell.last.asnumpy().tolist() == model.cell.all[0].asnumpy().tolist() == [[2 * factor] * 3]
