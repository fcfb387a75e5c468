"""Decompositions and solvers of ``scipy.linalg``, for Tensors, with gradients."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy import linalg as jax_linalg

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_bool, check_kind, check_one_of, check_value
from msjax.core.base.errors import describe
from msjax.ops.function.control.from_jax import from_jax

__all__ = [
    "block_diag", "cho_factor", "cho_solve", "cholesky", "det", "eigh", "inv", "lstsq", "lu", "lu_factor", "solve_triangular",
]  # fmt: skip


def _lu_of(a, permute_l):
    factors = jax_linalg.lu(a, permute_l)
    return factors if permute_l else (factors[0].astype(jnp.int32), *factors[1:])


def _triangular(a, b, trans, lower, unit):
    column = b.ndim < a.ndim
    found = jax_linalg.solve_triangular(a, b[..., None] if column else b, trans, lower, unit)
    return found[..., 0] if column else found


_cholesky = from_jax(lambda a, lower: jax_linalg.cholesky(a, lower=lower), static_argnums=1)
_cho_factor = from_jax(lambda a, lower: jax_linalg.cho_factor(a, lower=lower)[0], static_argnums=1)
_cho_solve = from_jax(lambda c, b, lower: jax_linalg.cho_solve((c, lower), b), static_argnums=2)
_eigh = from_jax(lambda a, lower: tuple(jax_linalg.eigh(a, lower=lower)), static_argnums=1)
_eigvalsh = from_jax(lambda a, lower: jax_linalg.eigh(a, lower=lower, eigvals_only=True), static_argnums=1)
_inv = from_jax(jnp.linalg.inv)
_det = from_jax(jnp.linalg.det)
_lu_factor = from_jax(lambda a: tuple(jax_linalg.lu_factor(a)))
_lu = from_jax(_lu_of, static_argnums=1)
_block_diag = from_jax(lambda *arrays: jax_linalg.block_diag(*arrays))
_lstsq = from_jax(lambda a, b, rcond: tuple(jnp.linalg.lstsq(a, b, rcond)), static_argnums=2)
_solve_triangular = from_jax(_triangular, static_argnums=(2, 3, 4))
# The integers that become Float32 for `solve_triangular`, as in MindSpore; Int64 becomes Float64.
_SHORT = (mstype.int8, mstype.int16, mstype.int32)
_TRANS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def block_diag(*arrs: Tensor) -> Tensor:
    """A matrix of others along its diagonal, zeros elsewhere; vectors are rows.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy import linalg
        >>> print(linalg.block_diag(ms.Tensor([[1.0]]), ms.Tensor([2.0, 3.0])))
        [[1. 0. 0.]
         [0. 2. 3.]]
    """
    for a in arrs:
        check_kind(a, isinstance(a, Tensor), "be Tensor", "the type of 'arrs'", "block_diag")
    return _block_diag(*arrs) if arrs else Tensor(np.zeros((1, 0), np.float32))


def inv(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The inverse of a square matrix.

    Args:
        a (Tensor): of shape (n, n).
        overwrite_a, check_finite (bool): without effect.

    Raises:
        TypeError: `a` is no Tensor.
        ValueError: `a` is no square matrix.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy import linalg
        >>> print(linalg.inv(ms.Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[0.5  0.  ]
         [0.   0.25]]
    """
    return _inv(_square(a, "inv"))


