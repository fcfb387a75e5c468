"""mint's linear algebra."""

from msjax import ops
from msjax.lazy import module_placeholders

__all__ = ["inv", "matrix_norm", "norm", "qr", "vector_norm"]

inv = ops.inverse


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The norm of vectors along axes, of all elements by default; see `ops.vector_norm`."""
    return ops.vector_norm(x, ord, dim, keepdim, dtype=dtype)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    """The norm of matrices in two axes; see `ops.matrix_norm`."""
    return ops.matrix_norm(A, ord, dim, keepdim, dtype=dtype)


def norm(A, ord=None, dim=None, keepdim=False, *, dtype=None):
    """A vector or matrix norm; see `ops.norm`."""
    return ops.norm(A, ord, dim, keepdim, dtype=dtype)


def qr(A, mode="reduced"):
    """The QR decomposition of matrices: (orthogonal, upper triangular)."""
    return ops.qr(A, mode)


__getattr__ = module_placeholders(__name__)
