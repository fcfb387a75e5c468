"""Operator classes of mathematics: attributes, and results of those that are not simply the functions."""

import numpy as np
import pytest

import msjax as ms
from msjax import ops

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)
Q = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]], np.float32)
x, q, i = ms.Tensor(X), ms.Tensor(Q), ms.Tensor([[3, 1], [-5, 6]], ms.int32)


def rounded(v):
    return v.round() + 0.0


CALLS = [
    (lambda: ops.ReduceSum(True)(x, 1), X.sum(1, keepdims=True)),
    (lambda: ops.ReduceSum()(x, ()), X.sum()),
    (lambda: ops.ReduceSum(skip_mode=True)(x, ()), X),
    (lambda: ops.ReduceMean()(x, [0, 1]), X.mean()),
    (lambda: ops.ReduceMax(keep_dims=True)(x, ms.Tensor(1)), X.max(1, keepdims=True)),
    (lambda: ops.ReduceProd()(x, 0), X.prod(0)),
    (lambda: ops.ReduceAll()(x > 0, 1), (X > 0).all(1)),
    (lambda: ops.ReduceAny()(x > 0), True),
    (lambda: ops.ReduceStd(axis=1)(x)[0], X.std(1, ddof=1)),
    (lambda: ops.ReduceStd((), False, True)(x)[1], X.mean(keepdims=True)),
    (lambda: ops.ArgMaxWithValue(1)(x)[0], X.argmax(1)),
    (lambda: ops.ArgMinWithValue(0, True)(x)[1], X.min(0, keepdims=True)),
    (lambda: ops.CumSum(True, True)(x, 1), [[0.75, 2.0, 0.0], [-0.5, -0.75, 0.0]]),
    (lambda: ops.CumProd(True)(x, 1), [[1, 0.5, -0.625], [1, 1.5, 0.375]]),
    (lambda: ops.CumulativeLogsumexp()(x, 1), np.log(np.exp(X).cumsum(1))),
    (lambda: ops.Cummax(1)(x)[0], np.maximum.accumulate(X, 1)),
    (lambda: ops.Median(True)(x)[0], 0.25),
    (lambda: ops.L2Normalize(axis=1, epsilon=2.0)(x)[1], X[1] / np.linalg.norm(X[1])),
    (lambda: ops.L2Loss()(x), (X**2).sum() / 2),
    (lambda: ops.LpNorm(1, 3)(x), (np.abs(X) ** 3).sum(1) ** (1 / 3)),
    (lambda: ops.EuclideanNorm()(x, 1), np.linalg.norm(X, axis=1)),
    (lambda: ops.NuclearNorm()(x), np.linalg.norm(X, "nuc")),
    (lambda: ops.MatMul(transpose_b=True)(x, x), X @ X.T),
    (lambda: ops.MatMul(True)(x, x), X.T @ X),
    (lambda: ops.BatchMatMul(transpose_a=True)(x[None], x[None]), (X.T @ X)[None]),
    (lambda: ops.Einsum("ij,kj->ik")((x, x)), X @ X.T),
    (lambda: ops.MatrixTriangularSolve(lower=False, adjoint=True)(q, q), np.linalg.solve(np.triu(Q).T, Q)),
    (lambda: ops.MatrixInverse()(q), np.linalg.inv(Q)),
    (lambda: ops.Svd(compute_uv=False)(q)[0], np.linalg.svd(Q, compute_uv=False)),
    (lambda: ops.TridiagonalMatMul()(*[ms.Tensor([[1.0, 1, 1]])] * 3, q), (np.eye(3) + np.eye(3, k=1) + np.eye(3, k=-1)) @ Q),
    (lambda: ops.FFTWithSize(1, False, True)(x), np.fft.rfft(X)),
    (lambda: ops.FFTWithSize(2, True, False)(ops.FFTWithSize(2, False, False)(x)), X),
    (lambda: ops.RealDiv()(i, 2), [[1, 0], [-2, 3]]),
    (lambda: ops.Div()(i, 2), [[1.5, 0.5], [-2.5, 3]]),
    (lambda: ops.Mod()(x, 1.0), np.fmod(X, 1)),
    (lambda: ops.DivNoNan()(x, x * 0), X * 0),
    (lambda: ops.MulNoNan()(x / 0, x * 0), X * 0),
    (lambda: ops.SquaredDifference()(x, 1.0), (X - 1) ** 2),
    (lambda: ops.Softplus()(x), np.log1p(np.exp(X))),
    (lambda: ops.GeLU()(x), ops.gelu(x, "tanh").asnumpy()),
    (lambda: ops.Softmax(0)(x).sum(0), [1, 1, 1]),
    (lambda: ops.LogSoftmax(0)(x), X - np.log(np.exp(X).sum(0))),
    (lambda: ops.Range()(1, 5, 2), [1, 3]),
    (lambda: ops.LogSpace(3, 2)(ms.Tensor(0.0), ms.Tensor(2.0)), [1, 2, 4]),
    (lambda: ops.HammingWindow()(4), np.hamming(5)[:-1]),
    (lambda: ops.Complex()(x, x), X + 1j * X),
    (lambda: ops.Round()(x), rounded(X)),
]


@pytest.mark.parametrize("call, want", CALLS, ids=range(len(CALLS)))
def test_value(call, want):
    got = call().asnumpy()
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_dtypes():
    assert ops.ReduceSum()(i).dtype == ops.ReduceMean()(i).dtype == ops.ReduceProd()(i).dtype == ms.int32
    assert ops.Argmax()(x).dtype == ms.int32 and ops.Argmax(output_type=ms.int64)(x).dtype == ms.int64
    assert ops.CountNonZero()(x).dtype == ms.int64
    assert ops.StandardNormal()((2,)).dtype == ms.float32 and ops.UniformInt()((2,), 0, 5).dtype == ms.int32


def test_attributes_and_names():
    matmul = ops.MatMul(transpose_b=True)
    assert matmul.name == "MatMul" and matmul.transpose_b and not matmul.transpose_a
    assert ops.ReduceSum(keep_dims=True).keep_dims and ops.Dropout(0.9).keep_prob == 0.9
    assert isinstance(matmul, ops.Primitive)


def test_errors():
    with pytest.raises(TypeError, match="axis"):
        ops.LpNorm()
    with pytest.raises(ValueError, match="matrices"):
        ops.MatMul()(x[None], x)
    with pytest.raises(TypeError, match="output_type"):
        ops.Argmax(output_type=ms.float32)(x)
    with pytest.raises(TypeError, match="one axis"):
        ops.L2Normalize(axis=(0, 1))(x)
    with pytest.raises(ValueError, match="max_length"):
        ops.Randperm(2)(5)
    with pytest.raises(ValueError, match="keep_prob"):
        ops.Dropout(0.0)(x)
