"""Operators that gather elements by index."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.arrays import is_at_hand, known_value
from msjax.core.base.checks import check_in_range, check_kind, check_rank, check_value
from msjax.core.base.typing import JaxArray
from msjax.engine.settings.current import SETTINGS
from msjax.ops.dispatch.operator import axis_of, freeze, operator, require_tensors
from msjax.ops.dispatch.promotion import rounded_once, widened

__all__ = ["embedding", "gather", "gather_d", "gather_elements", "gather_nd", "index_select", "take"]


def check_indices(indices: Tensor, size: int, who: str, lowest: int | None = None) -> None:
    """Raise if indices are out of range, unless the check would have to wait for an accelerator, or another process has some of them."""
    known = known_value(indices._value) if isinstance(indices, Tensor) else None
    if known is None or not known.size:
        return
    if not is_at_hand(known) and not (SETTINGS.pynative_synchronize and known.is_fully_addressable):
        return
    numbers = np.asarray(known)
    least, most = numbers.min(), numbers.max()
    lowest = -size if lowest is None else lowest
    if least < lowest or most >= size:
        raise RuntimeError(
            f"For '{who}', the indices should be in [{lowest}, {size}), but there is {most if most >= size else least}."
        )


def integers(value: TensorLike, who: str, name: str = "index") -> Tensor:
    """The value as a Tensor of integers; TypeError for any other value."""
    value = value if isinstance(value, Tensor) else Tensor(value)
    check_kind(value, value.dtype.kind in "iu", "be a Tensor of integers", name, who)
    return value


@operator(2, name="Gather", int_grad=(0,))
def _gather(x, indices, axis, batch_dims):
    def take(x, indices):
        return jnp.take(x, indices, axis - batch_dims)

    for _ in range(batch_dims):
        take = jax.vmap(take)
    return rounded_once(take, x, indices)


def gather(input_params: Tensor, input_indices: Tensor, axis: int, batch_dims: int = 0) -> Tensor:
    """Slices along an axis, picked by index.

    Args:
        input_params (Tensor): where to pick from.
        input_indices (Tensor): of integers, of any shape.
        axis (int): the axis to pick along.
        batch_dims (int): how many leading axes the two have in common; picks are made for each of them. Default: 0.

    Returns:
        A Tensor of shape ``params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]``.

    Raises:
        TypeError: the indices are not integers, or `axis` no int.
        RuntimeError: an index is out of range. (In a compiled program, the result has NaN there.)

    Example:
        >>> x = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> print(ops.gather(x, Tensor([2, 0]), 0))
        [[5. 6.]
         [1. 2.]]
    """
    require_tensors("gather", input_params=input_params)
    axis = axis_of(input_params, axis, "gather")
    indices = integers(input_indices, "gather", "input_indices")
    batch_dims = batch_dims % max(indices.ndim, 1) if batch_dims < 0 else batch_dims
    if batch_dims > axis:
        raise ValueError(f"For 'gather', 'batch_dims' ({batch_dims}) should not exceed 'axis' ({axis}).")
    check_indices(indices, input_params.shape[axis], "gather")
    return _gather(input_params, indices, axis, batch_dims)


def index_select(input: TensorLike, axis: int, index: Tensor) -> Tensor:
    """Slices along an axis, picked by a vector of integers.

    Example:
        >>> print(ops.index_select(Tensor([[1, 2], [3, 4]]), 1, Tensor([1])))
        [[2]
         [4]]
    """
    axis = axis_of(input, axis, "index_select")
    index = integers(index, "index_select")
    check_value(index, index.ndim <= 1, "be a vector", "index", "index_select")
    check_indices(index, input.shape[axis], "index_select")
    return _gather(input, index if index.ndim else index.reshape((1,)), axis, 0)


def take(input: TensorLike, index: Tensor) -> Tensor:
    """Elements of the flattened Tensor, picked by index, in the shape of `index`."""
    index = integers(index, "take")
    check_indices(index, input.size, "take")
    return _gather(input.reshape((-1,)), index, 0, 0)


@operator(2, name="GatherD", int_grad=(0,))
def _gather_d(x, index, dim):
    dim = dim % x.ndim
    # Along the other axes, the result has the sizes of the index.
    x = jax.lax.slice(x, (0,) * x.ndim, [n if i == dim else m for i, (n, m) in enumerate(zip(x.shape, index.shape))])
    return rounded_once(jnp.take_along_axis, x, index, dim)


def gather_d(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Elements picked along an axis, by an index for each place of the result.

    Args:
        x (Tensor): where to pick from.
        dim (int): the axis to pick along.
        index (Tensor): of integers, with as many axes as `x`, and no larger than `x` except along `dim`.

    Returns:
        A Tensor of the shape of `index`: for two axes, ``out[i, j] = x[index[i, j], j]`` with dim 0, and
        ``out[i, j] = x[i, index[i, j]]`` with dim 1.

    Raises:
        TypeError: `index` is not of integers.
        ValueError: the numbers of axes differ.

    Example:
        >>> print(ops.gather_d(Tensor([[1, 2], [3, 4]]), 1, Tensor([[0, 0], [1, 0]])))
        [[1 1]
         [4 3]]
    """
    dim = axis_of(x, dim, "gather_d")
    index = integers(index, "gather_d")
    check_rank(index, x.ndim, "index", "gather_d")
    check_indices(index, x.shape[dim], "gather_d")
    return _gather_d(x, index, dim)


