"""Random operators: shapes, types, distributions, seeds."""

import numpy as np
import pytest

import msjax as ms
from msjax import nn, ops

N = 4000


def moments(x):
    x = x.asnumpy()
    return x.mean(), x.std()


DRAWN = [
    (lambda: ops.rand(N), 0.5, 12**-0.5),
    (lambda: ops.randn(N), 0, 1),
    (lambda: ops.standard_normal((N,)), 0, 1),
    (lambda: ops.normal((N,), 3.0, 2.0), 3, 2),
    (lambda: ops.uniform((N,), ms.Tensor(1.0), ms.Tensor(3.0)), 2, 2 / 12**0.5),
    (lambda: ops.randint(0, 4, (N,)), 1.5, 1.25**0.5),
    (lambda: ops.laplace((N,), ms.Tensor(1.0), ms.Tensor(2.0)), 1, 2 * 2**0.5),
    (lambda: ops.gamma((N,), ms.Tensor([4.0]), ms.Tensor([2.0])), 2, 1),
    (lambda: ops.poisson((N,), ms.Tensor([4.0])), 4, 2),
    (lambda: ops.bernoulli(ops.zeros(N), 0.2), 0.2, 0.4),
    (lambda: ops.multinomial(ms.Tensor([0.8, 0.2]), N), 0.2, 0.4),
    (lambda: ops.random_categorical(ms.Tensor(np.log([[0.8, 0.2]])), N), 0.2, 0.4),
    (lambda: ops.StandardNormal()((N,)), 0, 1),
    (lambda: ops.UniformReal()((N,)), 0.5, 12**-0.5),
    (lambda: ops.UniformInt()((N,), ms.Tensor(0), ms.Tensor(4)), 1.5, 1.25**0.5),
    (lambda: ops.zeros(N).normal_(3.0, 2.0), 3, 2),
    (lambda: ops.zeros(N).uniform_(1.0, 3.0), 2, 2 / 12**0.5),
    (lambda: ops.zeros(N).exponential_(2.0), 0.5, 0.5),
    (lambda: ops.zeros(N).bernoulli_(0.2), 0.2, 0.4),
    (lambda: ops.zeros(N).random_(0, 4), 1.5, 1.25**0.5),
]


@pytest.mark.parametrize("draw, mean, std", DRAWN, ids=range(len(DRAWN)))
def test_moments(draw, mean, std):
    got = moments(draw())
    assert got[0] == pytest.approx(mean, abs=6 * std / N**0.5) and got[1] == pytest.approx(std, rel=0.12)


SHAPED = [
    (lambda: ops.rand(2, 3), (2, 3), ms.float32),
    (lambda: ops.rand((2, 3), dtype=ms.float16), (2, 3), ms.float16),
    (lambda: ops.rand_like(ms.Tensor([1.0], ms.float64)), (1,), ms.float64),
    (lambda: ops.randn_like(ms.Tensor([1.0])), (1,), ms.float32),
    (lambda: ops.randint(0, 5, (2,), dtype=ms.int32), (2,), ms.int32),
    (lambda: ops.randint_like(ms.Tensor([1, 2], ms.int32), 0, 5), (2,), ms.int32),
    (lambda: ops.randperm(4), (4,), ms.int64),
    (lambda: ops.normal((3, 1), ms.Tensor([0.0, 1.0]), 1.0), (3, 2), ms.float32),
    (lambda: ops.uniform((2,), ms.Tensor(0), ms.Tensor(5), dtype=ms.int32), (2,), ms.int32),
    (lambda: ops.random_gamma((2,), ms.Tensor([1.0, 2.0, 3.0])), (2, 3), ms.float32),
    (lambda: ops.random_poisson((2,), ms.Tensor([1.0]), dtype=ms.int32), (2, 1), ms.int32),
    (lambda: ops.multinomial(ms.Tensor([[0.5, 0.5]]), 3), (1, 3), ms.int32),
    (lambda: ops.bernoulli(ms.Tensor([1, 2])), (2,), ms.int64),
    (lambda: ops.TruncatedNormal()((2, 2)), (2, 2), ms.float32),
    (lambda: ops.Cauchy([2, 3])(), (2, 3), ms.float32),
]


@pytest.mark.parametrize("draw, shape, dtype", SHAPED, ids=range(len(SHAPED)))
def test_shapes(draw, shape, dtype):
    out = draw()
    assert out.shape == shape and out.dtype == dtype


def same(a, b):
    return np.array_equal(a.asnumpy(), b.asnumpy())


def test_seeds():
    ms.set_seed(7)
    first, second = ops.rand(4), ops.rand(4)
    seeded = [ops.rand(4, seed=3), ops.rand(4, seed=3)]
    ms.set_seed(7)
    assert same(ops.rand(4), first) and not same(first, second)
    assert same(ops.rand(4, seed=3), seeded[0]) and same(ops.rand(4, seed=3), seeded[1]) and not same(*seeded)
    a, b = ops.StandardNormal(seed=1), ops.StandardNormal(seed=1)
    drawn = a((4,))
    assert same(drawn, b((4,))) and not same(drawn, a((4,)))
    with pytest.raises(ValueError, match="seed"):
        ops.rand(2, seed=-3)


