"""COOTensor and CSRTensor."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor, ops

DENSE = np.array([[0, 5, 0], [0, 0, 2]], np.float32)


def test_sparse_tensors():
    coo = ms.COOTensor(Tensor([[0, 1], [1, 2], [0, 1]]), Tensor([1.0, 2.0, 4.0]), (2, 3))
    np.testing.assert_array_equal(coo.to_dense().asnumpy(), DENSE)
    assert (coo.coalesce().size, coo.size, coo.ndim, coo.dtype) == (2, 3, 2, ms.float32)
    csr = coo.coalesce().to_csr()
    assert csr.indptr.asnumpy().tolist() == [0, 1, 2] and repr(csr).startswith("CSRTensor(shape=[2, 3], dtype=Float32, indptr=")
    matrix = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_allclose(csr.mm(Tensor(matrix)).asnumpy(), DENSE @ matrix)
    np.testing.assert_allclose(csr.sum(1).asnumpy(), DENSE.sum(1, keepdims=True))
    gradient = ms.grad(lambda v: (ms.COOTensor(coo.indices, v, (2, 3)).to_dense() ** 2).sum())(coo.values)
    np.testing.assert_allclose(gradient.asnumpy(), [10, 4, 10])
    with pytest.raises(ValueError, match=r"'indices' should have shape \(3, 2\)"):
        ms.COOTensor(Tensor([[0, 1]]), coo.values, (2, 3))


COO = ms.COOTensor(Tensor([[0, 1], [1, 2]], ms.int32), Tensor([5.0, 2.0]), (2, 3))


@pytest.mark.parametrize("name, expected", [("square", [25, 4]), ("neg", [-5, -2]), ("relu6", [5, 2]), ("isnan", [False, False])])
def test_operators_of_values(name, expected):
    for form, sparse in (("coo", COO), ("csr", COO.to_csr())):
        found = getattr(ops, f"{form}_{name}")(sparse)
        assert type(found) is type(sparse) and found.values.asnumpy().tolist() == expected and found.shape == (2, 3)
    with pytest.raises(TypeError, match="'coo_neg', 'x' should be a COOTensor"):
        getattr(ops, "coo_neg")(COO.to_csr())  # noqa: B009 - it is made of a table


def test_dense_and_sparse():
    dense = Tensor(DENSE)
    assert dense.to_coo().indices.asnumpy().tolist() == [[0, 1], [1, 2]]
    assert dense.to_csr().indptr.asnumpy().tolist() == [0, 1, 2]
    np.testing.assert_array_equal((dense + COO).asnumpy(), DENSE * 2)
    np.testing.assert_array_equal((dense - COO).asnumpy(), DENSE * 0)
    assert (dense * COO).values.asnumpy().tolist() == [25, 4]
    with pytest.raises(ValueError, match="needs a Tensor of that shape"):
        Tensor([1.0]) + COO
    assert ops.coo_concat([COO, COO], 1).indices.asnumpy().tolist() == [[0, 1], [0, 4], [1, 2], [1, 5]]
    assert ops.csr_mm(COO.to_csr(), dense, trans_b=True).asnumpy().tolist() == [[25, 0], [0, 4]]
    soft = ops.csr_softmax(Tensor([[1.0, 1, 0], [0, 0, 3]]).to_csr(), ms.float32)
    assert soft.values.asnumpy().tolist() == [0.5, 0.5, 1]
    rows = ms.RowTensor(Tensor([1]), Tensor([[1.0, 2.0]]), (2, 2))
    assert rows.to_dense().asnumpy().tolist() == [[0, 0], [1, 2]] and (rows + rows).to_dense().asnumpy().tolist() == [
        [0, 0],
        [2, 4],
    ]


@pytest.mark.parametrize("compiled", [lambda f: f, ms.jit])
def test_gradients(compiled):
    grad = ops.GradOperation(get_all=True)
    of_parts = grad(compiled(lambda i, v: ms.COOTensor(i, v * v, (2, 3))))(COO.indices, COO.values)
    assert [g.asnumpy().tolist() for g in of_parts] == [[[0, 0], [0, 0]], [10, 4]]
    (of_whole,) = grad(compiled(lambda coo: coo.to_dense() ** 2))(COO)
    assert type(of_whole) is ms.COOTensor and of_whole.values.asnumpy().tolist() == [10, 4]
    (of_dense,) = ops.GradOperation(get_all=True, sens_param=True)(lambda x: x.to_csr())(Tensor(DENSE), COO.to_csr())
    assert of_dense.asnumpy().tolist() == DENSE.tolist()


def test_functions_that_return_integers_have_no_gradient():
    assert ms.grad(lambda x: (x.shape, 2))(Tensor([1.0, 2.0])).asnumpy().tolist() == [0, 0]
    with pytest.raises(TypeError, match="nothing to differentiate"):
        ms.grad(lambda x: 2.0)(Tensor(1.0))


@pytest.mark.long
def test_operator_classes():
    shape, dense = Tensor([2, 3]), Tensor([1.0, 2.0, 4.0])
    for name, expected in (("Add", [7, 6]), ("Mul", [10, 8]), ("Div", [2.5, 0.5])):
        operator = getattr(ops, f"SparseDenseCwise{name}")()
        assert operator(COO.indices, COO.values, shape, dense).asnumpy().tolist() == expected
    np.testing.assert_array_equal(ops.SparseToDense()(COO.indices, COO.values, (2, 3)).asnumpy(), DENSE)
    np.testing.assert_array_equal(ops.SparseTensorDenseAdd()(COO.indices, COO.values, (2, 3), Tensor(DENSE)).asnumpy(), 2 * DENSE)
    csr, ends = COO.to_csr(), Tensor([0, 2])
    parts = (shape, ends, csr.indptr, csr.indices, csr.values)
    found = ops.SparseMatrixAdd()(*parts, *parts, Tensor(1.0), Tensor(2.0))
    assert [part.asnumpy().tolist() for part in found] == [[2, 3], [0, 2], [0, 1, 2], [1, 2], [15, 6]]
