"""Operator classes on arrays: attributes, calls, and that each makes what its function makes."""

import inspect

import numpy as np
import pytest

from msjax import Parameter, Tensor, ops
from msjax.ops.operations import array_ops
from msjax.ops.primitive import Primitive

A = np.arange(6, dtype=np.float32).reshape(2, 3)
V = np.array([1.0, 2.0, 3.0], np.float32)

CALLS = {
    "Concat": (lambda a: ops.Concat(1)((a, a)), np.c_[A, A]),
    "Stack": (lambda a: ops.Stack()((a, a)), np.stack((A, A))),
    "Unstack": (lambda a: ops.Unstack(1)(a)[2], A[:, 2]),
    "Split": (lambda a: ops.Split(1, 3)(a)[1], A[:, 1:2]),
    "Squeeze": (lambda a: ops.Squeeze((0, 2))(a[None, :, None]), A),
    "BroadcastTo": (lambda a: ops.BroadcastTo((2, -1, 3))(a), np.stack((A, A))),
    "ReverseV2": (lambda a: ops.ReverseV2([1])(a), A[:, ::-1]),
    "Roll": (lambda a: ops.Roll(1, 0)(a), np.roll(A, 1, 0)),
    "StridedSlice": (lambda a: ops.StridedSlice()(a, (0, 0), (2, 3), (1, 2)), A[:, ::2]),
    "Pad": (lambda a: ops.Pad(((1, 0), (0, 2)))(a), np.pad(A, ((1, 0), (0, 2)))),
    "PadV3": (
        lambda a: ops.PadV3(paddings_contiguous=False)(a, (1, 2, 3, 0), 9.0),
        np.pad(A, ((2, 0), (1, 3)), constant_values=9),
    ),
    "MirrorPad": (lambda a: ops.MirrorPad("SYMMETRIC")(a, Tensor([[1, 0], [1, 1]])), np.pad(A, ((1, 0), (1, 1)), "symmetric")),
    "Flatten": (lambda a: ops.Flatten()(a[None]), A.reshape(1, 6)),
    "Meshgrid": (lambda a: ops.Meshgrid("ij")((a[0], a[1]))[0], np.meshgrid(A[0], A[1], indexing="ij")[0]),
    "DiagPart": (lambda a: ops.DiagPart()(ops.Diag()(a)), A),
    "TrilIndices": (lambda a: ops.TrilIndices(2, 3)(), np.stack(np.tril_indices(2, 0, 3))),
    "Gather": (lambda a: ops.Gather()(a, Tensor([2, 0]), 1), A[:, [2, 0]]),
    "EmbeddingLookup": (lambda a: ops.EmbeddingLookup()(a, Tensor([0, 2]), 1), np.stack((0 * A[0], A[1]))),
    "OneHot": (lambda a: ops.OneHot(0)(Tensor([1, 0]), 2, Tensor(5.0), Tensor(1.0)), [[1, 5], [5, 1]]),
    "TopK": (lambda a: ops.TopK()(a, 1)[1], [[2], [2]]),
    "Sort": (lambda a: ops.Sort(0, True)(a)[0], A[::-1]),
    "InplaceAdd": (lambda a: ops.InplaceAdd((0,))(a, a[1:]), [[3, 5, 7], [3, 4, 5]]),
    "IndexPut": (lambda a: ops.IndexPut(1)(a, Tensor([5.0, 6.0]), [Tensor([0, 1]), Tensor([0, 1])]), [[5, 1, 2], [3, 10, 5]]),
    "IndexAdd": (lambda a: ops.IndexAdd(0)(Parameter(a), Tensor([0]), a[:1]), A + [[0, 1, 2], [0, 0, 0]]),
    "ListDiff": (lambda a: ops.ListDiff()(Tensor([1, 2, 3]), Tensor([2]))[1], [0, 2]),
    "UnravelIndex": (lambda a: ops.UnravelIndex()(Tensor([1, 5]), Tensor([2, 3])), [[0, 1], [1, 2]]),
    "UpperBound": (lambda a: ops.UpperBound()(a, a), [[1, 2, 3], [1, 2, 3]]),
    "NthElement": (lambda a: ops.NthElement()(a, 1), [1, 4]),
    "Bincount": (lambda a: ops.Bincount()(Tensor([1, 2]), Tensor(3), Tensor([1.0, 1.0])), [0, 1, 1]),
    "SegmentMax": (lambda a: ops.SegmentMax()(Tensor(V), Tensor([0, 0, 2])), [2, 0, 3]),
    "Coalesce": (lambda a: ops.Coalesce()(Tensor([[0, 0, 1], [1, 1, 2]]), Tensor(V), Tensor([3, 3]))[1], [3, 3]),
    "Im2Col": (lambda a: ops.Im2Col(2)(a[None, None]), [[[[0, 1], [1, 2], [3, 4], [4, 5]]]]),
    "Select": (lambda a: ops.Select()(a > 2, a, a * 0), np.where(A > 2, A, 0)),
}


@pytest.mark.parametrize("name", CALLS)
def test_value(name):
    call, want = CALLS[name]
    np.testing.assert_array_equal(call(Tensor(A)).asnumpy(), want)


def test_python_values():
    assert ops.Shape()(Tensor(A)) == (2, 3) and ops.Rank()(Tensor(A)) == 2 and ops.Size()(Tensor(A)) == 6
    assert ops.InvertPermutation()((2, 0, 1)) == (1, 2, 0)
    assert ops.TensorToTuple()(Tensor(V)) == (1, 2, 3)
    assert ops.Depend()(1, 2) == 1


@pytest.mark.parametrize("name", [n for n in array_ops.__all__ if inspect.isclass(getattr(ops, n))])
def test_every_class_is_a_documented_primitive(name):
    cls = getattr(ops, name)
    assert issubclass(cls, Primitive) and cls.__doc__
    required = [
        p for p in inspect.signature(cls).parameters.values() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    if not required:
        assert cls().name == name


def test_wrong_attributes():
    with pytest.raises(TypeError, match="'Split'"):
        ops.Split(1, 2, 3, 4)
    with pytest.raises(ValueError):
        ops.Split(1, 2)(Tensor(A))


def test_a_subclass_of_a_program_shows_the_constructor_that_it_defines():
    class Halves(ops.Split):
        def __init__(self, along):
            super().__init__(along, 2)

    assert str(inspect.signature(Halves)) == "(along)" and Halves(0)(Tensor(A))[1].shape == (1, 3)
    assert str(inspect.signature(ops.Split)) == "(axis=0, output_num=1)"


def test_printing(capsys):
    ops.Print()("x", Tensor([1, 2]))
    assert capsys.readouterr().out == "x\nTensor(shape=[2], dtype=Int64, value= [1, 2])\n"
