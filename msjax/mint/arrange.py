"""Shapes, joining, splitting and picking, as mint has them."""

import jax.numpy as jnp

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func.arrange import shape_of
from msjax.ops.function.array_func.scattering import index_combine, scatter_along

__all__ = [
    "cat", "chunk", "clone", "concat", "diag", "diff", "dstack", "flatten", "flip", "gather", "hstack", "index_add",
    "index_select", "meshgrid", "narrow", "permute", "repeat_interleave", "scatter", "scatter_add", "select", "split",
    "squeeze", "stack", "swapaxes", "transpose", "unbind",
]  # fmt: skip


def cat(tensors, dim=0):
    """Tensors joined along an axis that they have.

    Example:
        >>> import msjax as ms
        >>> from msjax import mint
        >>> x = ms.Tensor([[1, 2]])
        >>> print(mint.cat((x, x), dim=1))
        [[1 2 1 2]]
    """
    return ops.concat(tensors, dim)


def concat(tensors, dim=0):
    """The same as `cat`."""
    return ops.concat(tensors, dim)


def stack(tensors, dim=0):
    """Tensors of one shape joined along a new axis."""
    return ops.stack(tensors, dim)


def hstack(tensors):
    """Tensors joined along the second axis; 1-d ones along their only axis."""
    return ops.hstack(tensors)


def dstack(tensors):
    """Tensors joined along the third axis, which is added where it is missing."""
    return ops.dstack(tensors)


def split(tensor, split_size_or_sections, dim=0):
    """Pieces of a given size, or of given sizes, along an axis; see `ops.split`."""
    return ops.split(tensor, split_size_or_sections, dim)


def chunk(input, chunks, dim=0):
    """At most `chunks` pieces of equal size along an axis; the last may be smaller."""
    return ops.chunk(input, chunks, dim)


def unbind(input, dim=0):
    """The slices along an axis, without it, as a tuple."""
    return ops.unbind(input, dim)


def narrow(input, dim, start, length):
    """The `length` elements from `start` on along an axis."""
    return ops.narrow(input, dim, start, length)


def select(input, dim, index):
    """The slice at one position of an axis, without it."""
    return input.select(dim, index)


def transpose(input, dim0, dim1):
    """Two axes exchanged."""
    return ops.swapaxes(input, dim0, dim1)


def swapaxes(input, axis0, axis1):
    """Two axes exchanged."""
    return ops.swapaxes(input, axis0, axis1)


def permute(input, *axes, dims=None):
    """The axes in another order, given as a tuple."""
    return ops.permute(input, shape_of(axes) if dims is None else dims)


def flatten(input, start_dim=0, end_dim=-1):
    """The axes from `start_dim` to `end_dim` as one, all by default."""
    return ops.flatten(input, start_dim=start_dim, end_dim=end_dim)


def squeeze(input, dim=None):
    """Without axes of size 1: all of them, or those named; one of another size stays.

    Args:
        input (Tensor): of any shape.
        dim (int or tuple, optional): the axes.
    """
    if dim is None:
        return ops.squeeze(input)
    dims = dim if isinstance(dim, (tuple, list)) else (dim,)
    return ops.squeeze(input, tuple(d for d in dims if input.shape[d] == 1)) if any(input.shape[d] == 1 for d in dims) else input


def flip(input, dims):
    """The order of elements reversed along axes, given as a tuple."""
    return ops.flip(input, dims)


def clone(input):
    """A new Tensor of the same data, differentiable like the Tensor itself."""
    return ops.identity(input)


@operator(int_grad=True)
def _diag(input, diagonal):
    return jnp.diag(input, diagonal)


def diag(input, diagonal=0):
    """A matrix with a vector on its diagonal number `diagonal`, or that diagonal of a matrix."""
    return _diag(input, diagonal)


def meshgrid(*tensors, indexing="ij"):
    """Grids of coordinates from vectors; see `ops.meshgrid`. The first vector runs along the first axis by default."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    return ops.meshgrid(*tensors, indexing="ij" if indexing is None else indexing)


def diff(input, n=1, dim=-1, prepend=None, append=None):
    """Differences of neighbours along an axis, `n` times; `prepend` and `append` are joined first."""
    return ops.diff(input, n, dim, prepend, append)


def repeat_interleave(input, repeats, dim=None, *, output_size=None):
    """Each element, or each slice along an axis, repeated where it stands; `output_size` is worked out."""
    return ops.repeat_interleave(input, repeats, dim)


# ---- picking and putting


def gather(input, dim, index):
    """Elements picked along an axis, by an index for each place of the result; see `ops.gather_elements`."""
    return ops.gather_elements(input, dim, index)


def index_select(input, dim, index):
    """Slices along an axis, picked by a vector of integers."""
    return ops.index_select(input, dim, index)


def index_add(input, dim, index, source, *, alpha=1):
    """`input` with slices of `source`, times `alpha`, added to those that `index` names along an axis."""
    return index_combine(input, index, source if alpha == 1 else source * alpha, dim, "add")


def _source(value):
    return value if isinstance(value, Tensor) else Tensor(value)


def scatter(input, dim, index, src):
    """`input` with `src`, a Tensor or number, put in along an axis, at an index for each element."""
    return scatter_along(input, index, _source(src), dim, "update")


def scatter_add(input, dim, index, src):
    """`input` with `src` added along an axis, at an index for each element."""
    return scatter_along(input, index, _source(src), dim, "add")
