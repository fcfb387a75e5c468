"""Tensor methods of mathematics: their two sets of argument names, operators of Python, changes in place."""

import numpy as np
import pytest

import msjax as ms
from msjax import ops
from tests.expected.source import texts_of

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)


def check(got, want):
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            check(g, w)
        return
    got = got.asnumpy() if isinstance(got, ms.Tensor) else np.asarray(got)
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-5)


PAIR = (X.max(1), X.argmax(1))
KEPT = (X.max(1)[:, None], X.argmax(1)[:, None])
CALLS = [
    (lambda x: x.sum(), X.sum()),
    (lambda x: x.sum(1), X.sum(1)),
    (lambda x: x.sum(0, True), X.sum(0, keepdims=True)),
    (lambda x: x.sum(dim=1, keepdim=True), X.sum(1, keepdims=True)),
    (lambda x: x.sum(axis=1, keepdims=True), X.sum(1, keepdims=True)),
    (lambda x: x.sum(1, ms.float64), X.sum(1)),
    (lambda x: x.sum(axis=1, initial=2.0), X.sum(1) + 2),
    (lambda x: x.mean((0, 1), keep_dims=True), X.mean((0, 1), keepdims=True)),
    (lambda x: x.mean(dim=0), X.mean(0)),
    (lambda x: x.prod(1, True), X.prod(1, keepdims=True)),
    (lambda x: x.max(), X.max()),
    (lambda x: x.max(1), PAIR),
    (lambda x: x.max(1, True), KEPT),
    (lambda x: x.max(dim=1, keepdim=True), KEPT),
    (lambda x: x.max(axis=1), X.max(1)),
    (lambda x: x.max(axis=(0, 1)), X.max()),
    (lambda x: x.max(axis=1, keepdims=True), X.max(1, keepdims=True)),
    (lambda x: x.max(axis=1, return_indices=True), PAIR),
    (lambda x: x.max(axis=1, initial=1.75), np.maximum(X.max(1), 1.75)),
    (lambda x: x.min(axis=0), X.min(0)),
    (lambda x: x.argmax(axis=1), X.argmax(1)),
    (lambda x: x.argmax(1, True), X.argmax(1)[:, None]),
    (lambda x: x.argmin(dim=0), X.argmin(0)),
    (lambda x: x.argmax_with_value(1), PAIR),
    (lambda x: x.std(1), X.std(1)),
    (lambda x: x.std(axis=1, ddof=1), X.std(1, ddof=1)),
    (lambda x: x.var(dim=0, correction=1, keepdim=True), X.var(0, ddof=1, keepdims=True)),
    (lambda x: x.ptp(), np.ptp(X)),
    (lambda x: x.ptp(1), np.ptp(X, 1)),
    (lambda x: x.cumsum(axis=1), X.cumsum(1)),
    (lambda x: x.cumprod(dim=0), X.cumprod(0)),
    (lambda x: x.count_nonzero(1), np.count_nonzero(X, 1)),
    (lambda x: x.kthvalue(2), (np.sort(X, 1)[:, 1], np.argsort(X, 1)[:, 1])),
    (lambda x: x.logsumexp(dim=1, keepdim=True), np.log(np.exp(X).sum(1, keepdims=True))),
    (lambda x: x.norm(), np.linalg.norm(X)),
    (lambda x: x.sum_to_size(1, 3), X.sum(0, keepdims=True)),
    (lambda x: x.sum_to_size((3,)), X.sum(0)),
    (lambda x: x.add(1.0, alpha=2), X + 2),
    (lambda x: x.sub(x, alpha=2), -X),
    (lambda x: x.div(2, rounding_mode="floor"), X // 2),
    (lambda x: x.round(), X.round()),
    (lambda x: x.softmax(0).sum(0), np.ones(3)),
    (lambda x: x.matmul(tensor2=x.T), X @ X.T),
    (lambda x: x.addmm(x[:, :2], x, beta=2), 2 * X + X[:, :2] @ X),
    (lambda x: x.trace(1), np.trace(X, 1)),
    (lambda x: x.float_power(2), X.astype(np.float64) ** 2),
    (lambda x: x.approximate_equal(x + 0.1, 0.2), np.ones((2, 3), bool)),
    (lambda x: x.lerp(x + 1, 0.5), X + 0.5),
    (lambda x: x.multiply(2), X * 2),
]


@pytest.mark.parametrize("call, want", CALLS, ids=texts_of(c for c, _ in CALLS))
def test_method(call, want):
    check(call(ms.Tensor(X)), want)


def test_python_operators():
    x, i, b = ms.Tensor(X), ms.Tensor([5, 6]), ms.Tensor([True, False])
    assert str(i & 3) == "[1 2]" and str(3 | i) == "[7 7]" and str(i ^ i) == "[0 0]" and str(~b) == "[False  True]"
    assert str(~ms.Tensor([0, 1, 2])) == str(~ms.Tensor([0.0, 1.0, 2.0])) == "[ True False False]"
    assert str(True & b) == "[ True False]"
    check(2**x, 2**X)
    check(7 % (x + 3), 7 % (X + 3))
    check(-x // 2, -X // 2)
    check(abs(round(x)), np.abs(X.round()))
    assert x.allclose(x) is True and x.allclose(x + 1) is False


IN_PLACE = [
    (lambda x: x.add_(1.0, alpha=2), X + 2),
    (lambda x: x.sub_(1.0), X - 1),
    (lambda x: x.mul_(x), X * X),
    (lambda x: x.div_(2), X / 2),
    (lambda x: x.div_(2, rounding_mode="floor"), X // 2),
    (lambda x: x.remainder_(2.0), X % 2),
    (lambda x: x.floor_divide_(2.0), X // 2),
    (lambda x: x.exp_(), np.exp(X)),
    (lambda x: x.floor_(), np.floor(X)),
    (lambda x: x.tanh_(), np.tanh(X)),
    (lambda x: x.sigmoid_(), 1 / (1 + np.exp(-X))),
    (lambda x: x.clamp_(-1.0, 1.0), X.clip(-1, 1)),
    (lambda x: x.sign_(), np.sign(X)),
]


@pytest.mark.parametrize("call, want", IN_PLACE, ids=texts_of(c for c, _ in IN_PLACE))
def test_in_place(call, want):
    x = ms.Tensor(X)
    assert call(x) is x
    check(x, want)


def test_in_place_keeps_the_dtype_and_the_gradient():
    i = ms.Tensor([1, 2], ms.int8)
    assert i.add_(ms.Tensor([1, 2], ms.int64)) is i and i.dtype == ms.int8 and i.tolist() == [2, 4]
    with pytest.raises(
        TypeError, match=r"'Tensor.true_divide_', the result's dtype should fit into the Tensor's Int8, but got str 'Float32'"
    ):
        i.div_(2)

    def loss(x):
        y = x * 1
        y.mul_(x)
        return y.sum()

    assert str(ms.grad(loss)(ms.Tensor([1.0, 3.0]))) == "[2. 6.]"


def test_cumsum_of_all_elements():
    found = ms.Tensor([[1, 2], [3, 4]], ms.int8).cumsum()
    assert found.dtype == ms.int32 and found.tolist() == [1, 3, 6, 10]


def test_random_methods():
    assert ms.Tensor([1.0, 2.0], ms.float16).cauchy().dtype == ms.float16
    x = ms.Tensor(np.full(1000, 0.25, np.float32))
    assert abs(float(x.bernoulli().mean()) - 0.25) < 0.1
    assert x.uniform(2.0, 3.0).asnumpy().min() >= 2 and str(x[0]) == "0.25"
    assert x.log_normal().asnumpy().min() > 0 and x.cauchy().shape == (1000,)
    assert sorted(ms.Tensor([0.5, 0.5]).multinomial(2, False).tolist()) == [0, 1]


def test_names_of_the_functions():
    x = ms.Tensor([0.5])
    for name in ("sin", "log1p", "erf", "hardshrink", "isfinite", "rsqrt", "digamma", "deg2rad", "real"):
        check(getattr(x, name)(), getattr(ops, name)(x).asnumpy())


def test_errors():
    x = ms.Tensor(X)
    with pytest.raises(TypeError, match="keep"):
        x.sum(keep=True)
    with pytest.raises(TypeError, match="axis"):
        x.max(x)
    with pytest.raises(ValueError, match="sum_to_size"):
        x.sum_to_size(4)


def test_norm_of_one_number():
    assert float(ops.norm(ms.Tensor(-3.0), dim=0)) == 3 == float(ms.Tensor(3.0).norm(dim=-1))


def test_a_position_is_the_axis_in_compiled_code_and_the_dimension_in_pynative_mode():
    tensor = ms.Tensor([[1.0, 5.0], [7.0, 2.0]], ms.float32)
    values, places = tensor.max(1)
    assert values.asnumpy().tolist() == [5, 7] and places.asnumpy().tolist() == [1, 0]
    compiled = ms.jit(lambda t: (t.max(1), t.min(0, True), t.max(dim=1)[1]))(tensor)
    assert [t.asnumpy().tolist() for t in compiled] == [[5, 7], [[1, 2]], [1, 0]]


def test_powers_of_two_are_exact():
    whole = np.arange(-10, 14)
    for dtype in (ms.float16, ms.bfloat16, ms.float32):
        assert ops.exp2(ms.Tensor(whole, dtype)).float().tolist() == (2.0**whole).tolist()
