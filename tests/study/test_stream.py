"""Residual streams of models of all frameworks, against the same by hand."""

import functools

import equinox
import haiku
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen, nnx

from msjax import hooks
from tests.study.transformers import HEAD, LAYER, MODELS, TOKENS, by_hand, frozen_norm, norm

HEADS = []
ADDED, STREAM, LOGITS = by_hand(edit=lambda name, value: (HEADS.append(value) if name.endswith("z") else None) or value)
AT = jnp.array([[3.0, 4.0], [5.0, 6.0]])
every = pytest.mark.parametrize("framework", MODELS)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@functools.cache
def made(framework):
    make, blocks, names = MODELS[framework]
    model, before = make()
    return hooks.stream(model, blocks), before, lambda i, name: names.format(i=i, name=name)


def named(parts, name):
    """The parts by hand, with the framework's names."""
    return {key if key[0] not in "01" else name(*key.split(".")): value for key, value in parts.items()}


@every
def test_what_modules_and_heads_add(framework):
    stream, before, name = made(framework)
    found = stream.decompose(*before, TOKENS, heads=True)
    by_name = named({key: value for key, value in ADDED.items() if "attn" not in key}, name)
    for i, z in enumerate(HEADS):
        by_name |= {f"{name(i, 'attn')} head {h}": z[..., h, :] @ LAYER[i]["out"][h] for h in range(2)}
    assert by_name.keys() <= set(found.names) and len(found.names) == len(by_name) + 2  # and the biases of the output kernels
    for part, value in by_name.items():
        close(found[part], value)
    close(found.total, STREAM)
    np.testing.assert_allclose(found.values.sum(0), found.total, atol=5e-6)


@pytest.mark.parametrize("framework", ["nnx", "linen"])
def test_logits_with_the_norm_frozen(framework):
    stream, before, name = made(framework)
    found = stream.decompose(*before, TOKENS, at="")
    by_name = named(frozen_norm(ADDED, STREAM), name)
    assert list(found.names) == list(by_name)
    for part, value in by_name.items():
        close(found[part], value)
    close(found.total, LOGITS)
    close(found.values.sum(0), LOGITS)


@pytest.mark.parametrize("framework", ["linen", "equinox"])
def test_attention_patterns(framework):
    stream, before, name = made(framework)
    x = ADDED["embed"] + ADDED["/parameter"]
    q, k, _ = np.einsum("btd,ndhe->nbhte", norm(x), LAYER[0]["qkv"])
    scores = np.where(np.tril(np.ones((3, 3))) > 0, np.einsum("bhqe,bhke->bhqk", q, k) / 2, -1e9)
    close(stream.patterns(*before, TOKENS)[name(0, "attn")], jax.nn.softmax(scores))


def test_a_place_between_and_the_norm():
    stream, _, _ = made("nnx")
    first = stream.decompose(TOKENS, at="blocks.0")
    assert first.names == ("embed", "/parameter", "blocks.0.attn", "blocks.0.mlp")
    close(first.total, sum(ADDED[key] for key in ("embed", "/parameter", "0.attn", "0.mlp")))
    normed = stream.decompose(TOKENS, at="norm")
    close(normed.total, norm(STREAM))
    close(normed["blocks.1.mlp"] @ HEAD, frozen_norm(ADDED, STREAM)["1.mlp"])


def difference(logits):
    return (logits[:, -1, 3] - logits[:, -1, 4]).sum()


def test_direct_attribution_of_modules_heads_neurons_and_positions():
    stream, _, _ = made("nnx")
    found = stream.direct(TOKENS, at=["embed", "blocks.*.attn.out:in", "blocks.*.mlp", "blocks.*.mlp.down:in"], metric=difference)
    parts = frozen_norm(ADDED, STREAM)
    for part, place in (("embed", "embed"), ("0.mlp", "blocks.0.mlp"), ("1.mlp", "blocks.1.mlp")):
        close(found[place].sum(), difference(parts[part]))
        assert not np.any(found[place][:, :-1])  # past no other block, only the last position counts
    close(found["blocks.1.mlp.down:in"].sum(), difference(parts["1.mlp"]))
    heads = frozen_norm({h: HEADS[0][..., h, :] @ LAYER[0]["out"][h] for h in range(2)}, STREAM)
    close(found["blocks.0.attn.out:in"].sum((0, 1, 3)), [difference(heads[h]) for h in range(2)])
    neurons = stream.decompose(TOKENS, at="", split={"blocks.*.mlp.down:in": -1, "blocks.*.attn.out:in": -2})
    close(difference(neurons["blocks.1.mlp.down:in 4"]), found["blocks.1.mlp.down:in"][..., 4].sum())
    close(difference(neurons["blocks.0.attn.out:in 1"]), difference(heads[1]))
    close(neurons.values.sum(0), LOGITS)


