"""mint's linear algebra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msjax import ops
from msjax.lazy import module_placeholders
from msjax.typing import TensorLike

if TYPE_CHECKING:
    from msjax.common.dtype import Type


__all__ = ["inv", "matrix_norm", "norm", "qr", "vector_norm"]

inv = ops.inverse


def vector_norm(
    x: TensorLike, ord: float = 2, dim: int | None = None, keepdim: bool = False, *, dtype: Type | None = None
) -> Any:
    """The norm of vectors along axes, of all elements by default; see `ops.vector_norm`."""
    return ops.vector_norm(x, ord, dim, keepdim, dtype=dtype)


def matrix_norm(
    A: TensorLike, ord: str = "fro", dim: tuple[int, ...] = (-2, -1), keepdim: bool = False, *, dtype: Type | None = None
) -> Any:
    """The norm of matrices in two axes; see `ops.matrix_norm`."""
    return ops.matrix_norm(A, ord, dim, keepdim, dtype=dtype)


def norm(
    A: TensorLike, ord: float | None = None, dim: int | None = None, keepdim: bool = False, *, dtype: Type | None = None
) -> Any:
    """A vector or matrix norm; see `ops.norm`."""
    return ops.norm(A, ord, dim, keepdim, dtype=dtype)


def qr(A: TensorLike, mode: str = "reduced") -> Any:
    """The QR decomposition of matrices: (orthogonal, upper triangular)."""
    return ops.qr(A, mode)


if not TYPE_CHECKING:
    __getattr__ = module_placeholders(__name__)
