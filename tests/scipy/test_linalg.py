"""Decompositions and solvers beside those of scipy, their gradients and errors."""

import numpy as np
import pytest
import scipy.linalg

import msjax as ms
from msjax import Tensor
from msjax.scipy import linalg
from tests.x64 import present

RANDOM = np.random.RandomState(0)
A = RANDOM.randn(3, 3).astype(np.float32)
P = (A @ A.T + 3 * np.eye(3)).astype(np.float32)
B = RANDOM.randn(3).astype(np.float32)
LOWER = np.tril(P)

CASES = [
    ("block_diag", (A, [[1.0]], B), {}),
    ("inv", (P,), {}),
    ("cholesky", (P,), {}),
    ("cholesky", (P,), {"lower": True}),
    ("lu_factor", (A,), {}),
    ("lu", (A,), {}),
    ("lu", (A,), {"permute_l": True}),
    ("eigh", (P,), {"eigvals_only": True}),
    ("solve_triangular", (LOWER, B), {"lower": True}),
    ("solve_triangular", (P, B), {"trans": "T", "unit_diagonal": True}),
    ("lstsq", (A[:, :2], B), {"lapack_driver": "gelsd"}),
]


@pytest.mark.parametrize("name, args, settings", CASES)
def test_as_scipy(name, args, settings):
    args = [np.asarray(a, np.float32) for a in args]
    found = getattr(linalg, name)(*map(Tensor, args), **{key.removeprefix("lapack_"): value for key, value in settings.items()})
    expected = getattr(scipy.linalg, name)(*args, **settings)
    found, expected = ([v] if not isinstance(v, tuple) else list(v) for v in (found, expected))
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.asnumpy().reshape(np.shape(theirs)), theirs, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("lower", [True, False])
def test_factors_solve(lower):
    solution = linalg.cho_solve(linalg.cho_factor(Tensor(P), lower), Tensor(B))
    np.testing.assert_allclose(P @ solution.asnumpy(), B, atol=1e-5)


def test_eigenvectors():
    values, vectors = (v.asnumpy() for v in linalg.eigh(Tensor(P)))
    np.testing.assert_allclose(P @ vectors, vectors * values, atol=2e-5)


def test_the_default_driver_gives_no_residuals_so_that_they_add_nothing_to_gradients():
    a, b = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 2.0, 0.0])
    found = linalg.lstsq(Tensor(a, ms.float32), Tensor(b, ms.float32))
    assert [part.shape for part in found] == [(2,), (0,), (), (0,)]
    whole = ms.grad(lambda b: sum(part.sum() for part in linalg.lstsq(Tensor(a, ms.float32), b)))(Tensor(b, ms.float32))
    np.testing.assert_allclose(whole.asnumpy(), np.linalg.pinv(a).sum(0), atol=1e-5)


def test_integers_batches_and_permutations_have_mindspores_types():
    whole = [[4, 1, 0], [0, 3, 1], [0, 0, 2]]
    for dtype, result in ((ms.int32, ms.float32), (ms.int64, present(ms.float64)), (ms.float16, ms.float16)):
        found = linalg.solve_triangular(Tensor(whole, dtype), Tensor([1, 2, 3], dtype))
        assert found.dtype == result
        np.testing.assert_allclose(found.asnumpy(), [0.20833333, 0.16666667, 1.5], rtol=2e-3)
    both = linalg.solve_triangular(Tensor([whole] * 2, ms.float32), Tensor([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]))
    np.testing.assert_allclose(both.asnumpy(), [[0.20833333, 0.16666667, 1.5], [0.625, 0.5, 2.5]], rtol=1e-6)
    assert linalg.lu(Tensor(A))[0].dtype == ms.int32


def test_gradient():
    grad = ms.grad(lambda a: linalg.inv(a).sum())(Tensor(P)).asnumpy()
    inverse = np.linalg.inv(P)
    np.testing.assert_allclose(grad, -np.outer(inverse.sum(0), inverse.sum(1)), atol=1e-5)


@pytest.mark.parametrize(
    "make, kind, words",
    [
        (lambda: linalg.inv(Tensor(A[:2])), ValueError, r"square matrix like \(N, N\), but got \(2, 3\)"),
        (lambda: linalg.inv(Tensor(B)), ValueError, "dimension of 'a' should be 2, but got 1"),
        (lambda: linalg.cholesky(3), TypeError, "'cholesky', the type of 'a' should be Tensor"),
        (lambda: linalg.eigh(Tensor(P), Tensor(P)), ValueError, "'b' should be None"),
        (lambda: linalg.solve_triangular(Tensor(P), Tensor(B), trans="X"), ValueError, "trans"),
        (lambda: linalg.solve_triangular(Tensor(P), Tensor(P[:2, 0])), ValueError, r"the shape of 'b' should be \(3,\)"),
        (lambda: linalg.solve_triangular(Tensor(P), Tensor([1, 2, 3])), TypeError, "the dtype of 'b' should be that of 'a'"),
        (lambda: linalg.cholesky(Tensor(P), Tensor(P)), TypeError, "'lower' should be a bool"),
        (lambda: linalg.lu(Tensor(P, ms.float16)), TypeError, "the dtype of 'a' should have 32 or 64 bits"),
    ],
)
def test_errors(make, kind, words):
    with pytest.raises(kind, match=words):
        make()
