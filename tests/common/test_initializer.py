"""Initializers: distributions, fans, names, seeds, errors."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor
from msjax.common import initializer as module, initializers
from msjax.common.initializer import (
    Constant,
    Dirac,
    HeNormal,
    HeUniform,
    Identity,
    Initializer,
    Normal,
    One,
    Orthogonal,
    Sparse,
    TruncatedNormal,
    Uniform,
    VarianceScaling,
    XavierNormal,
    XavierUniform,
    Zero,
    initializer,
)

SHAPE = (64, 32, 5, 5)
IN, OUT = 32 * 25, 64 * 25

# (initializer, shape, mean, standard deviation, largest absolute value or None)
DISTRIBUTIONS = [
    ("normal", SHAPE, 0, 0.01, None),
    ("uniform", SHAPE, 0, 0.07 / np.sqrt(3), 0.07),
    ("he_uniform", SHAPE, 0, np.sqrt(2 / IN), np.sqrt(6 / IN)),
    ("he_normal", SHAPE, 0, np.sqrt(2 / IN), None),
    ("xavier_uniform", SHAPE, 0, np.sqrt(2 / (IN + OUT)), np.sqrt(6 / (IN + OUT))),
    ("xavier_normal", SHAPE, 0, np.sqrt(2 / (IN + OUT)), None),
    ("truncatedNormal", SHAPE, 0, 0.01, None),
    (Uniform(0.3), SHAPE, 0, 0.3 / np.sqrt(3), 0.3),
    (Normal(0.3, 1.0), SHAPE, 1.0, 0.3, None),
    (TruncatedNormal(1.0, 0.0, -2.0, 2.0), SHAPE, 0, 0.8796, 2.0),
    (TruncatedNormal(1.0, 0.0, 3.0, 4.0), SHAPE, 3.2594, 0.2223, 4.0),
    (TruncatedNormal(1.0, 0.0, -40.0, -30.0), SHAPE, -30.033, 0.033, None),
    (HeUniform(np.sqrt(5)), (400, 100), 0, np.sqrt(1 / 3 / 100), 0.1),
    (HeNormal(mode="fan_out", nonlinearity="relu"), SHAPE, 0, np.sqrt(2 / OUT), None),
    (HeNormal(nonlinearity="tanh"), (400, 100), 0, 5 / 3 / 10, None),
    (XavierUniform(2), (400, 100), 0, 2 * np.sqrt(2 / 500), 2 * np.sqrt(6 / 500)),
    (XavierNormal(2), (400, 100), 0, 2 * np.sqrt(2 / 500), None),
    (VarianceScaling(2.0), SHAPE, 0, np.sqrt(2 / IN), 2 * np.sqrt(2 / IN) / 0.87962566),
    (VarianceScaling(2.0, "fan_out", "uniform"), SHAPE, 0, np.sqrt(2 / OUT), np.sqrt(6 / OUT)),
    (VarianceScaling(2.0, "fan_avg", "untruncated_normal"), SHAPE, 0, np.sqrt(4 / (IN + OUT)), None),
]


@pytest.mark.parametrize("init, shape, mean, std, limit", DISTRIBUTIONS, ids=range(len(DISTRIBUTIONS)))
def test_distributions(init, shape, mean, std, limit):
    values = initializer(init, shape).asnumpy()
    assert values.shape == shape and values.dtype == np.float32
    assert abs(values.mean() - mean) < 5 * std / np.sqrt(values.size)
    np.testing.assert_allclose(values.std(), std, rtol=0.02)
    if limit is not None:
        assert limit * 0.98 < abs(values).max() <= limit * (1 + 1e-6)


def test_far_tails_stay_in_bounds():
    values = initializer(TruncatedNormal(1.0, 0.0, 30.0, 40.0), (1000,)).asnumpy()
    assert values.min() >= 30 and values.max() < 31


def test_plain_ones():
    assert initializer("zeros", (2,)).asnumpy().tolist() == initializer(Zero(), 2).asnumpy().tolist() == [0, 0]
    assert initializer("ones", (2,)).asnumpy().tolist() == initializer(One(), [2]).asnumpy().tolist() == [1, 1]
    assert initializer(Constant(2.5), (1, 2)).asnumpy().tolist() == [[2.5, 2.5]]
    assert initializer(3, (2,), ms.int32).asnumpy().tolist() == [3, 3]
    assert initializer("ones", (), ms.float16).dtype == ms.float16
    assert initializer(Tensor([1.0, 2.0]), (2,)).asnumpy().tolist() == [1.0, 2.0]
    assert initializer("identity", (2, 3)).asnumpy().tolist() == initializer(Identity(), (2, 3)).asnumpy().tolist()
    assert initializer("identity", (2, 3)).asnumpy().tolist() == [[1, 0, 0], [0, 1, 0]]


def test_dirac_hands_channels_on():
    weight = initializer(Dirac(2), (4, 2, 3)).asnumpy()
    want = np.zeros((4, 2, 3))
    want[[0, 1, 2, 3], [0, 1, 0, 1], 1] = 1
    assert np.array_equal(weight, want)


@pytest.mark.parametrize("shape", [(2, 3, 2), (4, 2), (3, 3)])
def test_orthogonal(shape):
    w = initializer(Orthogonal(2.0), shape).asnumpy().reshape(shape[0], -1)
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


def test_sparse_has_zeros_in_each_column():
    values = initializer(Sparse(0.3), (10, 4)).asnumpy()
    assert (values == 0).sum(axis=0).tolist() == [3, 3, 3, 3]


def test_seeds():
    def draw():
        return initializer("normal", (8,)).asnumpy().tolist()

    ms.set_seed(3)
    first = draw()
    assert draw() != first
    ms.set_seed(3)
    assert draw() == first


def test_initializers_of_ones_own():
    class Sevens(Initializer):
        def _initialize(self, arr):
            arr[:] = 7

    assert initializer(Sevens(), (2,)).asnumpy().tolist() == [7, 7]
    array = np.zeros(2)
    Constant(3)(array)
    assert array.tolist() == [3, 3]


@pytest.mark.parametrize(
    "make, kind, words",
    [
        (lambda: initializer("foo", (2,)), ValueError, "no initializer 'foo'"),
        (lambda: initializer([1], (1,)), TypeError, "Initializer"),
        (lambda: initializer("ones", (-1, 2)), ValueError, "shape"),
        (lambda: initializer("ones", ("a",)), ValueError, "shape"),
        (lambda: initializer("ones"), ValueError, "shape"),
        (lambda: initializer(Tensor([1.0]), (3,)), ValueError, "shape"),
        (lambda: initializer("xavier_uniform", (3,)).init_data(), ValueError, "two or more axes"),
        (lambda: initializer(HeNormal(nonlinearity="selu"), (3, 3)).init_data(), ValueError, "selu"),
        (lambda: HeNormal(mode="x"), ValueError, "mode"),
        (lambda: VarianceScaling(-1.0), ValueError, "scale"),
        (lambda: VarianceScaling(1.0, "x"), ValueError, "mode"),
        (lambda: VarianceScaling(1.0, "fan_in", "x"), ValueError, "distribution"),
        (lambda: TruncatedNormal(1.0, 0.0, 1.0, 0.0), ValueError, "'a'"),
        (lambda: initializer(Identity(), (2, 2, 2)).init_data(), ValueError, "two axes"),
        (lambda: initializer(Sparse(0.5), (2,)).init_data(), ValueError, "two axes"),
        (lambda: initializer(Dirac(), (2, 2)).init_data(), ValueError, "three to five"),
        (lambda: initializer(Dirac(3), (4, 2, 3)).init_data(), ValueError, "multiple"),
        (lambda: initializer(Orthogonal(), (3,)).init_data(), ValueError, "two axes"),
        (lambda: initializer(Initializer(), (3,)).init_data(), NotImplementedError, "_initialize"),
    ],
)
def test_errors(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


def test_names_that_libraries_register(monkeypatch):
    monkeypatch.setattr(module, "_INITIALIZER_ALIAS", dict(module._INITIALIZER_ALIAS))
    monkeypatch.setattr(initializers, "_INITIALIZER_ALIAS", module._INITIALIZER_ALIAS)

    @module._register("all_fives", "zeros")
    class Fives(Initializer):
        def _initialize(self, arr):
            module._assignment(arr, 5)

    assert initializer("all_fives", (2,)).asnumpy().tolist() == initializer("fives", (2,)).asnumpy().tolist() == [5, 5]
    assert initializer("zeros", (2,)).asnumpy().tolist() == [0, 0]  # names that exist stay
    values = module._init_random_uniform(2.0, 3.0, (40,))
    assert values.dtype == np.float32 and 2 <= values.min() < values.max() < 3


def test_numbers_are_drawn_where_the_initializer_is_called():
    def two():
        ms.set_seed(5)
        return [initializer(Normal(), (2, 2)) for _ in range(2)]

    (first, second), again = two(), two()
    assert not first.has_init and first.init is None and first.init_data() is first
    assert first.tolist() == ms.Parameter(again[0]).asnumpy().tolist() != second.tolist()

    @ms.jit
    def f():
        return initializer(Normal(), (2, 2)) * 1

    ms.set_seed(5)
    assert f().tolist() == first.tolist()


def test_tensors_of_unknown_shape_have_no_value():
    x = Tensor(shape=[None, 3], dtype=ms.float32)
    assert (x.shape, x.dtype, x.ndim, x.size) == ((-1, 3), ms.float32, 2, 0) and str(x).startswith("Tensor(shape=[-1, 3]")
    with pytest.raises(ValueError, match="sizes of -1 are not known"):
        x + 1
    x = Tensor(shape=None, dtype=ms.int64)
    assert (x.shape, x.dtype, x.ndim, x.size) == ((-2,), ms.int64, 1, 0) and repr(x) == "Tensor(shape=[-2], dtype=Int64, value=)"
    with pytest.raises(ValueError, match="shape is not known"):
        x + 1
    zeros = Tensor(shape=(2,), dtype=ms.int32)
    assert zeros.asnumpy().tolist() == [0, 0] and not zeros.has_init
