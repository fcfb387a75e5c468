"""Operators that sort, search and count."""

import jax
import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, ops
from tests.ops.harness import Case, check_gradient, check_value

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)

CASES = [
    Case("sort", lambda x: ops.sort(x)[0], (X,), np.sort),
    Case("sort_down", lambda x: ops.sort(x, 0, True)[0], (X,), lambda x: -np.sort(-x, 0)),
    Case("topk", lambda x: ops.topk(x, 2)[0], (X,), lambda x: -np.sort(-x)[:, :2]),
    Case("topk_smallest", lambda x: ops.topk(x, 1, 0, largest=False)[0], (X,), lambda x: np.sort(x, 0)[:1]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value(case):
    check_value(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradient(case):
    check_gradient(case)


def test_indices():
    assert ops.sort(Tensor(X))[1].dtype is ms.int32
    assert ops.argsort(Tensor(X), -1, True).tolist() == [[2, 0, 1], [0, 1, 2]]
    assert ops.topk(Tensor(X), 2)[1].tolist() == [[2, 0], [0, 1]]
    assert ops.top_k(Tensor([3, 1, 2]), 2)[0].tolist() == [3, 2]


def test_targets_among_the_best():
    x = Tensor([[1, 2, np.inf], [np.nan, 1, 2], [1, 1, 0]], ms.float32)
    # Recorded: ties count, and neither a row with inf or nan nor a target that is no class is in.
    for target, k, expected in (
        ([0, 1, 1], 0, [False, False, False]),
        ([0, 1, 1], 1, [False, False, True]),
        ([2, 0, 2], 2, [False, False, False]),
        ([2, 0, 2], 3, [False, False, True]),
        ([5, -1, 0], 5, [False, False, True]),
    ):
        for name in (ms.int32, ms.int64):
            assert ops.intopk(x, Tensor(target, name), k).tolist() == expected
        assert ops.InTopK(k)(x, Tensor(target, ms.int32)).tolist() == expected
        assert ms.jit(ops.intopk)(x, Tensor(target, ms.int32), k).tolist() == expected


@pytest.mark.parametrize(
    "x1, x2, k, error",
    [
        (Tensor(X), Tensor([0, 1], ms.int32), 1.5, TypeError),
        (Tensor(X), Tensor([0, 1], ms.float32), 1, TypeError),
        (Tensor([[1, 2]], ms.int32), Tensor([0], ms.int32), 1, TypeError),
        (Tensor(X), Tensor([0, 1, 2], ms.int32), 1, ValueError),
        (Tensor(X[0]), Tensor([0, 1], ms.int32), 1, ValueError),
    ],
)
def test_targets_of_other_kinds(x1, x2, k, error):
    with pytest.raises(error, match="'intopk'"):
        ops.intopk(x1, x2, k)


def test_distinct_elements():
    values, places = ops.unique(Tensor([3, 1, 3, 2]))
    assert values.tolist() == [3, 1, 2] and places.tolist() == [0, 1, 0, 2]
    assert [t.tolist() for t in ops.unique_with_pad(Tensor([1, 2, 1]), 0)] == [[1, 2, 0], [0, 1, 0]]
    out = ops.unique_consecutive(Tensor([1, 1, 2, 2, 3, 1]), True, True)
    assert [t.tolist() for t in out] == [[1, 2, 3, 1], [0, 0, 1, 1, 2, 3], [2, 2, 1, 1]]
    assert ops.unique_consecutive(Tensor([[1, 1, 2], [3, 3, 4]]), dim=1).tolist() == [[1, 2], [3, 4]]
    assert [t.tolist() for t in Tensor([2, 1, 2]).unique(return_counts=True)] == [[1, 2], [1, 2]]


def test_searching():
    x = Tensor([1.0, 3.0, 5.0])
    assert ops.searchsorted(x, Tensor([3.0, 4.0])).tolist() == [1, 2]
    assert ops.searchsorted(x, Tensor([3.0]), right=True, out_int32=True).dtype is ms.int32
    rows = ops.searchsorted(Tensor([[1.0, 2.0], [5.0, 6.0]]), Tensor([[2.0], [2.0]]))
    assert rows.tolist() == [[1], [0]]
    assert ops.bucketize(Tensor([0.5, 1.0, 3.0]), [1.0, 2.0]).tolist() == [0, 0, 2]
    # The operator class counts a boundary to the bucket after it, as MindSpore's does.
    assert ops.Bucketize([1.0, 2.0])(Tensor([1.0, 2.0, 3.0])).tolist() == [1, 2, 2]


def test_counting():
    out = ops.bincount(Tensor([1, 2, 2]), minlength=4)
    assert out.tolist() == [0, 1, 2, 0] and out.dtype is ms.float32
    assert ops.bincount(Tensor([1, 2, 2]), Tensor([0.5, 1.0, 2.0])).tolist() == [0, 0.5, 3]
    assert ops.histc(Tensor([1.0, 2.0, 3.0]), 4).tolist() == [1, 0, 1, 1]
    assert ops.histc(Tensor([1.0, 2.0, 9.0]), 4, 0.0, 4.0).tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: ops.sort(x, 0.5), TypeError),
        (lambda x: ops.topk(x, 5), ValueError),
        (lambda x: ops.topk(x, 1.5), TypeError),
        (lambda x: ops.searchsorted(x, x, side="up"), ValueError),
        (lambda x: ops.bincount(x), TypeError),
        (lambda x: ops.bincount(Tensor([-1])), ValueError),
        (lambda x: ops.histc(x, 0), ValueError),
    ],
)
def test_bad_input(call, error):
    with pytest.raises(error):
        call(Tensor(X))


def test_sizes_that_depend_on_values_need_values():
    with pytest.raises(TypeError, match=r"ops\.unique"):
        jax.jit(lambda x: ops.unique(Tensor(x))[0])(np.array([1, 2]))
