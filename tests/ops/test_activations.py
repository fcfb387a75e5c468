"""Activation functions."""

import math

import numpy as np
import pytest

import msjax as ms
from msjax import ops
from tests.ops.harness import Case, check_gradient, check_value

X = np.array([[0.4, -1.25, 2.0, 3.5], [1.5, 0.25, -0.75, -4.0]], np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def softplus(x):
    return np.log1p(np.exp(x.astype(np.float64)))


def softmax(x, axis=-1):
    e = np.exp(x.astype(np.float64))
    return e / e.sum(axis, keepdims=True)


ERF = np.vectorize(math.erf)

CASES = [
    Case("relu", ops.relu, (X,), lambda x: np.maximum(x, 0)),
    Case("relu6", ops.relu6, (X * 2,), lambda x: np.clip(x, 0, 6)),
    Case("sigmoid", ops.sigmoid, (X,), sigmoid),
    Case("logsigmoid", ops.logsigmoid, (X,), lambda x: np.log(sigmoid(x))),
    Case("silu", ops.silu, (X,), lambda x: x * sigmoid(x)),
    Case("mish", ops.mish, (X,), lambda x: x * np.tanh(softplus(x))),
    Case("selu", ops.selu, (X,), lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x))),
    Case("elu", lambda x: ops.elu(x, 0.5), (X,), lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
    Case("celu", lambda x: ops.celu(x, 2.0), (X,), lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))),
    Case("gelu", ops.gelu, (X,), lambda x: x * 0.5 * (1 + ERF(x / math.sqrt(2)))),
    Case(
        "gelu_tanh",
        lambda x: ops.gelu(x, "tanh"),
        (X,),
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    Case("fast_gelu", ops.fast_gelu, (X,), lambda x: x * sigmoid(1.702 * x)),
    Case("hardsigmoid", ops.hardsigmoid, (X,), lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    Case("hardswish", ops.hardswish, (X,), lambda x: x * np.clip(x + 3, 0, 6) / 6),
    Case("hardtanh", lambda x: ops.hardtanh(x, -1.0, 2.5), (X,), lambda x: np.clip(x, -1, 2.5)),
    Case("hardshrink", ops.hardshrink, (X,), lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    Case("softshrink", ops.softshrink, (X,), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
    Case("softplus", ops.softplus, (X,), softplus),
    Case("softplus_beta", lambda x: ops.softplus(x, 2, 1), (X,), lambda x: np.where(2 * x > 1, x, softplus(2 * x) / 2)),
    Case("softsign", ops.softsign, (X,), lambda x: x / (1 + np.abs(x))),
    Case("tanhshrink", ops.tanhshrink, (X,), lambda x: x - np.tanh(x), rtol=1e-4),
    Case("threshold", lambda x: ops.threshold(x, 0.3, 9.0), (X,), lambda x: np.where(x > 0.3, x, 9)),
    Case("leaky_relu", lambda x: ops.leaky_relu(x, 0.1), (X,), lambda x: np.where(x > 0, x, 0.1 * x)),
    Case("prelu_one", ops.prelu, (X, np.array([0.3], np.float32)), lambda x, w: np.where(x > 0, x, w * x)),
    Case("prelu", ops.prelu, (X, np.array([0.3, 0.1, 0.2, 0.5], np.float32)), lambda x, w: np.where(x > 0, x, w * x)),
    Case("rrelu", lambda x: ops.rrelu(x, 0.25, 0.25), (X,), lambda x: np.where(x > 0, x, 0.25 * x), traceable=False),
    Case("softmax", ops.softmax, (X,), softmax),
    Case("softmax_first", lambda x: ops.softmax(x, 0), (X,), lambda x: softmax(x, 0)),
    Case("softmin", ops.softmin, (X,), lambda x: softmax(-x)),
    Case("log_softmax", ops.log_softmax, (X,), lambda x: np.log(softmax(x))),
    Case("glu", ops.glu, (X,), lambda x: x[:, :2] * sigmoid(x[:, 2:])),
    Case("swiglu", ops.swiglu, (X,), lambda x: x[:, :2] * sigmoid(x[:, :2]) * x[:, 2:]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value(case):
    check_value(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradient(case):
    check_gradient(case)


# Gradients where the formula has a kink, as MindSpore 2.10 gives them.
EDGES = [
    (ops.relu, 0.0, 0.0),
    (ops.relu6, 0.0, 0.0),
    (ops.relu6, 6.0, 1.0),
    (ops.hardsigmoid, 3.0, 0.0),
    (ops.hardswish, -3.0, -0.5),
    (ops.hardswish, 3.0, 1.5),
    (ops.hardtanh, 1.0, 0.5),
    (ops.leaky_relu, 0.0, 0.6),
    (ops.hardshrink, 0.5, 0.0),
    (ops.softshrink, 0.5, 0.0),
]


@pytest.mark.parametrize("function, at, want", EDGES)
def test_gradient_at_edges(function, at, want):
    assert float(ms.grad(function)(ms.Tensor([at]))) == pytest.approx(want)


def test_half_floats_stay():
    x = ms.Tensor([1.0, -1.0], ms.float16)
    for name in ("relu6", "silu", "gelu", "hardswish", "softplus", "elu", "leaky_relu"):
        assert getattr(ops, name)(x).dtype == ms.float16, name
    assert ops.softmax(x, dtype=ms.float32).dtype == ms.float32


def test_relu_in_place():
    x = ms.Tensor([-1.0, 2.0])
    assert ops.relu(x, inplace=True) is x and str(x) == "[0. 2.]"


def test_rrelu_slopes():
    out = ops.rrelu(ms.Tensor(-np.ones(1000, np.float32)), 0.2, 0.4).asnumpy()
    assert -0.4 <= out.min() < -0.39 and -0.21 < out.max() <= -0.2


def test_gumbel_softmax():
    x = ms.Tensor(np.log(np.array([[0.1, 0.9]] * 2000)))
    soft = ops.gumbel_softmax(x)
    np.testing.assert_allclose(soft.sum(-1).asnumpy(), 1, rtol=1e-5)
    hard = ops.gumbel_softmax(x, hard=True).asnumpy()
    assert set(np.unique(np.round(hard, 6))) == {0, 1} and abs(hard[:, 1].mean() - 0.9) < 0.03
    grad = ms.grad(lambda x: ops.gumbel_softmax(x, hard=True)[0, 0])(x)
    assert grad.asnumpy()[0].any()


def test_errors():
    x = ms.Tensor([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="approximate"):
        ops.gelu(x, "erf")
    with pytest.raises(ValueError, match="alpha"):
        ops.celu(x, 0)
    with pytest.raises(ValueError, match="even size"):
        ops.glu(x)
    with pytest.raises(ValueError, match="weight"):
        ops.prelu(x, ms.Tensor([0.1, 0.2]))
    with pytest.raises(ValueError, match="tau"):
        ops.gumbel_softmax(x, 0.0)
    with pytest.raises(ValueError, match="lower"):
        ops.rrelu(x, 0.5, 0.1)


@pytest.mark.parametrize("function", [ops.softmax, ops.log_softmax])
def test_gradients_in_half_precision_are_rounded_once(function):
    """Their sums were rounded, too, and small gradients became 0."""
    x = np.array([[2.953125, 0.80078125, 2.390625], [-1.3671875, -4.09375, 2.359375]], "float32")
    weights = ms.Tensor(np.array([[0.703125, 0.7109375, 0.69140625], [0.5, 0.125, 0.51953125]], "float32"))

    def gradient(dtype):
        return (
            ms.grad(lambda v: (function(v, -1).astype(ms.float32) * weights).sum())(ms.Tensor(x).astype(dtype)).float().asnumpy()
        )

    np.testing.assert_allclose(gradient(ms.bfloat16), gradient(ms.float32), rtol=0.01, atol=1e-4)


def test_threshold_leaves_nan():
    x = ms.Tensor([np.nan, 0.1, 2.0])
    assert np.array_equal(ops.threshold(x, 0.3, 9.0).asnumpy(), np.float32([np.nan, 9, 2]), equal_nan=True)
    assert ms.grad(lambda v: ops.threshold(v, 0.3, 9.0).sum())(x).tolist() == [1.0, 0.0, 1.0]
