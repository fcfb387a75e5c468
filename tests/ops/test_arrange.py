"""Operators that arrange elements: shapes, order, joining, splitting, diagonals, padding, windows, types."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, ops
from tests.ops.harness import Case, check_gradient, check_value

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7 - 1.5
M = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], np.float32)
V = np.array([1.5, -2.0, 0.25], np.float32)
IMAGE = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4) / 9

CASES = [
    Case("reshape", lambda x: ops.reshape(x, (4, -1)), (X,), lambda x: x.reshape(4, -1)),
    Case("transpose", lambda x: ops.transpose(x, (2, 0, 1)), (X,), lambda x: x.transpose(2, 0, 1)),
    Case("squeeze", lambda x: ops.squeeze(ops.expand_dims(x, 1), 1), (X,), lambda x: x),
    Case("flatten_f", lambda x: ops.flatten(x, order="F", start_dim=0), (M,), lambda x: x.flatten("F")),
    Case("flatten_middle", lambda x: ops.flatten(x, start_dim=1, end_dim=2), (X,), lambda x: x.reshape(2, 12)),
    Case("moveaxis", lambda x: ops.moveaxis(x, 0, 2), (X,), lambda x: np.moveaxis(x, 0, 2)),
    Case("broadcast", lambda x: ops.broadcast_to(x, (2, -1, 3)), (M,), lambda x: np.broadcast_to(x, (2, 2, 3))),
    Case("tile", lambda x: ops.tile(x, (2, 1, 2)), (M,), lambda x: np.tile(x, (2, 1, 2))),
    Case("repeat", lambda x: ops.repeat_interleave(x, (1, 2, 0), 1), (M,), lambda x: np.repeat(x, (1, 2, 0), 1)),
    Case("flip", lambda x: ops.flip(x, (0, 2)), (X,), lambda x: np.flip(x, (0, 2))),
    Case("roll", lambda x: ops.roll(x, (1, -2), (0, 1)), (M,), lambda x: np.roll(x, (1, -2), (0, 1))),
    Case("rot90", lambda x: ops.rot90(x, 1, (0, 1)), (X,), lambda x: np.rot90(x, 1, (0, 1))),
    Case("concat", lambda x, y: ops.concat((x, y), 1), (M, M), lambda x, y: np.concatenate((x, y), 1)),
    Case("stack", lambda x, y: ops.stack([x, y], -1), (M, M), lambda x, y: np.stack((x, y), -1)),
    Case("block_diag", ops.block_diag, (M, V), lambda m, v: np.block([[m, np.zeros((2, 3))], [np.zeros((1, 3)), v[None]]])),
    Case("meshgrid", lambda x, y: ops.meshgrid(x, y, indexing="ij"), (V, V), lambda x, y: np.meshgrid(x, y, indexing="ij")),
    Case("split", lambda x: ops.split(x, [1, 2], 1), (M,), lambda x: np.split(x, [1], 1)),
    Case("chunk", lambda x: ops.chunk(x, 3, 2), (X,), lambda x: np.split(x, [2], 2)),
    Case("tensor_split", lambda x: ops.tensor_split(x, 3, 2), (X,), lambda x: np.array_split(x, 3, 2)),
    Case("unstack", lambda x: ops.unstack(x, 1), (M,), lambda x: tuple(x.T)),
    Case("slice", lambda x: ops.slice(x, (0, 1, 0), (2, -1, 2)), (X,), lambda x: x[:, 1:, :2]),
    Case("strided", lambda x: ops.strided_slice(x, (0, 2, 3), (2, 0, 0), (1, -1, -2)), (X,), lambda x: x[:, 2:0:-1, 3:0:-2]),
    Case("masks", lambda x: ops.strided_slice(x, (1, 0), (0, 2), (1, 1), 0, 2, 0, 0, 1), (X,), lambda x: x[1]),
    Case("select_scatter", lambda x, y: ops.select_scatter(x, y, 1, 2), (M, V[:2]), lambda x, y: np.c_[x[:, :2], y]),
    Case("diag", ops.diag, (V,), np.diag),
    Case("diag_embed", lambda x: ops.diag_embed(x, 1), (M,), lambda x: np.stack([np.diag(r, 1) for r in x])),
    Case("diagonal", lambda x: ops.diagonal(x, 1, 1, 2), (X,), lambda x: np.diagonal(x, 1, 1, 2)),
    Case("triu", lambda x: ops.triu(x, 1), (X,), lambda x: np.triu(x, 1)),
    Case("band", lambda x: ops.matrix_band_part(x, 0, 1), (X,), lambda x: np.triu(np.tril(x, 1))),
    Case(
        "pad",
        lambda x: ops.pad(x, (1, -1, 0, 2), value=3.0),
        (M,),
        lambda x: np.pad(x[:, :-1], ((0, 2), (1, 0)), constant_values=3),
    ),
    Case("reflect", lambda x: ops.pad(x, (2, 1), "reflect"), (X,), lambda x: np.pad(x, ((0, 0), (0, 0), (2, 1)), "reflect")),
    Case("circular", lambda x: ops.pad(x, (2, 1), "circular"), (X,), lambda x: np.pad(x, ((0, 0), (0, 0), (2, 1)), "wrap")),
    Case(
        "unfold",
        lambda x: ops.unfold(x, 2, stride=2),
        (IMAGE,),
        lambda x: x.reshape(1, 2, 2, 2, 2, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, 4),
    ),
    Case("fold", lambda x: ops.fold(ops.unfold(x, 2, stride=2), (4, 4), 2, stride=2), (IMAGE,), lambda x: x),
    Case("depth", lambda x: ops.DepthToSpace(2)(ops.SpaceToDepth(2)(x)), (IMAGE,), lambda x: x),
    Case(
        "batch",
        lambda x: ops.batch_to_space_nd(ops.space_to_batch_nd(x, [2, 2], [[1, 1], [0, 0]]), [2, 2], [[1, 1], [0, 0]]),
        (IMAGE,),
        lambda x: x,
    ),
    Case(
        "reverse_sequence",
        lambda x: ops.reverse_sequence(x, Tensor([1, 2]), 1),
        (M,),
        lambda x: np.stack([x[0], x[1][[1, 0, 2]]]),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value(case):
    check_value(case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradient(case):
    check_gradient(case)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: ops.reshape(x, (5, -1)), ValueError),
        (lambda x: ops.squeeze(x, 3), ValueError),
        (lambda x: ops.concat(x), TypeError),
        (lambda x: ops.concat((x, ops.ones((2, 2, 2)))), ValueError),
        (lambda x: ops.split(x, [1, 1], 1), ValueError),
        (lambda x: ops.split(x, 0), ValueError),
        (lambda x: ops.split(x, 1.5), TypeError),
        (lambda x: ops.slice(x, (0, 0, 0), (3, 1, 1)), ValueError),
        (lambda x: ops.strided_slice(x, (0,), (1,), (0,)), ValueError),
        (lambda x: ops.pad(x, (1,)), ValueError),
        (lambda x: ops.pad(x, (1, 1), "blue"), ValueError),
        (lambda x: ops.meshgrid(x, x), ValueError),
        (lambda x: ops.cast(x, "blue"), TypeError),
        (lambda x: ops.t(x), ValueError),
        (lambda x: ops.shape([1]), TypeError),
    ],
)
def test_bad_input(call, error):
    with pytest.raises(error):
        call(Tensor(X))


def test_matrix_diagonals_are_aligned_as_asked():
    # Numbers that MindSpore 2.10 gave.
    made = ops.matrix_diag(Tensor([[1.0, 2.0, 0.0], [3.0, 4.0, 5.0]]), k=Tensor([-1, 0]))
    assert made.tolist() == [[1, 0, 0], [3, 2, 0], [0, 4, 0]]
    part = ops.matrix_diag_part(Tensor(np.arange(6.0).reshape(2, 3)), (-1, 1), 9.0)
    assert part.tolist() == [[1, 5], [0, 4], [3, 9]]
    assert ops.matrix_set_diag(Tensor(np.arange(6.0).reshape(2, 3)), Tensor([8.0, 9.0])).tolist() == [[8, 1, 2], [3, 9, 5]]


def test_casts_wrap_around_and_carry_gradients():
    assert Tensor([-1.5, 300.0]).byte().tolist() == [255, 44]
    assert ops.cast(3, ms.float32).dtype is ms.float32
    grad = ms.grad(lambda x: ops.cast(x, ms.float16) * 2)(Tensor([1.0, 2.0]))
    assert grad.dtype is ms.float32 and grad.tolist() == [2, 2]


def test_what_a_tensor_says_of_itself():
    x = Tensor(M)
    assert (ops.shape(x), ops.rank(x), ops.size(x), ops.dtype(x)) == ((2, 3), 2, 6, ms.float32)
    assert str(ops.typeof(x)) == "Tensor[Float32]" and repr(ops.typeof(x)) == "mindspore.tensor[float32]"
    assert ops.dyn_shape(x).tolist() == [2, 3]
    assert ops.scalar_cast(1.7, ms.int64) == 1 and ops.tuple_to_array((1, 2)).dtype is ms.int32