def gather_elements(input: TensorLike, dim: int, index: TensorLike) -> Tensor:
    """Elements picked along an axis, by an index for each place of the result; the same as `gather_d`."""
    return gather_d(input, dim, index)


@operator(2, int_grad=(0,))
def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int | Sequence[int]) -> JaxArray:
    """Elements picked along an axis, by an index for each place; other axes are broadcast."""
    return rounded_once(jnp.take_along_axis, arr, indices, axis)


@operator(2, name="GatherNd", int_grad=(0,))
def _gather_nd(x, indices):
    return rounded_once(lambda x: x[tuple(jnp.moveaxis(indices, -1, 0))], x)


def gather_nd(input_x: Tensor, indices: Tensor) -> Tensor:
    """Slices picked by rows of indices, one number for each of the first axes.

    Args:
        input_x (Tensor): where to pick from.
        indices (Tensor): of integers, of shape (*, n) with n axes to index.

    Returns:
        A Tensor of shape ``indices.shape[:-1] + input_x.shape[n:]``.

    Example:
        >>> print(ops.gather_nd(Tensor([[1, 2], [3, 4]]), Tensor([[0, 1], [1, 0]])))
        [2 3]
    """
    indices = integers(indices, "gather_nd", "indices")
    depth = indices.shape[-1] if indices.ndim else 0
    check_value(
        indices, 1 <= depth <= input_x.ndim, f"have 1 to {input_x.ndim} numbers", "the last axis of 'indices'", "gather_nd"
    )
    return _gather_nd(input_x, indices)


@operator(2, name="EmbeddingLookup")
def rows_or_zeros(table: TensorLike, indices: TensorLike) -> JaxArray:
    """Rows of a table, by integers; zeros for one outside of the table."""
    inside = (indices >= 0) & (indices < table.shape[0])
    rows = rounded_once(lambda x: x.at[jnp.where(inside, indices, 0)].get(mode="clip"), table)
    return jnp.where(inside.reshape(inside.shape + (1,) * (table.ndim - 1)), rows, jnp.zeros((), table.dtype))


def embedding_lookup(input_params: Tensor, input_indices: Tensor, offset: int = 0) -> Tensor:
    """Rows of a table, by index less `offset`; zeros for an index outside of the table."""
    indices = integers(input_indices, "EmbeddingLookup", "input_indices")
    offset = freeze(offset)
    return rows_or_zeros(input_params, indices - offset if offset else indices)


@operator(2, numbers=("max_norm",), name="Embedding")
def embed(
    weight: TensorLike, ids: TensorLike, padding_idx: int | None, max_norm: float | None, norm_type: float, scale: bool
) -> JaxArray:
    """What `embedding` returns for integers in the table and a `padding_idx` that is not negative."""
    rows = widened(weight).at[ids].get(mode="fill")
    if max_norm is not None:
        held = jax.lax.stop_gradient(rows)
        norms = jnp.linalg.norm(held, norm_type, -1, keepdims=True)
        # The gradient is that of the scaled rows.
        rows = rows + held * (jnp.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(rows.dtype) - 1)
    held = jax.lax.stop_gradient(rows)
    if scale:
        counts = jnp.zeros(weight.shape[0], jnp.int32).at[ids].add(1)
        share = 1 / counts[ids][..., None].astype(rows.dtype)
        rows = rows * share + held * (1 - share)  # of the gradient alone
    return (rows if padding_idx is None else jnp.where((ids == padding_idx)[..., None], held, rows)).astype(weight.dtype)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    """Rows of a table, looked up by number.

    Args:
        input (Tensor): of integers, of any shape.
        weight (Tensor): the table, of shape (rows, size).
        padding_idx (int, optional): a row that gets no gradient.
        max_norm (float, optional): longer rows are scaled down to this norm in the result, whose gradient they get.
        norm_type (float): which norm. Default: 2.0.
        scale_grad_by_freq (bool): divide a row's gradient by how often it is looked up. Default: False.

    Returns:
        A Tensor of shape (*input.shape, size).

    Example:
        >>> print(ops.embedding(Tensor([1, 0]), Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[3. 4.]
         [1. 2.]]
    """
    ids = integers(input, "embedding", "input")
    check_value(weight, isinstance(weight, Tensor) and weight.ndim == 2, "be a Tensor of two axes", "weight", "embedding")
    rows = weight.shape[0]
    if padding_idx is not None:
        check_in_range(padding_idx, "padding_idx", "embedding", low=-rows, below=rows)
        padding_idx = padding_idx % rows
    check_indices(ids, rows, "embedding", 0)
    return embed(weight, ids, padding_idx, max_norm, float(norm_type), bool(scale_grad_by_freq))
