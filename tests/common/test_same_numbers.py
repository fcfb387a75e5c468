"""The same numbers from the same seed as MindSpore 2.10 on a CPU: `tests/data/seeded.json` has what it drew."""

import json
import pathlib

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, dataset as ds, nn, ops
from msjax.common.generators import minstd
from msjax.common.generators.mersenne import Mersenne32
from msjax.common.initializer import (
    HeNormal,
    HeUniform,
    Normal,
    Orthogonal,
    Sparse,
    TruncatedNormal,
    Uniform,
    VarianceScaling,
    XavierNormal,
    XavierUniform,
    initializer,
)
from msjax.ops.function.random_func import twister_arrays

RECORDED = json.loads((pathlib.Path(__file__).parents[1] / "data" / "seeded.json").read_text())
SEED = 12345


def same(found, expected):
    np.testing.assert_allclose(np.asarray(found, np.float64).ravel()[: len(expected)], expected, rtol=1e-6, atol=5e-7)


def test_initial_weights():
    ms.set_seed(SEED)
    cases = {
        "normal": (Normal(), (50, 3)),
        "normal2": (Normal(0.5, 1.0), (5, 3)),
        "uni": (Uniform(), (50, 3)),
        "trunc": (TruncatedNormal(), (50, 3)),
        "trunc2": (TruncatedNormal(0.02, 0.1, -0.04, 0.2), (5, 3)),
        "xu": (XavierUniform(2.0), (50, 3, 3, 3)),
        "xn": (XavierNormal(), (50, 30)),
        "hn": (HeNormal(), (50, 3)),
        "hu": (HeUniform(0.3), (50, 3)),
        "orth": (Orthogonal(), (5, 3)),
        "orth2": (Orthogonal(), (3, 5)),
        "sparse": (Sparse(0.3), (10, 3)),
        "vs": (VarianceScaling(distribution="uniform"), (5, 3)),
        "vsn": (VarianceScaling(distribution="untruncated_normal", mode="fan_avg"), (5, 3)),
    }
    assert cases.keys() == RECORDED["initializers"].keys()
    for name, (kind, shape) in cases.items():
        same(initializer(kind, shape).asnumpy(), RECORDED["initializers"][name])


