"""Operators on diagonals and triangles of matrices."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.arrays import as_array
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_value
from msjax.core.base.typing import JaxArray, Number
from msjax.engine.autograd.views import Rule
from msjax.ops.dispatch.operator import freeze, operator, require_tensors
from msjax.ops.function.array_func.casting import ints

__all__ = [
    "diag", "diag_embed", "diagflat", "diagonal", "diagonal_scatter", "fill_diagonal", "matrix_band_part", "matrix_diag",
    "matrix_diag_part", "matrix_set_diag", "tril", "tril_indices", "triu", "triu_indices",
]  # fmt: skip


@operator(name="Diag", int_grad=True)
def diag(input: TensorLike) -> JaxArray:
    """A matrix with a vector on its diagonal; for more axes, zeros but for ``out[i..., i...] = input[i...]``.

    Example:
        >>> print(ops.diag(Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    return jnp.diag(input.ravel()).reshape(input.shape + input.shape)


@operator(int_grad=True)
def diagflat(input: TensorLike, offset: int = 0) -> JaxArray:
    """A matrix with the flattened Tensor on its diagonal number `offset`."""
    return jnp.diagflat(input, offset)


@operator(int_grad=True)
def diag_embed(input: TensorLike, offset: int = 0, dim1: int = -2, dim2: int = -1) -> JaxArray:
    """The last axis laid on the diagonal `offset` of new matrices, in the axes `dim1` and `dim2` of the result."""
    size = input.shape[-1] + abs(offset)
    at = np.arange(input.shape[-1])
    rows, columns = at + max(-offset, 0), at + max(offset, 0)
    out = jnp.zeros((*input.shape[:-1], size, size), input.dtype).at[..., rows, columns].set(input)
    return jnp.moveaxis(out, (-2, -1), (dim1, dim2))


@operator(int_grad=True, view=Rule(layout=np.diagonal))
def diagonal(input: TensorLike, offset: int = 0, dim1: int = 0, dim2: int = 1) -> JaxArray:
    """The diagonal number `offset` of the matrices in the axes `dim1` and `dim2`, as the last axis."""
    check_value(input, input.ndim >= 2, "have at least two axes", "the Tensor")
    return jnp.diagonal(input, offset, dim1, dim2)


@operator(2, int_grad=True)
def diagonal_scatter(input: TensorLike, src: TensorLike, offset: int = 0, dim1: int = 0, dim2: int = 1) -> JaxArray:
    """`input` with its diagonal number `offset` replaced by `src`."""
    x = jnp.moveaxis(input, (dim1, dim2), (-2, -1))
    at = np.arange(src.shape[-1])
    out = x.at[..., at + max(-offset, 0), at + max(offset, 0)].set(src.astype(x.dtype))
    return jnp.moveaxis(out, (-2, -1), (dim1, dim2))


@operator(numbers=("fill_value",), int_grad=(0,))
def fill_diagonal(input: TensorLike, fill_value: Number, wrap: bool = False) -> JaxArray:
    """`input` with one value on its main diagonal.

    Args:
        input (Tensor): of two axes, or of more of one size.
        fill_value (number): what to put there.
        wrap (bool): whether the diagonal starts again below itself in a tall matrix. Default: False.
    """
    check_value(input, input.ndim >= 2, "have at least two axes", "the Tensor")
    if input.ndim > 2 and len(set(input.shape)) > 1:
        raise ValueError(f"A Tensor of more than two axes should have them of one size, but its shape is {input.shape}.")
    step = sum(int(np.prod(input.shape[i + 1 :])) for i in range(input.ndim))
    last = input.size if input.ndim > 2 or wrap else min(input.size, input.shape[1] * input.shape[1])
    at = np.arange(0, last, step)
    return input.ravel().at[at].set(jnp.asarray(fill_value).astype(input.dtype)).reshape(input.shape)


@operator(int_grad=True)
def tril(input: TensorLike, diagonal: int = 0) -> JaxArray:
    """The lower triangle of matrices up to the diagonal number `diagonal`, zeros elsewhere.

    Example:
        >>> print(ops.tril(Tensor([[1, 2], [3, 4]])))
        [[1 0]
         [3 4]]
    """
    return jnp.tril(input, diagonal)


@operator(int_grad=True)
def triu(input: TensorLike, diagonal: int = 0) -> JaxArray:
    """The upper triangle of matrices from the diagonal number `diagonal` on, zeros elsewhere.

    Example:
        >>> print(ops.triu(Tensor([[1, 2], [3, 4]])))
        [[1 2]
         [0 4]]
    """
    return jnp.triu(input, diagonal)


def tril_indices(row: TensorLike, col: TensorLike, offset: int = 0, *, dtype: DTypeLike = mstype.int64) -> Tensor:
    """Rows and columns, as a Tensor of shape (2, n), of the lower triangle of a (row, col) matrix."""
    return wrap(as_array(np.stack(np.tril_indices(row, offset, col)), dtype))


def triu_indices(row: TensorLike, col: TensorLike, offset: int = 0, *, dtype: DTypeLike = mstype.int64) -> Tensor:
    """Rows and columns, as a Tensor of shape (2, n), of the upper triangle of a (row, col) matrix."""
    return wrap(as_array(np.stack(np.triu_indices(row, offset, col)), dtype))


# ---- bands of batched matrices


@operator(int_grad=True)
def matrix_band_part(x: Tensor, lower: int, upper: int) -> JaxArray:
    """Matrices with zeros but for a band around the diagonal.

    Args:
        x (Tensor): of shape (*, m, n).
        lower, upper (int): how many diagonals below and above the main one to keep; all of them if negative.
    """
    rows, columns = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    keep = ((lower < 0) | (rows - columns <= lower)) & ((upper < 0) | (columns - rows <= upper))
    return jnp.where(keep, x, jnp.zeros((), x.dtype))


def _diagonals(k):
    """(lowest, highest) diagonal of an int or a pair of them."""
    k = ints(k)
    k = k * 2 if len(k) == 1 else k
    check_value(k, len(k) == 2 and k[0] <= k[1], "be a diagonal or the lowest and highest one", "k")
    return k


def _places(k, rows, columns, align):
    """For each diagonal from the highest down: where it begins, its length, and its shift in a padded row."""
    low, high = k
    lengths = {d: min(rows + min(d, 0), columns - max(d, 0)) for d in range(low, high + 1)}
    longest = max(lengths.values())
    upper, lower = align.split("_")
    places = []
    for d in range(high, low - 1, -1):
        side = upper if d >= 0 else lower
        places.append((max(-d, 0), max(d, 0), lengths[d], longest - lengths[d] if side == "RIGHT" else 0))
    return places, longest


def _checked_align(align):
    if align not in ("LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"):
        raise ValueError(f"'align' should be LEFT_RIGHT, RIGHT_LEFT, LEFT_LEFT or RIGHT_RIGHT, but got {align!r}.")
    return align


@operator(2, int_grad=True)
def _put_diagonals(matrix, x, k, align):
    places, _ = _places(k, *matrix.shape[-2:], align)
    one = k[0] == k[1]
    for i, (row, column, length, shift) in enumerate(places):
        at = np.arange(length)
        values = x[..., shift : shift + length] if one else x[..., i, shift : shift + length]
        matrix = matrix.at[..., row + at, column + at].set(values.astype(matrix.dtype))
    return matrix


@operator(2, int_grad=True)
def _get_diagonals(x, padding, k, align):
    places, longest = _places(k, *x.shape[-2:], align)
    rows = []
    for row, column, length, shift in places:
        at = np.arange(length)
        values = x[..., row + at, column + at]
        sides = [(0, 0)] * (values.ndim - 1) + [(shift, longest - length - shift)]
        empty = np.pad(np.zeros(length, bool), sides[-1], constant_values=True)
        rows.append(jnp.where(empty, jnp.asarray(padding).astype(x.dtype), jnp.pad(values, sides)))
    return rows[0] if k[0] == k[1] else jnp.stack(rows, -2)


def matrix_diag(
    x: Tensor,
    k: int | Sequence[int] = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: Number = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with given diagonals.

    Args:
        x (Tensor): of shape (*, n) for one diagonal, or (*, number of diagonals, length of the longest).
        k (int or tuple): the diagonal, or the lowest and the highest one. Default: 0.
        num_rows, num_cols (int): the size of the matrices; -1 for the smallest that fits.
        padding_value (number): the value elsewhere. Default: 0.
        align (str): to which side shorter diagonals are aligned in `x`, above and below the main one.
    """
    k = _diagonals(k)
    longest = x.shape[-1]
    rows, columns = freeze(num_rows), freeze(num_cols)
    least_rows, least_columns = longest - min(k[1], 0), longest + max(k[0], 0)
    if rows == -1 and columns == -1:
        rows = columns = max(least_rows, least_columns)
    else:
        rows, columns = (least_rows if rows == -1 else rows), (least_columns if columns == -1 else columns)
    batch = x.shape[:-1] if k[0] == k[1] else x.shape[:-2]
    empty = wrap(jnp.full((*batch, rows, columns), freeze(padding_value), x._value.dtype))
    return _put_diagonals(empty, x, k, _checked_align(align))


def matrix_diag_part(x: Tensor, k: int | Sequence[int], padding_value: Number | Tensor, align: str = "RIGHT_LEFT") -> Tensor:
    """The diagonals of matrices; shorter ones are filled up.

    Args:
        x (Tensor): of shape (*, m, n).
        k (int or tuple): the diagonal, or the lowest and the highest one.
        padding_value (number or Tensor): what fills up.
        align (str): to which side shorter diagonals are aligned, above and below the main one.
    """
    return _get_diagonals(x, padding_value, _diagonals(k), _checked_align(align))


def matrix_set_diag(x: Tensor, diagonal: Tensor, k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """Matrices with other diagonals; the arguments are those of `matrix_diag`."""
    require_tensors("matrix_set_diag", diagonal=diagonal)
    return _put_diagonals(x, diagonal, _diagonals(k), _checked_align(align))
