"""Reductions and remainders of Bools and small integers: which dtype they count in, as MindSpore 2.10 gives it."""

import pytest

import msjax as ms
from msjax import Tensor, mint, ops

X = Tensor([[100, 50], [1, 0]], ms.int8)
U = Tensor([[100, 50], [1, 0]], ms.uint8)
B = Tensor([[True, True], [True, False]])

CASES = {
    "sum": (lambda: X.sum(axis=-2, dtype=ms.int8), ms.int8, [101, 50]),
    "sum wraps in the dtype asked for": (lambda: mint.sum(X, 1, dtype=ms.int8), ms.int8, [-106, 1]),
    "prod": (lambda: mint.prod(U, 1, dtype=ms.int8), ms.int8, [-120, 0]),
    "prod over a tuple": (lambda: ops.prod(U, (1,)), ms.uint8, [136, 0]),
    "prod over an int": (lambda: ops.prod(U, 1), ms.int64, [5000, 0]),
    "prod of Bools over a tuple": (lambda: ops.prod(B, (1,)), ms.bool_, [True, False]),
    "cumsum": (lambda: X.cumsum(1), ms.int32, [[100, 150], [1, 1]]),
    "the function's cumsum": (lambda: ops.cumsum(X, 1), ms.int8, [[100, -106], [1, 1]]),
    "nansum": (lambda: mint.nansum(B, 1), ms.int64, [2, 1]),
    "fmod": (lambda: U.fmod(-3), ms.uint8, [[1, 2], [1, 0]]),
    "bincount of Bools": (lambda: ops.bincount(B.reshape(-1)), ms.float32, [1, 3]),
    "bincount of UInt8": (lambda: ops.bincount(Tensor([3, 1], ms.uint8)), ms.float32, [0, 1, 0, 1]),
    "randint_like of floats": (lambda: mint.randint_like(Tensor([0.5, 1.5]), 4, 5), ms.float32, [4, 4]),
}


@pytest.mark.parametrize("name", CASES)
def test_dtypes_and_values(name):
    call, dtype, values = CASES[name]
    out = call()
    assert (out.dtype, out.asnumpy().tolist()) == (dtype, values)
