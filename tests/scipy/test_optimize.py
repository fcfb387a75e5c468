"""Minimization, line search and assignment."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor
from msjax.scipy.optimize import line_search, linear_sum_assignment, minimize

COSTS = np.array([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]], np.float32)


def himmelblau(p):
    x, y = p
    return (x**2 + y - 11.0) ** 2 + (x + y**2 - 7.0) ** 2


@pytest.mark.parametrize("method", ["BFGS", "LBFGS", "lbfgs"])
def test_minimum(method):
    found = minimize(himmelblau, Tensor(np.zeros(2, np.float32)), method=method, options={"maxiter": None, "gtol": 1e-6})
    np.testing.assert_allclose(found.x.asnumpy(), [3, 2], atol=1e-5)
    assert found.x.dtype == ms.float32 and found.success is True and found.fun == pytest.approx(0, abs=1e-9)
    assert (found.hess_inv is None) == (method != "BFGS") and found.nfev == found.njev >= found.nit > 3


def test_arguments_and_a_gradient_of_ones_own():
    calls = []

    def jac(x, target):
        calls.append(x.asnumpy())
        return 2 * (x - target)

    target = Tensor([1.0, -2.0])
    found = minimize(lambda x, t: ((x - t) ** 2).sum(), Tensor([0.0, 0.0]), (target,), "BFGS", jac)
    np.testing.assert_allclose(found.x.asnumpy(), target.asnumpy(), atol=1e-6)
    assert len(calls) == found.njev


def test_line_search():
    found = line_search(himmelblau, Tensor([1.0, 1.0]), Tensor([1.0, 1.0]))
    assert (found.failed, found.a_k, found.f_k, found.status) == (False, 1.0, 26.0, 0)
    assert found.g_k.asnumpy().tolist() == [-42.0, -18.0]
    with pytest.warns(RuntimeWarning, match="did not converge"):
        assert line_search(lambda x: (x**2).sum(), Tensor([1.0]), Tensor([1.0])).failed


def test_assignment():
    assert [v.asnumpy().tolist() for v in linear_sum_assignment(Tensor(COSTS), False)] == [[0, 1, 2], [1, 0, 2]]
    assert [v.asnumpy().tolist() for v in linear_sum_assignment(Tensor(COSTS), True)] == [[0, 1, 2], [0, 2, 1]]
    assert [v.asnumpy().tolist() for v in linear_sum_assignment(Tensor(COSTS), False, 2)] == [[0, 1, -1], [1, 0, -1]]


def test_places_of_integers_are_floats():
    found = minimize(lambda x: ((x - 2.5) ** 2).sum(), Tensor([0, 1], ms.int32), method="BFGS", options={"gtol": 1e-5})
    assert found.x.dtype == ms.float32
    np.testing.assert_allclose(found.x.asnumpy(), [2.5, 2.5], atol=1e-4)
    line = line_search(lambda x: ((x - 2.5) ** 2).sum(), Tensor([2], ms.int32), Tensor([0.5]))
    assert line.g_k.dtype == ms.float32 and line.f_k == 0


@pytest.mark.parametrize(
    "make, kind, words",
    [
        (lambda: minimize(himmelblau, Tensor([0.0, 0.0])), ValueError, "specify a solver"),
        (lambda: minimize(himmelblau, Tensor([0.0, 0.0]), method="CG"), ValueError, "Method CG not recognized"),
        (lambda: minimize(himmelblau, Tensor([0.0, 0.0]), 3, "BFGS"), TypeError, "must be a tuple, got 3"),
        (lambda: minimize(himmelblau, [0.0, 0.0], method="BFGS"), TypeError, "'x0' should be a Tensor"),
        (lambda: minimize(himmelblau, Tensor([0.0, 0.0]), method="BFGS", bounds=[(0, 1)]), ValueError, "'bounds'"),
        (lambda: linear_sum_assignment(Tensor(COSTS), 1), TypeError, "'maximize' should be a bool"),
        (lambda: linear_sum_assignment(Tensor(COSTS[0]), True), ValueError, "'cost_matrix'"),
        (lambda: linear_sum_assignment(Tensor([[1j]]), True), TypeError, "of real numbers"),
        (lambda: line_search(himmelblau, Tensor([0.0, 0.0]), [1.0, 1.0]), TypeError, "'pk' should be a Tensor"),
        (lambda: linear_sum_assignment(COSTS, True), TypeError, "'cost_matrix' should be a Tensor"),
    ],
)
def test_errors(make, kind, words):
    with pytest.raises(kind, match=words):
        make()
