"""Tensor methods that arrange, pick and put elements: the forms that MindSpore's overloads take."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor

A = np.arange(6, dtype=np.float32).reshape(2, 3)
C = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "call, want",
    [
        (lambda a: a.transpose(0, 1), A.T),
        (lambda a: a.transpose(), A.T),
        (lambda a: a.view(3, 2), A.reshape(3, 2)),
        (lambda a: a.reshape([3, -1]), A.reshape(3, 2)),
        (lambda a: a.flatten(), A.ravel()),
        (lambda a: a.expand_dims(0).squeeze(0), A),
        (lambda a: a.expand_dims(0).squeeze(axis=0), A),
        (lambda a: a.expand_dims(0).expand_dims(3).squeeze(axis=[0, 3]), A),
        (lambda a: a.repeat(2, 1), np.tile(A, (2, 1))),
        (lambda a: a.repeat_interleave(2, 1), np.repeat(A, 2, 1)),
        (lambda a: a.tile(2, 1), np.tile(A, (2, 1))),
        (lambda a: a.resize(2, 2), A.ravel()[:4].reshape(2, 2)),
        (lambda a: a.chunk(2, dim=1)[1], A[:, 2:]),
        (lambda a: a.split(2, 1)[0], A[:, :2]),
        (lambda a: a.select(0, 1), A[1]),
        (lambda a: a.select(a > 2, 9.0), np.where(A > 2, A, 9)),
        (lambda a: a.where(a > 2, 9.0), np.where(A > 2, A, 9)),
        (lambda a: a.gather(Tensor([1]), 0), A[[1]]),
        (lambda a: a.gather(1, Tensor([[0], [1]])), [[0], [4]]),
        (lambda a: a.take(Tensor([0, 4])), [0, 4]),
        (lambda a: a.take(Tensor([0, 9]), 1), A[:, [0, 2]]),
        (lambda a: a.index_add(0, Tensor([0]), a[:1], alpha=2), A + [[0, 2, 4], [0, 0, 0]]),
        (lambda a: a.index_add(Tensor([0]), a[:1], 0), A + [[0, 1, 2], [0, 0, 0]]),
        (lambda a: a.scatter(1, Tensor([[0], [1]]), 7.0), [[7, 1, 2], [3, 7, 5]]),
        (lambda a: a.scatter_add(Tensor([[0, 0]]), Tensor([5.0])), [[5, 1, 2], [3, 4, 5]]),
        (lambda a: a.scatter_add(1, Tensor([[0]]), Tensor([[5.0]])), [[5, 1, 2], [3, 4, 5]]),
        (lambda a: a.sort(dim=0, descending=True)[0], A[::-1]),
        (lambda a: a.topk(1, dim=0)[1], [[1, 1, 1]]),
        (lambda a: a.itemset((0, 1), 9.0), [[0, 9, 2], [3, 4, 5]]),
        (lambda a: Tensor([0, 1]).choose([Tensor([1, 2]), Tensor([3, 4])]), [1, 4]),
        (lambda a: a.searchsorted if False else a[0].searchsorted(Tensor([1.5])), [2]),
        (lambda a: a.new_full((2,), 3), [3, 3]),
        (lambda a: a.fill_diagonal(9.0), [[9, 1, 2], [3, 9, 5]]),
        (lambda a: a.mT, A.T),
        (lambda a: a.flip((1,)), A[:, ::-1]),
    ],
)
def test_value(call, want):
    np.testing.assert_array_equal(call(Tensor(A)).asnumpy(), want)


def test_two_axes_are_exchanged_and_more_are_permuted():
    c = Tensor(C)
    assert c.transpose(0, 2).shape == (4, 3, 2)
    assert c.transpose(2, 0, 1).shape == c.permute((2, 0, 1)).shape == (4, 2, 3)


@pytest.mark.parametrize(
    "name, dtype",
    [("int", ms.int32), ("long", ms.int64), ("half", ms.float16), ("double", ms.float64), ("bool", ms.bool_), ("byte", ms.uint8)],
)
def test_types(name, dtype):
    assert getattr(Tensor(A), name)().dtype is dtype


def test_to_and_type():
    a = Tensor(A)
    assert a.to(ms.float16).dtype is a.to(Tensor(1.0, ms.float16)).dtype is ms.float16
    assert a.to("CPU").dtype is ms.float32 and a.type() == "Float32" and a.type(ms.int32).dtype is ms.int32
    assert a.view(ms.int32).tolist() == A.view(np.int32).tolist()


def test_bad_input():
    with pytest.raises(ValueError):
        Tensor(A).diag(1)
    with pytest.raises(ValueError):
        Tensor(A).repeat(2)
    with pytest.raises(TypeError):
        Tensor(A).copy_(3)


def test_take_beyond_the_end_wraps_or_clips():
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert x.take(Tensor([0, 7]), mode="wrap").asnumpy().tolist() == [0, 1]
    assert x.take(Tensor([0, 7]), mode="clip").asnumpy().tolist() == [0, 5]


def test_new_tensors_take_their_type_by_position_and_bools_are_indices():
    x = ms.Tensor([1, 2])
    assert x.new_ones((2, 1), ms.float32).dtype == ms.float32 and x.new_zeros(2, ms.int8).asnumpy().tolist() == [0, 0]
    assert [1, 2, 3][ms.Tensor(True)] == 2
    with pytest.raises(TypeError, match="can be an index"):
        [1, 2, 3][ms.Tensor(1.0)]