def det(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The determinant of a square matrix; for the arguments, see `inv`.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy import linalg
        >>> print(linalg.det(ms.Tensor([[2.0, 1.0], [0.0, 3.0]])))
        6.0
    """
    return _det(_square(a, "det"))


def cholesky(a: Tensor, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The triangular factor of a symmetric positive definite matrix: the upper one, or with `lower` the lower one.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy import linalg
        >>> print(linalg.cholesky(ms.Tensor([[4.0, 2.0], [2.0, 2.0]])))
        [[2. 1.]
         [0. 1.]]
    """
    return _cholesky(_square(a, "cholesky"), check_bool(lower, "lower", "cholesky"))


def cho_factor(a: Tensor, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, bool]:
    """The triangular factor for `cho_solve`, and whether it is the lower one. What is in the other triangle is not specified."""
    return _cho_factor(_square(a, "cho_factor"), check_bool(lower, "lower", "cho_factor")), lower


def cho_solve(c_and_lower: tuple[Tensor, bool], b: Tensor, overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """Solve ``a @ x == b`` from what `cho_factor` returned for `a`.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy import linalg
        >>> factor = linalg.cho_factor(ms.Tensor([[4.0, 2.0], [2.0, 2.0]]))
        >>> print(linalg.cho_solve(factor, ms.Tensor([2.0, 0.0])))
        [ 1. -1.]
    """
    factor, lower = c_and_lower
    return _cho_solve(_square(factor, "cho_solve"), _tensor(b, "cho_solve", "b"), check_bool(lower, "lower", "cho_solve"))


def eigh(
    a: Tensor, b: Tensor | None = None, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
    overwrite_b: bool = False, turbo: bool = True, eigvals: Any = None, type: int = 1, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Eigenvalues of a symmetric matrix, from small to large, and its eigenvectors as columns.

    Args:
        a (Tensor): of shape (n, n).
        lower (bool): read the lower triangle. Default: True.
        eigvals_only (bool): return the eigenvalues alone. Default: False.
        b, eigvals, type: as they are by default only.
        overwrite_a, overwrite_b, turbo, check_finite: without effect.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy import linalg
        >>> print(linalg.eigh(ms.Tensor([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True))
        [1. 2.]
    """
    for name, value, only in (("b", b, None), ("eigvals", eigvals, None), ("type", type, 1)):
        if value is not only and value != only:
            raise ValueError(f"For 'eigh', '{name}' should be {only}, but got {describe(value)}.")
    return (_eigvalsh if eigvals_only else _eigh)(_square(a, "eigh"), check_bool(lower, "lower", "eigh"))


def lu_factor(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, Tensor]:
    """Both triangular factors of a matrix in one, and the row with which each row was exchanged."""
    return _lu_factor(_square(a, "lu_factor"))


def lu(a: Tensor, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Tensor, ...]:
    """A permutation, a lower and an upper triangular matrix whose product is `a`; with `permute_l` the first two multiplied.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy import linalg
        >>> p, l, u = linalg.lu(ms.Tensor([[1.0, 2.0], [2.0, 4.0]]))
        >>> print(u)
        [[2. 4.]
         [0. 0.]]
    """
    return _lu(_tensor(a, "lu", "a", 2), check_bool(permute_l, "permute_l", "lu"))


def solve_triangular(
    a: Tensor, b: Tensor, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False, overwrite_b: bool = False,
    debug: Any = None, check_finite: bool = True,
) -> Tensor:  # fmt: skip
    """Solve ``a @ x == b`` for a triangular matrix.

    Args:
        a (Tensor): of shape (..., n, n); the other triangle is not read.
        b (Tensor): of shape (..., n) or (..., n, m), of the same dtype.
        trans (int or str): 0 or "N": `a`; 1 or "T": its transpose; 2 or "C": its conjugate transpose. Default: 0.
        lower (bool): `a` is a lower one. Default: False.
        unit_diagonal (bool): the diagonal counts as ones. Default: False.
        overwrite_b, debug, check_finite: without effect.

    Raises:
        TypeError, ValueError: a wrong argument.

    Example:
        >>> import msjax as ms
        >>> from msjax.scipy import linalg
        >>> print(linalg.solve_triangular(ms.Tensor([[2.0, 0.0], [1.0, 1.0]]), ms.Tensor([2.0, 3.0]), lower=True))
        [1. 2.]
    """
    who = "solve_triangular"
    check_one_of(trans, tuple(_TRANS), "trans", who)
    lower, unit_diagonal = check_bool(lower, "lower", who), check_bool(unit_diagonal, "unit_diagonal", who)
    a, b = (m.astype(mstype.float32) if isinstance(m, Tensor) and m.dtype in _SHORT else m for m in (a, b))
    a, b = _square(a, who, batched=True, half=True), _tensor(b, who, "b", half=True)
    check_kind(b.dtype, a.dtype == b.dtype, f"be that of 'a', {a.dtype}", "the dtype of 'b'", who)
    fits = b.shape in (a.shape[:-1], (*a.shape[:-1], *b.shape[-1:]))
    check_value(b.shape, fits, f"be {a.shape[:-1]} or {a.shape[:-1]} with another axis", "the shape of 'b'", who)
    return _solve_triangular(a, b, _TRANS[trans], lower, unit_diagonal)


def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, driver: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The least-squares solution of ``A @ x == B``.

    Args:
        A (Tensor): of shape (m, n).
        B (Tensor): of shape (m,) or (m, k).
        rcond (float, optional): singular values below this share of the largest count as zero.
        driver (str, optional): "gelsd" and "gelss" also give residuals and singular values; with "gelsy" (the default) these are empty, as in
            MindSpore 2.10. What computes is the same.

    Returns:
        The solution, the sums of squared residuals, the rank of `A`, and its singular values.

    Raises:
        TypeError, ValueError: a wrong argument.
    """
    if driver is not None:
        check_one_of(driver, ("gelsd", "gelss", "gelsy"), "driver", "lstsq")
    a = _tensor(A, "lstsq", "A", 2)
    solution, residuals, rank, singular = _lstsq(a, _tensor(B, "lstsq", "B"), rcond)
    if driver in (None, "gelsy"):
        residuals = singular = Tensor([], a.dtype)
    return solution, residuals, rank, singular


def _tensor(a, name, what, axes=None, half=False):
    """The Tensor; integers as float64, as numpy's functions take them. Floats of 16 bits are refused, unless `half`."""
    check_kind(a, isinstance(a, Tensor), "be Tensor", f"the type of '{what}'", name)
    if axes is not None and a.ndim != axes:
        raise ValueError(f"For '{name}', the dimension of '{what}' should be {axes}, but got {a.ndim}.")
    fits = half or a.dtype not in (mstype.float16, mstype.bfloat16)
    check_kind(a.dtype, fits, "have 32 or 64 bits", f"the dtype of '{what}'", name)
    return a if a.is_floating_point() or a.is_complex() else a.astype(mstype.float64)


def _square(a, name, batched=False, half=False):
    a = _tensor(a, name, "a", max(a.ndim, 2) if batched and isinstance(a, Tensor) else 2, half)
    if a.shape[-2] != a.shape[-1]:
        raise ValueError(f"For '{name}', the matrix 'a' should be a square matrix like (N, N), but got {a.shape}.")
    return a
