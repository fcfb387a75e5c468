"""Layers for sparse matrices, given as indices and values."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_type, check_value
from msjax.nn.cell.base import Cell
from msjax.ops.dispatch.operator import operator
from msjax.ops.dispatch.promotion import added

__all__ = ["SparseTensorDenseMatmul"]


@operator(3, name="SparseTensorDenseMatmul")
def _product(indices, values, dense, shape, transpose_sparse, transpose_dense):
    rows, columns = indices[:, 0], indices[:, 1]
    if transpose_sparse:
        rows, columns, shape = columns, rows, shape[::-1]
    if transpose_dense:
        dense = dense.T
    if dense.shape[0] != shape[1]:
        raise ValueError(f"a sparse matrix of shape {shape} can't be multiplied with a dense one of shape {dense.shape}")
    return added(jnp.zeros((shape[0], dense.shape[1]), dense.dtype), rows, values[:, None] * dense[columns])


class SparseTensorDenseMatmul(Cell):
    """The product of a sparse matrix and a dense one.

    Args:
        adjoint_st (bool): whether the sparse matrix is transposed first. Default: False.
        adjoint_dt (bool): whether the dense matrix is transposed first. Default: False.

    Inputs:
        - **indices** (Tensor) - integers (n, 2), row and column of each value.
        - **values** (Tensor) - (n,).
        - **sparse_shape** (tuple) - the shape of the sparse matrix.
        - **dense** (Tensor) - the dense matrix.

    Outputs:
        Tensor, a matrix.

    Raises:
        TypeError: a wrong type of an argument or input.
        ValueError: the shapes don't fit.

    Example:
        >>> indices, values = Tensor([[0, 1], [1, 0]]), Tensor([2.0, 3.0])
        >>> print(nn.SparseTensorDenseMatmul()(indices, values, (2, 2), Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[6. 8.]
         [3. 6.]]
    """

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False):
        super().__init__()
        self.adj_st: bool = check_bool(adjoint_st, "adjoint_st", "SparseTensorDenseMatmul")
        self.adj_dt: bool = check_bool(adjoint_dt, "adjoint_dt", "SparseTensorDenseMatmul")

    def construct(self, indices: Tensor, values: Tensor, sparse_shape: tuple[int, ...], dense: Tensor) -> Tensor:
        who = "SparseTensorDenseMatmul"
        for tensor, name in ((indices, "indices"), (values, "values"), (dense, "dense")):
            check_type(tensor, Tensor, name, who)
        if len(check_type(sparse_shape, tuple, "sparse_shape", who)) != 2 or dense.ndim != 2:
            raise ValueError(f"For '{who}', both should be matrices, but their shapes are {sparse_shape} and {dense.shape}.")
        fits = indices.ndim == 2 and indices.shape == (values.size, 2)
        check_value(indices, fits, f"have shape ({values.size}, 2)", "indices", who)
        return _product(indices, values, dense, sparse_shape, self.adj_st, self.adj_dt)
