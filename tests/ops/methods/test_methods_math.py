"""Tensor methods of mathematics: their two sets of argument names, operators of Python, changes in place."""

import numpy as np
import pytest

import msjax as ms
from msjax import ops

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
    ("sum()", X.sum()),
    ("sum(1)", X.sum(1)),
    ("sum(0, True)", X.sum(0, keepdims=True)),
    ("sum(dim=1, keepdim=True)", X.sum(1, keepdims=True)),
    ("sum(axis=1, keepdims=True)", X.sum(1, keepdims=True)),
    ("sum(1, ms.float64)", X.sum(1)),
    ("sum(axis=1, initial=2.0)", X.sum(1) + 2),
    ("mean((0, 1), keep_dims=True)", X.mean((0, 1), keepdims=True)),
    ("mean(dim=0)", X.mean(0)),
    ("prod(1, True)", X.prod(1, keepdims=True)),
    ("max()", X.max()),
    ("max(1)", PAIR),
    ("max(1, True)", KEPT),
    ("max(dim=1, keepdim=True)", KEPT),
    ("max(axis=1)", X.max(1)),
    ("max(axis=(0, 1))", X.max()),
    ("max(axis=1, keepdims=True)", X.max(1, keepdims=True)),
    ("max(axis=1, return_indices=True)", PAIR),
    ("max(axis=1, initial=1.75)", np.maximum(X.max(1), 1.75)),
    ("min(axis=0)", X.min(0)),
    ("argmax(axis=1)", X.argmax(1)),
    ("argmax(1, True)", X.argmax(1)[:, None]),
    ("argmin(dim=0)", X.argmin(0)),
    ("argmax_with_value(1)", PAIR),
    ("std(1)", X.std(1)),
    ("std(axis=1, ddof=1)", X.std(1, ddof=1)),
    ("var(dim=0, correction=1, keepdim=True)", X.var(0, ddof=1, keepdims=True)),
    ("ptp()", np.ptp(X)),
    ("ptp(1)", np.ptp(X, 1)),
    ("cumsum(axis=1)", X.cumsum(1)),
    ("cumprod(dim=0)", X.cumprod(0)),
    ("count_nonzero(1)", np.count_nonzero(X, 1)),
    ("kthvalue(2)", (np.sort(X, 1)[:, 1], np.argsort(X, 1)[:, 1])),
    ("logsumexp(dim=1, keepdim=True)", np.log(np.exp(X).sum(1, keepdims=True))),
    ("norm()", np.linalg.norm(X)),
    ("sum_to_size(1, 3)", X.sum(0, keepdims=True)),
    ("sum_to_size((3,))", X.sum(0)),
    ("add(1.0, alpha=2)", X + 2),
    ("sub(x, alpha=2)", -X),
    ("div(2, rounding_mode='floor')", X // 2),
    ("round()", X.round()),
    ("softmax(0).sum(0)", np.ones(3)),
    ("matmul(tensor2=x.T)", X @ X.T),
    ("addmm(x[:, :2], x, beta=2)", 2 * X + X[:, :2] @ X),
    ("trace(1)", np.trace(X, 1)),
    ("float_power(2)", X.astype(np.float64) ** 2),
    ("approximate_equal(x + 0.1, 0.2)", np.ones((2, 3), bool)),
    ("lerp(x + 1, 0.5)", X + 0.5),
    ("multiply(2)", X * 2),
]


@pytest.mark.parametrize("call, want", CALLS, ids=[c for c, _ in CALLS])
def test_method(call, want):
    check(eval(f"x.{call}", {"x": ms.Tensor(X), "ms": ms}), want)


def test_python_operators():
    x, i, b = ms.Tensor(X), ms.Tensor([5, 6]), ms.Tensor([True, False])
    assert str(i & 3) == "[1 2]" and str(3 | i) == "[7 7]" and str(i ^ i) == "[0 0]" and str(~b) == "[False  True]"
    assert str(True & b) == "[ True False]"
    check(2**x, 2**X)
    check(7 % (x + 3), 7 % (X + 3))
    check(-x // 2, -X // 2)
    check(abs(round(x)), np.abs(X.round()))
    assert x.allclose(x) is True and x.allclose(x + 1) is False


IN_PLACE = [
    ("add_(1.0, alpha=2)", X + 2),
    ("sub_(1.0)", X - 1),
    ("mul_(x)", X * X),
    ("div_(2)", X / 2),
    ("div_(2, rounding_mode='floor')", X // 2),
    ("remainder_(2.0)", X % 2),
    ("floor_divide_(2.0)", X // 2),
    ("exp_()", np.exp(X)),
    ("floor_()", np.floor(X)),
    ("tanh_()", np.tanh(X)),
    ("sigmoid_()", 1 / (1 + np.exp(-X))),
    ("clamp_(-1.0, 1.0)", X.clip(-1, 1)),
    ("sign_()", np.sign(X)),
]


@pytest.mark.parametrize("call, want", IN_PLACE, ids=[c for c, _ in IN_PLACE])
def test_in_place(call, want):
    x = ms.Tensor(X)
    assert eval(f"x.{call}", {"x": x}) is x
    check(x, want)


def test_in_place_keeps_the_dtype_and_the_gradient():
    i = ms.Tensor([1, 2], ms.int32)
    assert i.div_(2).dtype == ms.int32

    def loss(x):
        y = x * 1
        y.mul_(x)
        return y.sum()

    assert str(ms.grad(loss)(ms.Tensor([1.0, 3.0]))) == "[2. 6.]"


def test_random_methods():
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