@pytest.mark.long
def test_logit_lens_and_tuned_lens():
    stream, before, _ = made("linen")  # whose layers are in a scan
    found = stream.lens(*before, TOKENS)
    between = np.cumsum([ADDED["embed"] + ADDED["/parameter"], *[ADDED[f"{i}.attn"] + ADDED[f"{i}.mlp"] for i in range(2)]], 0)
    close(found, norm(between) @ HEAD)
    translators = stream.tune([(*before, TOKENS)] * 30, optax.adam(0.02))
    assert translators[0].shape == (2, 4, 4) and translators[1].shape == (2, 4)
    moved = between[0] + between[0] @ translators[0][0] + translators[1][0]
    tuned = stream.lens(*before, TOKENS, translators=translators)
    close(tuned[0], norm(moved) @ HEAD)

    def divergence(lens):
        logs = jax.nn.log_softmax(lens)
        return (jnp.exp(logs[-1]) * (logs[-1] - logs[:-1])).sum(-1).mean()

    assert divergence(tuned) < 0.5 * divergence(found)


def test_functions_name_where_the_stream_begins():
    def fn(x):
        x = hooks.site("start", x)
        for i in range(2):
            x = hooks.site(f"block{i}", hooks.site(f"mlp{i}", jnp.tanh(x)) + x * 0.5)
        return jnp.tanh(x)

    x = jnp.array([[1.0, -2.0]])
    stream = hooks.stream(fn, "block*", start="start")
    found = stream.decompose(x)
    middle = 0.5 * x + jnp.tanh(x)
    assert found.names == ("start", "mlp0", "mlp1")
    close(found.values, jnp.stack([0.25 * x, 0.5 * jnp.tanh(x), jnp.tanh(middle)]))
    with pytest.raises(ValueError, match="the model's result is no sum of what blocks add: 'tanh'"):
        stream.decompose(x, at="")


def test_errors_of_stream():
    stream, _, _ = made("nnx")
    with pytest.raises(ValueError, match=r"no blocks are called with an array first.*blocks='layers.\*'.*'embed'"):
        hooks.stream(stream.model, "layers.*").decompose(TOKENS)
    with pytest.raises(ValueError, match=r"no place with floating-point values was selected by 'nrom'.*nearest.*'norm'"):
        stream.decompose(TOKENS, at="nrom")
    with pytest.raises(KeyError, match=r"'blocks.0.atn'; found are 'embed', .*nearest to 'blocks.0.atn': 'blocks.0.attn'"):
        stream.decompose(TOKENS)["blocks.0.atn"]
    with pytest.raises(ValueError, match="'embed' is no sum of what blocks add"):
        stream.decompose(TOKENS, at="embed")
    with pytest.raises(TypeError, match=r"'blocks' should be a str, but got"):
        hooks.stream(stream.model, 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"should be an axis of 'blocks.0.mlp.down:in', of shape"):
        stream.decompose(TOKENS, split={"blocks.*.mlp.down:in": (-1, 4)})


_DRAW = np.random.default_rng(1)
QUERIES, KEYS, VALUES, OUT = (0.5 * _DRAW.normal(size=s).astype("float32") for s in [(4, 4, 2), (4, 2, 2), (4, 2, 2), (4, 2, 4)])


def grouped(q, k, v):
    weights = jax.nn.softmax(jnp.einsum("btkge,bske->bkgts", q.reshape(2, 3, 2, 2, 2), k) / 2**0.5)
    return jnp.einsum("bkgts,bske->btkge", weights, v).reshape(q.shape)


