"""numpy arrays in the other order of bytes: in Tensors, as operands, indices, results of hooks and columns of datasets."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, dataset as ds, nn, ops

BIG = np.array([1, 2, 3], ">f4")
X = Tensor([1.0, 2.0, 3.0])


class Same(nn.Cell):
    def construct(self, x):
        return x


def with_hook(x):
    net = Same()
    net.register_forward_hook(lambda cell, args, out: Tensor(BIG))
    return net(x)


def written(x):
    x = x.copy()
    x[:] = BIG
    return x


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i2", "i4", "u2", "c8"])
def test_tensor(kind):
    made = Tensor(np.array([1, 2, 3], f">{kind}"))
    native = Tensor(np.array([1, 2, 3], kind))
    assert made.dtype == native.dtype and made.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "compute, want",
    [
        (lambda: Tensor([BIG, BIG]), [[1, 2, 3]] * 2),
        (lambda: ms.Parameter(BIG), [1, 2, 3]),
        (lambda: X + BIG, [2, 4, 6]),
        (lambda: ops.where(np.array([True, False, True]), X * 0, BIG), [0, 2, 0]),
        (lambda: X[np.array([2, 0], ">i4")], [3, 1]),
        (lambda: written(X), [1, 2, 3]),
        (lambda: with_hook(X * 0), [1, 2, 3]),
        (lambda: ms.from_jax(lambda a, b: a * b)(X, BIG), [1, 4, 9]),
        (lambda: ms.jit(lambda x: x * BIG)(X), [1, 4, 9]),
        (lambda: ms.grad(lambda x: x * BIG)(X), [1, 2, 3]),
    ],
)
def test_where_arrays_come_in(compute, want):
    assert compute().tolist() == want


def test_columns_of_datasets():
    rows = ds.NumpySlicesDataset({"a": BIG}, shuffle=False).create_tuple_iterator()
    assert [a.item() for (a,) in rows] == [1, 2, 3]
