"""COOTensor and CSRTensor."""

import numpy as np
import pytest

import msjax as ms
from msjax import Tensor

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
