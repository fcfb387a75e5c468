"""Operators that write to Parameters, and Tensor methods that change their Tensor."""

import numpy as np
import pytest

import msjax as ms
from msjax import Parameter, Tensor, ops

W = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)


def parameter(data=W):
    return Parameter(Tensor(data), name="w")


def test_assign():
    w = parameter()
    assert ops.assign(w, Tensor(W * 2)) is w and w.value().tolist() == (W * 2).tolist()
    ops.assign_add(w, Tensor(W))
    ops.AssignSub()(w, Tensor(W * 2))
    assert w.value().tolist() == W.tolist()
    ops.assign(w, Tensor(np.ones((3, 2), np.int64)))
    assert w.dtype is ms.float32
    with pytest.raises(ValueError):
        ops.assign(w, Tensor([1.0]))
    with pytest.raises(TypeError):
        ops.assign(3, Tensor([1.0]))


@pytest.mark.parametrize(
    "how, want",
    [
        ("update", [[10, 10], [3, 4], [20, 20]]),
        ("add", [[11, 12], [3, 4], [25, 26]]),
        ("sub", [[-9, -8], [3, 4], [-15, -14]]),
        ("mul", [[10, 20], [3, 4], [100, 120]]),
        ("div", [[0.1, 0.2], [3, 4], [0.25, 0.3]]),
        ("max", [[10, 10], [3, 4], [20, 20]]),
        ("min", [[1, 2], [3, 4], [5, 6]]),
    ],
)
def test_rows(how, want):
    rows, updates = Tensor([0, 2]), Tensor([[10.0, 10.0], [20.0, 20.0]])
    w = parameter()
    out = getattr(ops, "Scatter" + how.capitalize())()(w, rows, updates)
    np.testing.assert_allclose(out.asnumpy(), want, rtol=1e-6)
    w = parameter()
    getattr(ops, "scatter_nd_" + how)(w, Tensor([[0], [2]]), updates)
    np.testing.assert_allclose(w.asnumpy(), want, rtol=1e-6)


def test_a_parameter_stays_the_leaf_of_gradients():
    w = parameter()

    def f(x):
        ops.assign(w, w * 2)
        return (w * x).sum()

    assert ms.grad(f, None, [w])(Tensor(3.0))[0].asnumpy().ravel().tolist() == [3] * 6


@pytest.mark.parametrize(
    "name, args, want",
    [
        ("fill_", (2.0,), [[2, 2], [2, 2]]),
        ("zero_", (), [[0, 0], [0, 0]]),
        ("copy_", (Tensor([5.0, 6.0]),), [[5, 6], [5, 6]]),
        ("masked_fill_", (Tensor([[True, False], [False, False]]), 9.0), [[9, 2], [3, 4]]),
        ("scatter_", (1, Tensor([[1], [0]]), Tensor([[7.0], [8.0]])), [[1, 7], [8, 4]]),
        ("scatter_add_", (1, Tensor([[1], [0]]), Tensor([[7.0], [8.0]])), [[1, 9], [11, 4]]),
        ("index_add_", (0, Tensor([1]), Tensor([[1.0, 1.0]])), [[1, 2], [4, 5]]),
        ("index_copy_", (0, Tensor([1]), Tensor([[1.0, 1.0]])), [[1, 2], [1, 1]]),
        ("index_fill_", (1, Tensor([0]), 0.0), [[0, 2], [0, 4]]),
        ("index_put_", ((Tensor([0]), Tensor([1])), Tensor([5.0])), [[1, 5], [3, 4]]),
        ("put_", (Tensor([0, 3]), Tensor([7.0, 8.0])), [[7, 2], [3, 8]]),
        ("fill_diagonal_", (0.0,), [[0, 2], [3, 0]]),
    ],
)
def test_in_place(name, args, want):
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert getattr(x, name)(*args) is x
    assert x.tolist() == want


def test_in_place_carries_gradients():
    def f(x, y):
        z = x * 2
        z.copy_(y)
        z.index_add_(0, Tensor([0]), x[:1])
        return z * 3

    by_x, by_y = ms.grad(f, (0, 1))(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
    assert by_x.tolist() == [3, 0] and by_y.tolist() == [3, 3]


@pytest.mark.parametrize("make", [lambda v: Parameter(Tensor(v), name="p"), Tensor])
@pytest.mark.parametrize(
    "add",
    [
        lambda p, i, y: ops.index_add(p, i, y, 0),
        lambda p, i, y: ops.inplace_index_add(p, i, y, 0),
        lambda p, i, y: p.index_add(i, y, 0),
        lambda p, i, y: ops.IndexAdd(0)(p, i, y),
    ],
)
def test_index_add_writes_and_has_a_gradient(make, add):
    p, i, w = make([1.0, 2.0, 3.0]), Tensor([2, 0], ms.int32), Tensor([2.0, 3.0, 4.0])
    np.testing.assert_array_equal(ms.grad(lambda y: (add(p, i, y) * w).sum())(Tensor([5.0, 7.0])).asnumpy(), [4, 2])
    np.testing.assert_array_equal(p.asnumpy(), [8, 2, 8])