def test_generators():
    one, two = ms.Generator(5), ms.Generator(5)
    assert same(ops.zeros(4).normal_(generator=one), ops.zeros(4).normal_(generator=two))


def test_permutations():
    assert sorted(ops.randperm(10).tolist()) == list(range(10))
    rows = ms.Tensor(np.arange(12).reshape(6, 2))
    shuffled = ops.shuffle(rows).asnumpy()
    assert not np.array_equal(shuffled, rows.asnumpy())
    np.testing.assert_array_equal(shuffled[np.argsort(shuffled[:, 0])], rows.asnumpy())
    assert sorted(ops.multinomial(ms.Tensor([0.3, 0.3, 0.4]), 3, False).tolist()) == [0, 1, 2]
    assert ops.Randperm(4)(3).tolist()[3] == -1


def test_choice_with_mask():
    mask = ms.Tensor([[True, False], [False, True]])
    index, there = ops.choice_with_mask(mask, 3)
    assert sorted(index.tolist()) == [[0, 0], [0, 0], [1, 1]] and there.tolist() == [True, True, False]


def test_candidates():
    sampled, true, expected = ops.uniform_candidate_sampler(ms.Tensor([[1]]), 1, 4, True, 4)
    assert sorted(sampled.tolist()) == [0, 1, 2, 3] and true.tolist() == [[1]] and expected.tolist() == [1] * 4
    sampled, _, _ = ops.log_uniform_candidate_sampler(ms.Tensor([[1]]), 1, 3, True, 5)
    assert len(set(sampled.tolist())) == 3 and max(sampled.tolist()) < 5


def test_gradients_of_parameters():
    grads = ms.grad(lambda m, s: ops.normal((1000,), m, s).mean(), (0, 1))(ms.Tensor(1.0), ms.Tensor(2.0))
    assert float(grads[0]) == pytest.approx(1) and abs(float(grads[1])) < 0.2


def test_dropout():
    x = ops.ones((100, 50))
    out = ops.dropout(x, 0.2).asnumpy()
    np.testing.assert_allclose(np.unique(out), [0, 1.25])
    assert abs(out.mean() - 1) < 0.05
    assert ops.dropout(x, 0.2, training=False) is x and ops.dropout(x, 0.0) is x
    grad = ms.grad(lambda x: ops.dropout(x, 0.5))(x).asnumpy()
    assert set(np.unique(grad)) == {0, 2}


@pytest.mark.parametrize(
    "name, shape", [("dropout1d", (40, 5, 3)), ("dropout2d", (40, 5, 3, 2)), ("dropout3d", (40, 5, 2, 2, 2))]
)
def test_dropout_of_channels(name, shape):
    out = getattr(ops, name)(ops.ones(shape), 0.5).asnumpy()
    flat = out.reshape(shape[0] * shape[1], -1)
    assert set(np.unique(flat)) == {0, 2} and (flat == flat[:, :1]).all()
    with pytest.raises(ValueError, match="axes"):
        getattr(ops, name)(ops.ones((2,)))


def test_dropout_class():
    out, mask = ops.Dropout(keep_prob=0.5)(ops.ones(100))
    assert same(out, mask * 2) and set(mask.tolist()) == {0.0, 1.0}


def test_errors():
    with pytest.raises(ValueError, match="float type"):
        ops.rand(2, dtype=ms.int32)
    with pytest.raises(ValueError, match="integer type"):
        ops.randint(0, 2, (2,), dtype=ms.float32)
    with pytest.raises(ValueError, match="below"):
        ops.randint(5, 5, (2,))
    with pytest.raises(ValueError, match="p"):
        ops.dropout(ops.ones(2), 1.5)
    with pytest.raises(ValueError, match="replacement"):
        ops.multinomial(ms.Tensor([0.5, 0.5]), 3, False)
    with pytest.raises(ValueError, match="to"):
        ops.zeros(2).uniform_(2.0, 1.0)


def test_a_seed_gives_the_same_numbers_in_each_call():
    p, logits = ms.ops.full((50,), 0.5, dtype=ms.float32), ms.ops.zeros((2, 5))
    for draw in (lambda: ops.bernoulli(p, seed=5), lambda: ops.random_categorical(logits, 20, seed=5)):
        assert (draw() == draw()).all()
    # MindSpore's own order; of seed and offset, the offset counts.
    for kwargs in ({"seed": 5}, {"offset": 5}, {"seed": 1, "offset": 5}):
        assert ops.randperm(10, **kwargs).tolist() == [3, 8, 5, 2, 4, 6, 7, 1, 9, 0]
    assert not (ops.bernoulli(p) == ops.bernoulli(p)).all()


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_operators_with_seeds_draw_one_sequence_in_each_network_and_mode(mode):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.uniform = ops.UniformReal(10, 10)

        def construct(self):
            return self.uniform((3,))

    ms.set_context(mode=mode)
    first, second = Net(), Net()
    drawn = [str(first()), str(first()), str(first())]
    assert len({*drawn}) == 3 and drawn == [str(second()), str(second()), str(second())]
    ms.set_seed(0)
    assert drawn == [str(first()), str(first()), str(first())] == [str(second()), str(second()), str(second())]
    # PyNative mode goes on with the same sequence.
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert str(first()) == str(second())
