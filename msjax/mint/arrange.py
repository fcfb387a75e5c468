"""mint's functions for shapes, joining, splitting and indexing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.typing import Axes, JaxArray
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func.arrange import shape_of
from msjax.ops.function.array_func.scattering import index_combine, scatter_along

__all__ = [
    "cat", "chunk", "clone", "concat", "diag", "diff", "flatten", "gather", "index_add",
    "index_select", "meshgrid", "narrow", "permute", "repeat_interleave", "scatter", "scatter_add", "select", "split",
    "squeeze", "stack", "transpose",
]  # fmt: skip


def cat(tensors: list[Tensor] | tuple[Tensor, ...], dim: int = 0) -> Tensor:
    """Tensors joined along an axis that they have.

    Example:
        >>> from msjax import Tensor, mint
        >>> x = Tensor([[1, 2]])
        >>> print(mint.cat((x, x), dim=1))
        [[1 2 1 2]]
    """
    return ops.concat(tensors, dim)


concat = cat


def stack(tensors: list[Tensor] | tuple[Tensor, ...], dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis."""
    return ops.stack(tensors, dim)


def split(tensor: TensorLike, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of a given size, or of given sizes, along an axis; see `ops.split`."""
    return ops.split(tensor, split_size_or_sections, dim)


def chunk(input: TensorLike, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of equal size along an axis; the last may be smaller."""
    return ops.chunk(input, chunks, dim)


def narrow(input: TensorLike, dim: int, start: int | Tensor, length: int | Tensor) -> Tensor:
    """The `length` elements from `start` on along an axis."""
    return ops.narrow(input, dim, start, length)


def select(input: Tensor, dim: int, index: int | Tensor) -> Tensor:
    """The slice at one position of an axis, without it."""
    return input.select(dim, index)


def transpose(input: TensorLike, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged."""
    return ops.swapaxes(input, dim0, dim1)


def permute(input: TensorLike, *axes: Any, dims: Sequence[int] | None = None) -> Tensor:
    """The axes in another order, given as a tuple."""
    return ops.permute(input, shape_of(axes) if dims is None else dims)


def flatten(input: TensorLike, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from `start_dim` to `end_dim` as one, all by default."""
    return ops.flatten(input, start_dim=start_dim, end_dim=end_dim)


def squeeze(input: Tensor, dim: Axes | None = None) -> Tensor:
    """Without axes of size 1: all of them, or those named; one of another size stays.

    Args:
        input (Tensor): of any shape.
        dim (int or tuple, optional): the axes.
    """
    if dim is None:
        return ops.squeeze(input)
    dims = dim if isinstance(dim, Sequence) else (dim,)
    ones = tuple(d for d in dims if input.shape[d] == 1)
    return ops.squeeze(input, ones) if ones else input


def clone(input: TensorLike) -> Tensor:
    """A new Tensor of the same data, differentiable like the Tensor itself."""
    return ops.identity(input)


@operator(int_grad=True)
def diag(input: TensorLike, diagonal: int = 0) -> JaxArray:
    """A matrix with a vector on its diagonal number `diagonal`, or that diagonal of a matrix."""
    return jnp.diag(input, diagonal)  # pyright: ignore[reportArgumentType]


def meshgrid(*tensors: Tensor, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Grids of coordinates from vectors; see `ops.meshgrid`. The first vector runs along the first axis by default."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    return ops.meshgrid(*tensors, indexing="ij" if indexing is None else indexing)


def diff(
    input: TensorLike, n: int = 1, dim: int = -1, prepend: TensorLike | None = None, append: TensorLike | None = None
) -> Tensor:
    """Differences of neighbours along an axis, `n` times; `prepend` and `append` are joined first."""
    return ops.diff(input, n, dim, prepend, append)


def repeat_interleave(
    input: TensorLike, repeats: Tensor | int, dim: int | None = None, *, output_size: int | tuple[int, ...] | None = None
) -> Tensor:
    """Each element, or each slice along an axis, repeated where it stands; `output_size` is inferred."""
    return ops.repeat_interleave(input, repeats, dim)


# ---- gathering and scattering


gather = ops.gather_elements


def index_select(input: TensorLike, dim: int, index: Tensor) -> Tensor:
    """Slices along an axis, picked by a vector of integers."""
    return ops.index_select(input, dim, index)


def index_add(input: TensorLike, dim: int, index: TensorLike, source: Tensor, *, alpha: int = 1) -> Tensor:
    """`input` with slices of `source`, times `alpha`, added to those that `index` names along an axis."""
    return index_combine(input, index, source if alpha == 1 else source * alpha, dim, "add")


def _source(value):
    return value if isinstance(value, Tensor) else Tensor(value)


def scatter(input: TensorLike, dim: int, index: Tensor, src: TensorLike) -> Tensor:
    """`input` with `src`, a Tensor or number, put in along an axis, at an index for each element."""
    return scatter_along(input, index, _source(src), dim, "update")


def scatter_add(input: TensorLike, dim: int, index: TensorLike, src: TensorLike) -> Tensor:
    """`input` with `src` added along an axis, at an index for each element."""
    return scatter_along(input, index, _source(src), dim, "add")
