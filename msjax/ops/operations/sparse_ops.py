"""Operator classes of sparse tensors, whose indices and values are operands of their own."""

from __future__ import annotations

import operator

from msjax.common.dtype import int64
from msjax.common.tensor import Tensor
from msjax.ops.function.array_func.arrange import broadcast_to
from msjax.ops.primitive import Form
from msjax.ops.sparse_tensor import COOTensor, CSRTensor

__all__ = [
    "SparseDenseCwiseAdd", "SparseDenseCwiseDiv", "SparseDenseCwiseMul", "SparseMatrixAdd", "SparseTensorDenseAdd", "SparseToDense",
]  # fmt: skip


def _shape(shape):
    return tuple(int(n) for n in (shape.asnumpy() if isinstance(shape, Tensor) else shape))


def _at(indices, shape, dense):
    """The elements of a dense Tensor, which is broadcast to the shape, at the places of a sparse one."""
    return broadcast_to(dense, shape)[tuple(indices[:, axis] for axis in range(len(shape)))]


class SparseToDense(Form):
    """The dense Tensor: ``SparseToDense()(indices, values, sparse_shape)``.

    Example:
        >>> from msjax import Tensor, ops
        >>> print(ops.SparseToDense()(Tensor([[0, 1]]), Tensor([5.0]), (2, 2)))
        [[0. 5.]
         [0. 0.]]
    """

    def __call__(self, indices: Tensor, values: Tensor, sparse_shape: tuple[int, ...] | Tensor) -> Tensor:
        return COOTensor(indices, values, _shape(sparse_shape)).to_dense()


class SparseTensorDenseAdd(Form):
    """The sum with a dense Tensor of the same shape."""

    def __call__(self, x1_indices: Tensor, x1_values: Tensor, x1_shape: tuple[int, ...] | Tensor, x2: Tensor) -> Tensor:
        return COOTensor(x1_indices, x1_values, _shape(x1_shape)).to_dense() + x2


class _Cwise(Form):
    def __call__(self, x1_indices: Tensor, x1_values: Tensor, x1_shape: Tensor, x2: Tensor) -> Tensor:
        return self._function(x1_values, _at(x1_indices, _shape(x1_shape), x2))


class SparseDenseCwiseAdd(_Cwise, of=operator.add):
    """The values with the elements of a dense Tensor added that stand at their places; it is broadcast to the shape."""


class SparseDenseCwiseMul(_Cwise, of=operator.mul):
    """The values times the elements of a dense Tensor that stand at their places; it is broadcast to the shape."""


class SparseDenseCwiseDiv(_Cwise, of=lambda values, dense: (values / dense).astype(values.dtype)):
    """The values divided by the elements of a dense Tensor that stand at their places; it is broadcast to the shape."""


class SparseMatrixAdd(Form):
    """alpha * a + beta * b of two matrices in rows: their shape, where matrices begin, where rows begin, columns and values."""

    def __call__(
        self, x1_dense_shape: Tensor, x1_batch_pointers: Tensor, x1_row_pointers: Tensor, x1_col_indices: Tensor, x1_values: Tensor,
        x2_dense_shape: Tensor, x2_batch_pointers: Tensor, x2_row_pointers: Tensor, x2_col_indices: Tensor, x2_values: Tensor,
        alpha: Tensor, beta: Tensor,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        shape = _shape(x1_dense_shape)
        if _shape(x2_dense_shape) != shape or len(shape) != 2:
            raise ValueError(
                f"For 'SparseMatrixAdd', both should be matrices of one shape, but are of {shape} and {_shape(x2_dense_shape)}."
            )
        first = CSRTensor(x1_row_pointers, x1_col_indices, x1_values, shape)
        total = first.add(CSRTensor(x2_row_pointers, x2_col_indices, x2_values, shape), alpha, beta)
        ends = Tensor([0, total.values.shape[0]], int64).astype(x1_batch_pointers.dtype)
        return x1_dense_shape, ends, total.indptr, total.indices, total.values
