"""Mathematical layers, against numpy and known values."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, nn

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)


def test_matmul_with_transposes():
    y = X + 1
    np.testing.assert_allclose(nn.MatMul(True)(Tensor(X), Tensor(y)).asnumpy(), X.T @ y, rtol=1e-5)
    np.testing.assert_allclose(nn.MatMul(False, True)(Tensor(X), Tensor(y)).asnumpy(), X @ y.T, rtol=1e-5)
    np.testing.assert_allclose(nn.MatMul(True)(Tensor(X[:, 0]), Tensor(y)).asnumpy(), X[:, 0] @ y, rtol=1e-5)


def test_ranges_have_the_type_of_their_arguments():
    for args, want in [((4,), [0, 1, 2, 3]), ((1, 8, 2), [1, 3, 5, 7]), ((10, 1, -4), [10, 6, 2]), ((10, 1, 2), [])]:
        out = nn.Range(*args)()
        assert out.dtype == ms.int32 and out.tolist() == want
    out = nn.Range(0.0, 1.0, 0.25)()
    assert out.dtype == ms.float32 and out.tolist() == [0, 0.25, 0.5, 0.75]


def test_reductions():
    x = Tensor(X)
    want = np.log(np.exp(X).sum(1, keepdims=True))
    np.testing.assert_allclose(nn.ReduceLogSumExp(1, True)(x).asnumpy(), want, rtol=1e-5)
    np.testing.assert_allclose(nn.ReduceLogSumExp(())(x).asnumpy(), np.log(np.exp(X).sum()), rtol=1e-5)
    for layer, axis, keep in [(nn.Moments(), None, False), (nn.Moments(0), 0, False), (nn.Moments((0, 1), True), (0, 1), True)]:
        mean, variance = layer(x)
        np.testing.assert_allclose(mean.asnumpy(), X.mean(axis, keepdims=keep), rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(variance.asnumpy(), X.var(axis, keepdims=keep), rtol=1e-4)
    assert nn.Moments()(x.astype(ms.float16))[0].dtype == ms.float16


def test_gamma_functions_at_known_points():
    inf, nan = np.inf, np.nan
    x = Tensor(np.array([1, 3, 0.5, 0, -1, inf, -inf], np.float32))
    np.testing.assert_allclose(
        nn.LGamma()(x).asnumpy(), [0, np.log(2), np.log(np.pi) / 2, inf, inf, inf, inf], rtol=1e-5, atol=1e-6
    )
    x = Tensor(np.array([1, 2, 0, -1, inf, -inf], np.float32))
    np.testing.assert_allclose(nn.DiGamma()(x).asnumpy(), [-0.5772157, 0.4227843, -inf, nan, inf, nan], rtol=1e-5)
    a, x = Tensor([1.0, 2.0]), Tensor([1.0])
    np.testing.assert_allclose(nn.IGamma()(a, x).asnumpy(), [1 - np.exp(-1), 1 - 2 * np.exp(-1)], rtol=1e-5)
    np.testing.assert_allclose(nn.LBeta()(a, x).asnumpy(), [0, -np.log(2)], atol=1e-5)


def test_inverse_and_determinant():
    a = X @ X.T + np.eye(3, dtype=np.float32)
    np.testing.assert_allclose(nn.MatInverse()(Tensor(a)).asnumpy(), np.linalg.inv(a), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(nn.MatDet()(Tensor(a)).asnumpy(), np.linalg.det(a), rtol=1e-4)


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: nn.MatMul(3), TypeError),
        (lambda: nn.MatMul()(Tensor(X), Tensor(X)), ValueError),
        (lambda: nn.MatMul()(Tensor(1.0), Tensor(X)), ValueError),
        (lambda: nn.Range(1, 8, 0), ValueError),
        (lambda: nn.Range("a"), TypeError),
        (lambda: nn.ReduceLogSumExp("a"), TypeError),
        (lambda: nn.ReduceLogSumExp(1, 3), TypeError),
        (lambda: nn.Moments(axis="a"), TypeError),
        (lambda: nn.Moments()(Tensor([1, 2])), TypeError),
        (lambda: nn.LGamma()(Tensor([1, 2])), TypeError),
        (lambda: nn.IGamma()(Tensor([1, 2]), Tensor([1.0])), TypeError),
    ],
)
def test_bad_arguments_are_refused(make, error):
    with pytest.raises(error):
        make()
