"""Activations in files, splices, transplants and probes, against the same by hand."""

import pickle
import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
import pytest

from msjax import hooks
from tests.study.transformers import LAYER, MODELS, TOKENS, NnxModel, by_hand

OTHER = jnp.array([[4, 3, 5], [6, 0, 2]])
NET = NnxModel()


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=5e-4, atol=5e-5)


def test_collect_goes_on_where_it_stopped(tmp_path):
    places = ["blocks.0.mlp", "blocks.1.mlp"]
    calls = []

    def batches(n):
        for i in range(n):
            calls.append(i)
            yield (TOKENS if i % 2 == 0 else OTHER)

    first = hooks.collect(NET, places, batches(3), to=tmp_path, per_shard=2)
    assert len(first) == 18 and first.names == places
    shards = hooks.collect(NET, places, batches(4), to=tmp_path, per_shard=2)
    assert len(shards) == 24 and hooks.collect(NET, places, batches(4), to=tmp_path).names == places
    values = np.concatenate([by_hand(t)[0]["1.mlp"].reshape(-1, 4) for t in (TOKENS, OTHER)] * 2)
    close(shards[np.arange(24)]["blocks.1.mlp"], values)
    close(shards[-1]["blocks.1.mlp"], values[-1])
    close(shards[3:9:2]["blocks.1.mlp"], values[3:9:2])
    shuffled = np.concatenate([batch["blocks.1.mlp"] for batch in shards.batches(5, seed=0)])
    close(np.sort(shuffled, 0), np.sort(values, 0))
    assert not np.allclose(shuffled, values)
    close(shuffled, values[np.random.default_rng(0).permutation(24)])
    with pytest.raises(ValueError, match=r"was written with \{'dtype': None\}"):
        hooks.collect(NET, places, batches(1), to=tmp_path, dtype="bfloat16")
    for fewer in (batches(3), [TOKENS], []):
        with pytest.raises(
            ValueError, match=r"the number of batches should be at least 4, as many as '.*' holds, .*, but got [310]\."
        ):
            hooks.collect(NET, places, fewer, to=tmp_path)
    assert len(hooks.Shards(tmp_path)) == 24
    with pytest.raises(IndexError, match="There are 24 rows, but asked for is 24"):
        shards[24]


def test_collect_in_half_precision_with_whole_examples(tmp_path, capsys):
    shards = hooks.collect(NET, "blocks.0.mlp", [TOKENS, OTHER], to=tmp_path, dtype="bfloat16", row_axes=2, progress=True)
    assert len(shards) == 4 and shards[0]["blocks.0.mlp"].dtype == ml_dtypes.bfloat16
    np.testing.assert_allclose(shards[3]["blocks.0.mlp"].astype("float32"), by_hand(OTHER)[0]["0.mlp"][1], rtol=0.01, atol=1e-3)
    assert "collect" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"all places should have as many rows, but have \{'blocks.0.mlp': 6, 'head': 2\}"):
        hooks.collect(
            lambda x: hooks.site("head", hooks.site("blocks.0.mlp", x).sum(1)),
            ["blocks.0.mlp", "head"],
            [jnp.ones((2, 3, 4))],
            to=tmp_path / "a",
        )
    with pytest.raises(FileNotFoundError, match="There are no shards"):
        hooks.Shards(tmp_path / "b")


def named(x, y):
    for each in x:
        hooks.site("row", each)
    return hooks.site("a", x).sum() + hooks.site("b", y).sum()


def pair(rows, features=3, other=None, dtype="float32"):
    return jnp.ones((rows, features), dtype), jnp.ones((rows if other is None else other, 3), dtype)


BATCHES_THAT_DO_NOT_FIT = {
    "features": (
        "a",
        [pair(2), pair(2, 4)],
        r"rows of 'a' should be float32 \[3\], as in the batches before, but are float32 \[4\]",
    ),
    "dtype": (
        "a",
        [pair(2), pair(2, dtype="bfloat16")],
        r"should be float32 \[3\], as in the batches before, but are bfloat16 \[3\]",
    ),
    "rows that add up": (
        ["a", "b"],
        [pair(2, other=3), pair(3, other=2)],
        r"should have as many rows, but have \{'a': 2, 'b': 3\}",
    ),
    "calls": (
        "row*",
        [pair(2), pair(3)],
        r"rows of 'row#2' should be not there, as in the batches before, but are float32 \[3\]",
    ),
}


@pytest.mark.parametrize("what", BATCHES_THAT_DO_NOT_FIT)
@pytest.mark.parametrize("per_shard", [1, 4])
def test_batches_that_do_not_fit_those_before(tmp_path, what, per_shard):
    places, batches, message = BATCHES_THAT_DO_NOT_FIT[what]
    with pytest.raises(ValueError, match=message):
        hooks.collect(named, places, batches, to=tmp_path, per_shard=per_shard)


