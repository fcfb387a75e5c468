"""Layers for matrices in the last two axes: triangles and diagonals."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_type, check_value
from msjax.nn.cell.base import Cell
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func.diagonals import diag_embed, matrix_diag_part, tril, triu

__all__ = ["MatrixDiag", "MatrixDiagPart", "MatrixSetDiag", "Tril", "Triu"]


def _check_matrix(x, who):
    check_value(x, check_type(x, Tensor, "x", who).ndim >= 2, "have at least 2 axes", "the input", who)


class Tril(Cell):
    """The lower triangle of matrices, with zeros above.

    Inputs:
        - **x** (Tensor) - of shape (*, M, N).
        - **k** (int) - the last diagonal kept: 0, the default, for the main one, more for above. Default: 0.

    Outputs:
        Tensor, of the same shape and dtype.

    Raises:
        TypeError: `x` is not a Tensor.
        ValueError: it has less than 2 axes.

    Example:
        >>> print(nn.Tril()(Tensor([[1, 2], [3, 4]])))
        [[1 0]
         [3 4]]
    """

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        _check_matrix(x, "Tril")
        check_type(k, int, "k", "Tril")
        return tril(x, k)


class Triu(Cell):
    """The upper triangle of matrices, with zeros below.

    Inputs:
        - **x** (Tensor) - of shape (*, M, N).
        - **k** (int) - the first diagonal kept: 0, the default, for the main one, more for above. Default: 0.

    Outputs, Raises:
        As in `Tril`.

    Example:
        >>> print(nn.Triu()(Tensor([[1, 2], [3, 4]])))
        [[1 2]
         [0 4]]
    """

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        _check_matrix(x, "Triu")
        check_type(k, int, "k", "Triu")
        return triu(x, k)


@operator(2, int_grad=True, name="MatrixSetDiag")
def _matrix_set_diag(x, diagonal):
    i = jnp.arange(min(x.shape[-2:]))
    if diagonal.shape != (*x.shape[:-2], len(i)):
        raise ValueError(f"the diagonal should have shape {(*x.shape[:-2], len(i))}, but its shape is {diagonal.shape}")
    return x.at[..., i, i].set(diagonal)


class MatrixDiag(Cell):
    """Diagonal matrices with given diagonals.

    Inputs:
        - **input_x** (Tensor) - the diagonals, of shape (*, N).

    Outputs:
        Tensor, of shape (*, N, N).

    Example:
        >>> print(nn.MatrixDiag()(Tensor([1.0, 2.0])))
        [[1. 0.]
         [0. 2.]]
    """

    def construct(self, input_x: Tensor) -> Tensor:
        return diag_embed(check_type(input_x, Tensor, "input_x", "MatrixDiag"))


class MatrixDiagPart(Cell):
    """The diagonals of matrices.

    Inputs:
        - **input_x** (Tensor) - of shape (*, M, N).

    Outputs:
        Tensor, of shape (*, min(M, N)).

    Raises:
        ValueError: the input has less than 2 axes.

    Example:
        >>> print(nn.MatrixDiagPart()(Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [1. 4.]
    """

    def construct(self, input_x: Tensor) -> Tensor:
        _check_matrix(input_x, "MatrixDiagPart")
        return matrix_diag_part(input_x, 0, 0)


class MatrixSetDiag(Cell):
    """Matrices with their diagonals replaced.

    Inputs:
        - **input_x** (Tensor) - of shape (*, M, N).
        - **diagonal** (Tensor) - of shape (*, min(M, N)).

    Outputs:
        Tensor, of the shape and dtype of `input_x`.

    Raises:
        ValueError: the shapes don't fit.

    Example:
        >>> print(nn.MatrixSetDiag()(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([5.0, 6.0])))
        [[5. 2.]
         [3. 6.]]
    """

    def construct(self, input_x: Tensor, diagonal: Tensor) -> Tensor:
        _check_matrix(input_x, "MatrixSetDiag")
        return _matrix_set_diag(input_x, check_type(diagonal, Tensor, "diagonal", "MatrixSetDiag"))