def one_axis(q, k, v):
    """Batch and heads in one axis."""
    q, k, v = (jnp.repeat(each, 4 // each.shape[2], 2).swapaxes(1, 2).reshape(8, 3, 2) for each in (q, k, v))
    return (jax.nn.softmax(q @ k.swapaxes(1, 2) / 2**0.5) @ v).reshape(2, 4, 3, 2).swapaxes(1, 2)


@pytest.mark.parametrize("attend", [jax.nn.dot_product_attention, grouped, one_axis])
def test_heads_that_share_keys_and_values(attend):
    def fn(x):
        x = hooks.site("start", x)
        q, k, v = (jnp.einsum("btd,dhe->bthe", x, kernel) for kernel in (QUERIES, KEYS, VALUES))
        return hooks.site("block", x + hooks.site("attn", jnp.einsum("bthe,hed->btd", attend(q, k, v), OUT)))

    x = ADDED["embed"]
    stream = hooks.stream(fn, "block", start="start")
    if attend is one_axis:
        with pytest.raises(
            ValueError, match=r"have no axis of their own: its weights are of shape \(8, 3, 3\), the residual stream of"
        ):
            stream.decompose(x, heads=True)
        return
    q, k, v = (np.einsum("btd,dhe->bthe", x, kernel).repeat(4 // kernel.shape[1], 2) for kernel in (QUERIES, KEYS, VALUES))
    weights = jax.nn.softmax(np.einsum("bthe,bshe->bhts", q, k) / 2**0.5)
    [pattern] = stream.patterns(x).values()
    close(pattern, weights)
    found = stream.decompose(x, heads=True)
    assert len(found.names) == 5
    close(found.values[1:], np.einsum("bhts,bshe,hed->hbtd", weights, v, OUT))


class KeywordSine(equinox.Module):
    def __call__(self, *, inputs):
        return jnp.sin(inputs)


class KeywordBlock(equinox.Module):
    sine: KeywordSine = KeywordSine()

    def __call__(self, x):
        return x + self.sine(inputs=x)


class KeywordNet(equinox.Module):
    layers: tuple = (KeywordBlock(), KeywordBlock())

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_modules_in_a_block_that_are_called_with_keywords_alone():
    x = jnp.array([[0.1, 0.5]])
    found = hooks.stream(KeywordNet(), "layers.*").decompose(x)
    assert found.names == ("input", "layers.0.sine", "layers.1.sine")
    close(found.values, jnp.stack([x, jnp.sin(x), jnp.sin(x + jnp.sin(x))]))
    # A pattern selects those that there are; of a module that is named, a missing part is an error.
    assert list(hooks.run_with_cache(KeywordNet(), x, where="layers.*:in[0]")[1]) == ["layers.0:in[0]", "layers.1:in[0]"]
    with pytest.raises(ValueError, match=r"no place was selected by 'layers\.\*:in\[7\]'"):
        hooks.run_with_cache(KeywordNet(), x, where="layers.*:in[7]")
    with pytest.raises(ValueError, match=r"there is no place 'layers\.0\.sine:in\[0\]'"):
        hooks.run_with_cache(KeywordNet(), x, where="layers.0.sine:in[0]")


class AddsSine(nnx.Module):
    def __call__(self, x):
        return x + jnp.sin(x)


class LooksUp(nnx.Module):
    def __init__(self):
        self.table, self.blocks = nnx.Param(jnp.arange(1.0, 7.0).reshape(3, 2)), nnx.List([AddsSine()])
        self.norm = nnx.RMSNorm(2, rngs=nnx.Rngs(0))

    def __call__(self, tokens):
        x = self.table[...].at[tokens].get()
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


def test_embeddings_that_no_module_looks_up():
    found = hooks.stream(LooksUp()).decompose(jnp.array([1, 2]), at="")
    assert found.names == ("/embedding", "blocks.0/sin")
    x = np.array([[3.0, 4.0], [5.0, 6.0]])
    close(found.values, np.stack([x, np.sin(x)]) * found.total / (x + np.sin(x)))


class Positions(nnx.Module):
    def __init__(self):
        self.table = nnx.Param(jnp.ones((2, 2), "float32"))

    def __call__(self):
        return self.table[...]


class DropsEmbeddings(LooksUp):
    """Tokens and positions added up, and dropout that is off on their sum, as in GPT-2."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions, self.drop = nnx.Embed(3, 2, rngs=nnx.Rngs(0)), Positions(), nnx.Dropout(0.0)

    def __call__(self, tokens):
        x = self.drop(self.tokens(tokens) + self.positions())
        return self.drop(self.blocks[0](x))


def test_dropout_that_is_off_has_added_nothing():
    model, tokens = DropsEmbeddings(), jnp.array([1, 2])
    found = hooks.stream(model).decompose(tokens)
    assert found.names == ("tokens", "positions", "blocks.0/sin")
    close(found["tokens"], model.tokens(tokens))
    close(found["positions"], model.positions())


class AddsWeight(nnx.Module):
    def __init__(self):
        self.at, self.blocks = nnx.Param(jnp.array([[3.0, 4.0], [5.0, 6.0]])), nnx.List([AddsSine()])

    def __call__(self, x):
        return self.blocks[0](2 * x + self.at[...])


class EquinoxSine(equinox.Module):
    def __call__(self, x):
        return x + jnp.sin(x)


class AddsWeightInEquinox(equinox.Module):
    at: jax.Array
    blocks: tuple = (EquinoxSine(),)

    def __call__(self, x):
        return self.blocks[0](2 * x + self.at)


class LinenSine(linen.Module):
    def __call__(self, x):
        return x + jnp.sin(x)


class AddsWeightInLinen(linen.Module):
    @linen.compact
    def __call__(self, x):
        return LinenSine(name="block_0")(2 * x + self.param("at", lambda _: jnp.array([[3.0, 4.0], [5.0, 6.0]])))


@pytest.mark.parametrize("model", [AddsWeight, AddsWeightInEquinox, AddsWeightInLinen])
def test_a_weight_that_is_added_is_no_input(model):
    x, at = jnp.ones((2, 2)), jnp.array([[3.0, 4.0], [5.0, 6.0]])
    made = model(at) if model is AddsWeightInEquinox else model()
    given = (made.init(jax.random.key(0), x),) if model is AddsWeightInLinen else ()
    found = hooks.stream(made, "block_*" if given else "blocks.*").decompose(*given, x)
    assert found.names[:2] == ("input", "/parameter")
    close(found["input"], 2 * x)
    close(found["/parameter"], at)


class AddsDict(AddsWeight):
    def __call__(self, given):
        return self.blocks[0](given["x"] + given["more"] + self.at[...])


class AddsDictInEquinox(AddsWeightInEquinox):
    def __call__(self, given):
        return self.blocks[0](given["x"] + given["more"] + self.at)


class AddsDictInLinen(linen.Module):
    @linen.compact
    def __call__(self, given):
        return LinenSine(name="block_0")(given["x"] + given["more"] + self.param("at", lambda _: AT))


class HaikuSine(haiku.Module):
    def __call__(self, x):
        return x + jnp.sin(x)


@haiku.without_apply_rng
@haiku.transform
def adds_dict_in_haiku(given):
    at = haiku.get_parameter("at", (2, 2), init=lambda *_: AT)
    return HaikuSine(name="block_0")(given["x"] + given["more"] + at)


ADDS_DICT = {
    "nnx": AddsDict, "linen": AddsDictInLinen, "equinox": lambda: AddsDictInEquinox(AT), "haiku": lambda: adds_dict_in_haiku,
    "hooked haiku": lambda: hooks.hooked(adds_dict_in_haiku),
}  # fmt: skip


@pytest.mark.parametrize("framework", ADDS_DICT)
def test_a_dict_that_comes_first_is_an_input_where_it_holds_no_weights(framework):
    given, model = {"x": jnp.ones((2, 2)), "more": jnp.full((2, 2), 2.0)}, ADDS_DICT[framework]()
    before = (model.init(jax.random.key(0), given),) if hasattr(model, "init") else ()
    found = hooks.stream(model, "block_*" if before else "blocks.*").decompose(*before, given)
    assert found.names[:2] == ("input", "/parameter")
    close(found["input"], given["x"] + given["more"])
    close(found["/parameter"], AT)


def test_all_that_a_plain_function_is_called_with_is_an_input():
    def model(given, at):
        x = hooks.site("start", given["x"])
        return hooks.site("blocks.0", x + given["more"] + at + jnp.array([5.0, 7.0]))

    given = {"x": jnp.ones((2, 2)), "more": jnp.full((2, 2), 2.0)}
    found = hooks.stream(model, "blocks.*", start="start").decompose(given, AT)
    assert found.names == ("start", "input", "/parameter")
    close(found["input"], 2 + AT)