def test_a_second_run_into_the_same_folder(tmp_path):
    def batches():
        yield pair(1)
        with pytest.raises(ValueError, match="another run is writing to the folder"):
            hooks.collect(named, "a", [pair(5)], to=tmp_path)
        yield pair(1)

    # What a killed run leaves is removed, but for shards, which are written over.
    (tmp_path / ".0_0.npy.msjax-0123456789abcdef.tmp").write_bytes(b"half")
    assert len(hooks.collect(named, "a", batches(), to=tmp_path, per_shard=1)) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0_0.npy", "0_1.npy", "index.json"]
    with pytest.raises(ValueError, match="'to' should be the path of a folder, and is that of a file"):
        hooks.collect(named, "a", [pair(1)], to=tmp_path / "index.json")
    for content, told in (("{}", "dict"), ('{"places": ["a"', "str ")):
        (tmp_path / "index.json").write_text(content)
        with pytest.raises(TypeError, match=f"the content should be that of shards, in .*index.json, but got {told}"):
            hooks.Shards(tmp_path)


@pytest.mark.parametrize("dtype", ["float8_e5m2", "float8_e4m3fn", "int4", "bool", "float16"])
def test_rows_of_small_dtypes(tmp_path, dtype):
    values = jnp.arange(4.0).reshape(2, 2)
    shards = hooks.collect(lambda x: hooks.site("a", x).sum(), "a", [values], to=tmp_path, dtype=dtype)
    assert shards[0]["a"].dtype == jnp.dtype(dtype)
    np.testing.assert_array_equal(shards[[0, 1]]["a"].astype("float32"), values.astype(dtype).astype("float32"))


def test_rows_by_their_numbers_and_in_another_process(tmp_path):
    shards = hooks.collect(lambda x: hooks.site("a", x).sum(), "a", [jnp.arange(2000.0).reshape(-1, 2)], to=tmp_path)
    np.testing.assert_array_equal(shards[[[0, 1], [-1, 3]]]["a"][..., 0], [[0, 2], [1998, 6]])
    assert shards[[]]["a"].shape == (0, 2)
    for wrong in (np.ones(1000, bool), 1.5, "a", None):
        with pytest.raises(TypeError, match="For 'Shards', a row's number should be an int, a slice or several ints, but got"):
            shards[wrong]
    # The content of files that are mapped doesn't go to workers.
    assert len(pickle.dumps(shards)) < 1000
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(shards))[5]["a"], [10, 11])


RNG = np.random.default_rng(5)
ENCODER, DECODER = RNG.normal(size=(4, 9)).astype("float32"), RNG.normal(size=(9, 4)).astype("float32")
CODER = lambda v: jax.nn.relu(v @ ENCODER), lambda f: f @ DECODER


@pytest.mark.long
@pytest.mark.parametrize("framework", ["nnx", "linen"])
def test_splice_an_autoencoder(framework):
    make, _, names = MODELS[framework]
    model, before = make()
    place = names.format(i=0, name="mlp")
    plain = by_hand()[2]
    if framework == "nnx":
        close(jax.jit(hooks.splice(model, {place: CODER}))(*before, TOKENS), plain)

    def coded(change, error):
        def edit(name, value):
            if name != "0.mlp":
                return value
            features = np.maximum(value @ ENCODER, 0)
            return change(features) @ DECODER + (value - features @ DECODER if error else 0)

        return by_hand(edit=edit)[2]

    if framework == "nnx":
        close(jax.jit(hooks.splice(model, {place: CODER}, error=False))(*before, TOKENS), coded(lambda f: f, False))
    steered = hooks.splice(model, {place: CODER}, edit={place: lambda f: f.at[..., 2].add(3)})
    close(jax.jit(steered)(*before, TOKENS), coded(lambda f: f + 3 * (np.arange(9) == 2), True))