LAYERS = {
    "dense": lambda: nn.Dense(4, 3),
    "conv": lambda: nn.Conv2d(3, 4, 3, has_bias=True),
    "emb": lambda: nn.Embedding(5, 3),
    "lstm": lambda: nn.LSTM(3, 4),
    "gru": lambda: nn.GRU(3, 4),
    "lc": lambda: nn.LSTMCell(3, 4),
    "mha": lambda: nn.MultiheadAttention(4, 2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    ms.set_seed(SEED)
    found = {p.name: p.asnumpy() for p in LAYERS[name]().get_parameters()}
    assert list(found) == list(RECORDED["layers"][name])
    for key, value in found.items():
        same(value, RECORDED["layers"][name][key])


def test_operators_and_dropout():
    ms.set_seed(SEED)
    calls = {
        "standard_normal": lambda: ops.standard_normal((7,)),
        "randn": lambda: ops.randn(3, 5),
        "rand": lambda: ops.rand(6),
        "randperm": lambda: ops.randperm(8),
        "randint": lambda: (ops.randint(0, 100, (8,)), ops.randint(0, 1, (1,)))[0],  # recorded with a second call
        "uniform": lambda: ops.uniform((6,), Tensor(0.5), Tensor(1.0)),
        "uniformi": lambda: ops.uniform((6,), Tensor(0, ms.int32), Tensor(10, ms.int32), dtype=ms.int32),
        "normal": lambda: ops.normal((6,), Tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), Tensor(2.0)),
        "dropout": lambda: ops.dropout(Tensor(np.ones(3000, np.float32)), 0.3),
        "rand_like": lambda: ops.rand_like(Tensor(np.ones(12, np.float32))),
        "seeded": lambda: ops.standard_normal((4,), seed=5),
    }
    assert calls.keys() == RECORDED["operators"].keys()
    for number in range(3):
        for name, call in calls.items():
            found = call().asnumpy()
            if number < 2:
                same(found, RECORDED["operators"][name][number])
    layers = [nn.Dropout(p=0.5).set_train(), nn.Dropout(p=0.1).set_train()]
    for expected in RECORDED["dropout"]:
        for layer, want in zip(layers, expected):
            same(layer(Tensor(np.ones((5, 7), np.float32))).asnumpy(), want)


def test_dropout_of_a_compiled_network():
    ms.set_seed(SEED)
    for _ in range(5):  # as many masks were drawn before
        ops.dropout(Tensor([1.0]), 0.5)
    net = ms.jit(nn.SequentialCell(nn.Dropout(p=0.4), nn.Dropout(p=0.2)).set_train())
    for expected in RECORDED["graph"]:
        same(net(Tensor(np.ones((5, 7), np.float32))).asnumpy(), expected)
    assert net.compilations() == 1


def drawing(x):
    return (
        ops.standard_normal((5,)), ops.rand(4), ops.randint(0, 100, (6,)), ops.randperm(8), ops.dropout(x, 0.3), ops.dropout(x, 0.5, seed=4),
        ops.laplace((3,), Tensor([1.0]), Tensor([2.0])), ops.multinomial(x[:5], 6), ops.dropout(x, 0.3),
    )  # fmt: skip


@pytest.mark.long
def test_operators_of_a_program_go_on_from_run_to_run():
    ms.set_seed(SEED)
    x, first = Tensor(np.ones(20, np.float32)), ms.jit(drawing)
    calls = [first, first, first, ms.jit(drawing), first, drawing]
    for call, expected in zip(calls, RECORDED["programs"], strict=True):
        for found, want in zip(call(x), expected, strict=True):
            same(found.asnumpy(), want)
    assert first.compilations() == 1


def test_a_gradient_of_a_program_has_its_masks():
    ms.set_seed(SEED)
    x = Tensor(np.ones(20, np.float32))
    compiled = ms.jit(lambda x: ops.dropout(x, 0.3) * ops.dropout(x, 0.5, seed=4))
    for expected in RECORDED["programs"][:3]:
        value, gradient = ms.value_and_grad(lambda x: compiled(x).sum())(x)
        product = np.prod(expected[4:6], 0)
        same(gradient.asnumpy(), 2 * product)
        assert abs(value.item() - product.sum()) < 1e-4


@pytest.mark.long
def test_words_of_many_blocks():
    state = twister_arrays.first_state(7)
    expected, at = Mersenne32(7).words(4000), 0
    for count in (3, 621, 1248):
        words, blocks = twister_arrays.words(state, count)
        np.testing.assert_array_equal(words, expected[at : at + count])
        state, at = twister_arrays.after(state, blocks, count), at + count
    low = np.array([0, 1, 5, 2**32 - 1, 7, 2**31, 0, 1, 3], np.uint32)
    high = np.array([0, 0, 1, 2**32 - 1, 3 << 20, 2**24 + 1, 2**25 + 2, 2**25 + 2, 1 << 31], np.uint32)
    floats = ((high.astype(np.uint64) << np.uint64(32)) | low).astype(np.float32) / np.float32(2) ** 64
    np.testing.assert_array_equal(twister_arrays.unit_floats(low, high), floats)


def test_masks_begin_with_the_seed_for_each_shape_and_in_each_copy():
    ms.set_seed(1)
    layer = nn.Dropout(p=0.5).set_train()
    x, y = (Tensor(np.ones(n, np.float32)) for n in (30, 20))
    first, second = layer(x).tolist(), layer(x).tolist()
    assert layer(y).tolist() == first[:20] and second != first
    ms.set_seed(1)
    assert [layer(x).tolist(), layer(x).tolist()] == [first, second]
    ms.set_seed(2)
    assert layer(x).tolist() != first


def test_a_state_after_many_words_is_found_at_once():
    words = minstd.words(7, 10_000)
    assert int(minstd.after(np.uint32(7), 10_000)) == words[-1]
    kept = np.asarray(minstd.kept(np.uint32(7), (100, 100), np.float32(0.25)))
    np.testing.assert_array_equal(kept.ravel(), minstd.unit_floats(words) < 0.25)


def rows(data, epochs=1):
    iterator = data.create_dict_iterator(num_epochs=epochs, output_numpy=True)
    return [[int(row["v"]) for row in iterator] for _ in range(epochs)]


def numbers(count, **options):
    return ds.NumpySlicesDataset(list(range(count)), ["v"], **options)


def test_orders_of_rows():
    ds.config.set_seed(77)
    weights = [float(x) for x in np.random.RandomState(0).rand(50)]
    chained = ds.RandomSampler()
    chained.add_child(ds.RandomSampler())
    plain = {"shuffle": False}
    found = {
        "rs13": rows(numbers(13), 4),
        "d10": [rows(numbers(10, sampler=ds.DistributedSampler(3, i)), 3) for i in range(3)],
        "w": rows(numbers(50, sampler=ds.WeightedRandomSampler(weights, 50)), 2),
        "wn": rows(numbers(50, sampler=ds.WeightedRandomSampler(weights, 20, False)), 2),
        "sub": rows(numbers(50, sampler=ds.SubsetRandomSampler(list(range(0, 50, 2)))), 3),
        "rsn_chain": rows(numbers(12, sampler=chained), 2),
        "concat_sh": rows((numbers(5, **plain) + numbers(5, **plain)).shuffle(10), 2),
        "rep_sh": rows(numbers(5, **plain).repeat(2).shuffle(10).repeat(2), 2),
        "take": rows(numbers(12, **plain).shuffle(12).take(5), 3),
        "take_b": rows(numbers(12, **plain).shuffle(4).take(5), 3),
        "skip": rows(numbers(12).skip(5), 3),
        "take_rs": rows(numbers(12).take(5).repeat(2), 3),
        # The same without reading all of them.
        "rs60000": rows(numbers(60000).take(12))[0],
        "rs70001": rows(numbers(70001).take(12))[0],
        "repl": rows(numbers(40000, sampler=ds.RandomSampler(True, 12)), 2),
        "sh3000": [epoch[:12] for epoch in rows(numbers(3000, **plain).shuffle(700), 2)],
    }
    assert found == RECORDED["orders"]


def test_the_generator_that_was_seeded_last_counts():
    ms.set_seed(1)
    ms.manual_seed(5)
    first = ops.standard_normal((3,)).tolist()
    ms.manual_seed(5)
    assert ops.standard_normal((3,)).tolist() == first


def test_initial_weights_have_seeds_of_numpy_alone():
    """As in MindSpore 2.10, where `manual_seed` leaves them alone."""
    weights = []
    for seed in (5, 6):
        np.random.seed(3)
        ms.manual_seed(seed)
        weights.append(nn.Dense(2, 2).weight.asnumpy().ravel()[:2].tolist())
    assert weights[0] == weights[1]
    same(weights[0], [-0.3226341, -0.00428107])
