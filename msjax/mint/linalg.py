"""mint's linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.lazy import on_first_use
from msjax.core.base.typing import Axes

__all__ = ["inv", "matrix_norm", "norm", "qr", "vector_norm"]

inv = ops.inverse
norm = ops.norm


def vector_norm(
    x: TensorLike, ord: float = 2, dim: Axes | None = None, keepdim: bool = False, *, dtype: DTypeLike | None = None
) -> Tensor:
    """The norm of vectors along axes, of all elements by default; see `ops.vector_norm`."""
    return ops.vector_norm(x, ord, dim, keepdim, dtype=dtype)


def matrix_norm(
    A: TensorLike,
    ord: float | str = "fro",
    dim: tuple[int, ...] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """The norm of matrices in two axes; see `ops.matrix_norm`."""
    return ops.matrix_norm(A, ord, dim, keepdim, dtype=dtype)


def qr(A: TensorLike, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """The QR decomposition of matrices: (orthogonal, upper triangular)."""
    return ops.qr(A, mode)


if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