@pytest.mark.parametrize(
    "coders, match",
    [
        ({}, "'coders' should be a dict of at least one place"),
        ({"blocks.0": (lambda: 1, lambda f: f)}, r"the coder is called as coder\(value\), but .* takes \(\)"),
        ({"blocks.0": (lambda v: v @ jnp.ones((7, 7)), lambda f: f)}, "raised by the coder at 'blocks.0'"),
    ],
)
def test_errors_of_coders(coders, match):
    with pytest.raises(TypeError) as caught:
        hooks.splice(NET, coders)(TOKENS)
    assert re.search(match, "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())]))


def test_splice_a_transcoder_and_its_gradient():
    """One that computes what the module does changes nothing."""
    exact = lambda v: jax.nn.relu(v @ LAYER[1]["up"]), lambda f: f @ LAYER[1]["down"]
    key = "blocks.1.mlp:in", "blocks.1.mlp"
    close(jax.jit(hooks.splice(NET, {key: exact}, error=False))(TOKENS), by_hand()[2])
    scaled = lambda scale: hooks.splice(NET, {key: exact}, edit={key: lambda f: f * scale})(TOKENS).sum()  # noqa: E731
    gradient = jax.jit(jax.grad(scaled))(1.0)
    change = 1e-2
    ends = [by_hand(edit=lambda name, v, s=s: v * s if name == "1.mlp" else v)[2].sum() for s in (1 - change, 1 + change)]
    np.testing.assert_allclose(gradient, (ends[1] - ends[0]) / (2 * change), rtol=0.02)
    with pytest.raises(ValueError, match=r"there is no place 'blocks.1.mpl'"):
        jax.jit(hooks.splice(NET, {"blocks.1.mpl": CODER}))(TOKENS)
    with pytest.raises(
        ValueError, match=r"what is decoded at 'blocks.1.mlp' should be of shape \(2, 3, 4\), but is of \(2, 3, 9\)"
    ):
        jax.jit(hooks.splice(NET, {"blocks.1.mlp": (CODER[0], lambda f: f)}))(TOKENS)


def test_transplant():
    other = by_hand(OTHER)[0]["0.mlp"]
    moved = by_hand(edit=lambda name, v: np.concatenate([v[:, :2], other[:, :1]], 1) if name == "1.mlp" else v)[2]
    run = lambda to, at: hooks.transplant(NET, OTHER, {"blocks.1.mlp": "blocks.0.mlp"}, positions=(to, at))(TOKENS)  # noqa: E731
    close(jax.jit(lambda: run(-1, 0))(), moved)
    close(jax.jit(jax.vmap(run, (0, None)))(jnp.arange(3), 0)[2], moved)
    with pytest.raises(ValueError, match="'positions' should be from -3 to 2"):
        jax.jit(lambda: run(3, 0))()
    with pytest.raises(ValueError, match=r"there is no place 'blocks.1.mpl'"):
        jax.jit(hooks.transplant(NET, OTHER, {"blocks.1.mpl": "blocks.0.mlp"}))(TOKENS)


def test_linear_probes():
    x = RNG.normal(size=(40, 3)).astype("float32")
    y = x @ np.array([[1, 0], [2, 1], [0, -1]], "float32") + np.array([0.5, 2], "float32")
    probe = hooks.linear_probe([(x[:20], y[:20]), (x[20:], y[20:])], ridge=0)
    close(probe.kernel, [[1, 0], [2, 1], [0, -1]])
    close(probe.bias, [0.5, 2])
    labels = (x[:, 0] > 0.2).astype(int)
    assert hooks.linear_probe([(x, labels)], classes=2).accuracy(x, labels) > 0.9
    logistic = hooks.linear_probe([(x, labels)] * 40, classes=2, optimizer=optax.adam(0.3))
    assert logistic.accuracy(x, labels) == 1
    with pytest.raises(ValueError, match=r"labels should be integers from 0 to 1, but got .* with 0 to 2"):
        hooks.linear_probe([(x, labels * 2)], classes=2)
    with pytest.raises(ValueError, match=r"a batch should be \(rows, features\) and \(rows,\), but got"):
        hooks.linear_probe([(x, y)], classes=2)


def test_a_linear_probe_of_rows_on_several_devices():
    mesh = jax.make_mesh((len(jax.devices()),), ("d",))
    x, y = np.random.default_rng(0).normal(size=(16, 2)).astype("float32"), np.arange(16.0, dtype="float32")[:, None]
    along = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("d"))
    with jax.set_mesh(mesh):
        found = hooks.linear_probe([(jax.device_put(x, along), jax.device_put(y, along))])
    close(found.kernel, hooks.linear_probe([(x, y)]).kernel)


def test_rows_of_a_value_that_holds_one_array(tmp_path):
    shards = hooks.collect(lambda x: hooks.site("pair", (x, None))[0], "pair", [jnp.ones((2, 3))], to=tmp_path)
    assert shards[0]["pair"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("mean, low, high", [(1000, 1, 1), (0, 0.01, 100)])
def test_linear_probes_of_features_far_from_zero_and_of_other_sizes(mean, low, high):
    """In float32, the sums of squares have lost what the first of these tell; a ridge as large for all features takes the smallest of the second."""
    random = np.random.default_rng(0)
    scale = np.geomspace(low, high, 16)
    even = random.normal(size=(200, 16))
    x, y = (even * scale + mean).astype("float32"), (even @ random.normal(size=(16, 3))).astype("float32")
    probe = hooks.linear_probe([(x[:80], y[:80]), (x[80:], y[80:])])
    assert np.abs(np.asarray(probe(x)) - y).max() < 0.01
    assert hooks.linear_probe([(x, y.argmax(1))], classes=3).accuracy(x, y.argmax(1)) > 0.9
    # Features that say the same share a weight, and a constant one has none.
    wide = np.concatenate([x, x[:, :1], np.ones((200, 1), "float32")], 1)
    probe = hooks.linear_probe([(wide, y)], ridge=0)
    np.testing.assert_allclose(probe.kernel[0], probe.kernel[-2], rtol=1e-3)
    assert not np.asarray(probe.kernel[-1]).any() and np.abs(np.asarray(probe(wide)) - y).max() < 0.01
    with pytest.raises(ValueError, match=r"a batch should be \(rows, 16\) and \(rows, 3\), but got"):
        hooks.linear_probe([(x, y), (x[:, :3], y)])
