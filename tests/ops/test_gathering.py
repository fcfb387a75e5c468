"""Operators that pick and put elements by index."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, ops
from tests.ops.harness import Case, check_gradient, check_value

X = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75], [1.0, 4.0, 3.0]], np.float32)
C = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 5
U = np.array([9.0, 0.125], np.float32)
ROWS = np.array([[0, 1], [2, 2]])
TWICE = np.array([[0, 1], [0, 1]])
PICK = np.array([[0, 2, 1], [1, 1, 0]])
MASK = X > 0.6
IDS = np.array([0, 2, 0])


def put(x, u, how, rows=ROWS):
    x = x.copy()
    for (i, j), v in zip(rows, u):
        x[i, j] = {"update": v, "add": x[i, j] + v, "sub": x[i, j] - v, "mul": x[i, j] * v, "div": x[i, j] / v}.get(
            how, max(x[i, j], v) if how == "max" else min(x[i, j], v)
        )
    return x


def masked(x):
    return np.where(MASK, np.float32(7), x)


CASES = [
    Case("gather", lambda x: ops.gather(x, Tensor(PICK), 1), (X,), lambda x: x[:, PICK]),
    Case("gather_batch", lambda x: ops.gather(x, Tensor(PICK), 1, 1), (C,), lambda x: np.stack([x[i, PICK[i]] for i in (0, 1)])),
    Case("gather_d", lambda x: ops.gather_d(x, 0, Tensor(PICK)), (X,), lambda x: np.take_along_axis(x, PICK, 0)),
    Case("gather_nd", lambda x: ops.gather_nd(x, Tensor(ROWS)), (X,), lambda x: x[tuple(ROWS.T)]),
    Case("index_select", lambda x: ops.index_select(x, 1, Tensor(IDS)), (X,), lambda x: x[:, IDS]),
    Case("take", lambda x: ops.take(x, Tensor(PICK)), (X,), lambda x: x.ravel()[PICK]),
    Case("embedding", lambda x: ops.embedding(Tensor(IDS), x), (X,), lambda x: x[IDS]),
    Case("where", lambda x, y: ops.where(Tensor(MASK), x, y), (X, X * 2), lambda x, y: np.where(MASK, x, y)),
    Case("select", lambda x: ops.select(Tensor(MASK), 7.0, x), (X,), masked),
    Case("masked_fill", lambda x: ops.masked_fill(x, Tensor(MASK), 7.0), (X,), masked),
    Case("masked_select", lambda x: ops.masked_select(x, Tensor(MASK)), (X,), lambda x: x[MASK], traceable=False),
    Case(
        "masked_scatter",
        lambda x, u: ops.MaskedScatter()(x, Tensor(X > 2.5), u),
        (X, U),
        lambda x, u: put(x, u, "update", [(2, 1), (2, 2)]),
    ),
    Case(
        "scatter",
        lambda x, u: ops.scatter(x, 1, Tensor([[0], [1]]), u.reshape((2, 1))),
        (X, U),
        lambda x, u: put(x, u, "update", [(0, 0), (1, 1)]),
    ),
    Case(
        "elements_add",
        lambda x, u: ops.tensor_scatter_elements(x, Tensor([[2], [1]]), u.reshape((2, 1)), 1, "add"),
        (X, U),
        lambda x, u: put(x, u, "add", [(0, 2), (1, 1)]),
    ),
    Case("scatter_nd", lambda u: ops.scatter_nd(Tensor(TWICE), u, (3, 3)), (U,), lambda u: put(X * 0, u, "add", TWICE)),
    Case(
        "index_fill",
        lambda x: ops.index_fill(x, 1, Tensor([0, 2]), 4.0),
        (X,),
        lambda x: np.c_[0 * x[:, 0] + 4, x[:, 1], 0 * x[:, 0] + 4],
    ),
    Case(
        "index_add",
        lambda x, y: ops.index_add(x, Tensor([2, 0]), y, 0),
        (X, X[:2]),
        lambda x, y: x + np.stack([y[1], 0 * y[0], y[0]]),
    ),
    Case("index_put", lambda x, u: x.index_put((Tensor([0, 2]), Tensor([1, 2])), u), (X, U), lambda x, u: put(x, u, "update")),
    Case(
        "segment_sum",
        lambda x: ops.unsorted_segment_sum(x, Tensor([0, -1, 0]), 2),
        (X,),
        lambda x: np.stack([x[0] + x[2], 0 * x[0]]),
    ),
    Case(
        "segment_max",
        lambda x: ops.unsorted_segment_max(x, Tensor([0, 1, 0]), 2),
        (X,),
        lambda x: np.stack([np.maximum(x[0], x[2]), x[1]]),
    ),
    Case(
        "segment_prod",
        lambda x: ops.unsorted_segment_prod(x, Tensor([0, 1, 0]), 2),
        (X,),
        lambda x: np.stack([x[0] * x[2], x[1]]),
    ),
    Case(
        "segment_mean",
        lambda x: ops.SegmentMean()(x, Tensor([0, 0, 2])),
        (X,),
        lambda x: np.stack([(x[0] + x[1]) / 2, 0 * x[0], x[2]]),
        traceable=False,
    ),
]
CASES += [
    Case(
        f"tensor_scatter_{how}",
        lambda x, u, how=how: getattr(ops, f"tensor_scatter_{how}")(x, Tensor(ROWS), u),
        (X, U),
        lambda x, u, how=how: put(x, u, how),
    )
    for how in ("update", "add", "sub", "mul", "div", "max", "min")
]
CASES += [
    Case(
        f"twice_{how}",
        lambda x, u, how=how: getattr(ops, f"tensor_scatter_{how}")(x, Tensor(TWICE), u),
        (X, U),
        lambda x, u, how=how: put(x, u, how, TWICE),
    )
    for how in ("add", "mul", "max")
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value(case):
    check_value(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradient(case):
    check_gradient(case)


def test_equal_values_share_the_gradient():
    grad = ms.grad(lambda x, u: ops.tensor_scatter_max(x, Tensor([[0], [0]]), u), (0, 1))
    by_x, by_u = grad(Tensor([2.0]), Tensor([2.0, 2.0]))
    np.testing.assert_allclose([*by_x.tolist(), *by_u.tolist()], [1 / 3] * 3, rtol=1e-6)


def test_a_product_with_a_zero_has_the_right_gradient():
    grad = ms.grad(lambda u: ops.tensor_scatter_mul(Tensor([2.0]), Tensor([[0], [0]]), u))
    assert grad(Tensor([0.0, 3.0])).tolist() == [6, 0]
    assert grad(Tensor([0.0, 0.0])).tolist() == [0, 0]


def test_empty_segments_hold_the_limits_of_the_type():
    out = ops.unsorted_segment_max(Tensor([1.0]), Tensor([0]), 2)
    assert out.asnumpy()[1] == np.finfo(np.float32).min


def test_padding_row_gets_no_gradient():
    grad = ms.grad(lambda w: ops.embedding(Tensor([0, 1, 1]), w, padding_idx=1))(Tensor(X))
    assert grad.asnumpy().sum(1).tolist() == [3, 0, 0]
    assert ops.embedding(Tensor([1, 0]), Tensor([[np.inf], [2.0]]), padding_idx=1).tolist() == [[2], [np.inf]]


@pytest.mark.parametrize("axis, want", [(-1, [[0, 0, 1], [0, 0, 0]]), (0, [[0, 0], [0, 0], [1, 0]])])
def test_one_hot(axis, want):
    out = ops.one_hot(Tensor([2, 5]), 3, axis=axis)
    assert out.tolist() == want and out.dtype is ms.int64
    assert ops.one_hot(Tensor([2]), 3, 1.0, 0.0).dtype is ms.float32
    assert np.flatnonzero(ops.one_hot(Tensor([5], ms.uint8), 300).asnumpy()).tolist() == [5]  # bytes can't hold 261


def test_positions_and_masks():
    assert ops.nonzero(Tensor([[0, 3], [4, 0]])).tolist() == [[0, 1], [1, 0]]
    assert [t.tolist() for t in ops.nonzero(Tensor([0, 3]), as_tuple=True)] == [[1]]
    assert ops.sequence_mask(Tensor([1, 3]), 4).asnumpy().sum(1).tolist() == [1, 3]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: ops.gather(x, Tensor([5]), 0), RuntimeError),
        (lambda x: ops.gather(x, Tensor([1.0]), 0), TypeError),
        (lambda x: ops.gather(x, Tensor([0]), 7), ValueError),
        (lambda x: ops.gather_d(x, 0, Tensor([0])), ValueError),
        (lambda x: ops.masked_fill(x, x, 1.0), TypeError),
        (lambda x: ops.masked_select(x, 3), TypeError),
        (lambda x: ops.select(True, 1, 2), TypeError),
        (lambda x: ops.one_hot(x, 3), TypeError),
        (lambda x: ops.one_hot(Tensor([0]), -1), ValueError),
        (lambda x: ops.tensor_scatter_add(x, Tensor([[0]]), Tensor([1.0])), ValueError),
        (lambda x: ops.tensor_scatter_add(x, Tensor([[0, 0]]), Tensor([1])), TypeError),
        (lambda x: ops.unsorted_segment_sum(x, Tensor([0]), 1), ValueError),
    ],
)
def test_bad_input(call, error):
    with pytest.raises(error):
        call(Tensor(X))
