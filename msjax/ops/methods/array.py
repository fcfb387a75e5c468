"""Tensor methods that arrange, pick and put elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor, wrap
from msjax.errors import describe
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func import (
    arrange,
    casting,
    diagonals,
    gathering,
    indexing,
    joining,
    scattering,
    searching,
    segments,
    selecting,
    sorting,
    splitting,
)
from msjax.ops.function.array_func.arrange import shape_of
from msjax.ops.function.image_func import pixels
from msjax.ops.methods.inplace import METHODS as INPLACE
from msjax.ops.primitive import method_of
from msjax.typing import JaxArray, TensorLike

# ---- Python's protocols


def _iterate(self: Tensor) -> Iterator[Tensor]:
    if not self._value.ndim:
        raise TypeError("A 0-d Tensor can't be iterated.")
    return (self[i] for i in range(self._value.shape[0]))


def _contains(self: Tensor, element: TensorLike) -> bool:
    """Whether any element equals a number or Tensor."""
    return bool((self == element).any())


# ---- shape and order


def _reshape(self: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape, given as ints or a tuple; one -1 is worked out."""
    return arrange.reshape(self, shape_of(shape))


def _view(self: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape, given as ints or a tuple; or, for a data type, the same bytes read as that type."""
    if len(shape) == 1 and isinstance(shape[0], Type):
        return _bits(self, shape[0])
    return arrange.reshape(self, shape_of(shape))


@operator(differentiable=False)
def _bits(x: TensorLike, dtype: Type) -> JaxArray:
    target = mstype.to_jax(dtype)
    width = target.itemsize
    if x.dtype.itemsize == width:
        return jax.lax.bitcast_convert_type(x, target)
    if x.dtype.itemsize > width:
        out = jax.lax.bitcast_convert_type(x, target)
        return out.reshape(*x.shape[:-1], -1)
    ratio = width // x.dtype.itemsize
    return jax.lax.bitcast_convert_type(x.reshape(*x.shape[:-1], -1, ratio), target)


def _transpose(self: Tensor, *axes: Any) -> Tensor:
    """Two axes exchanged, if given as two ints; the axes in another order, given as more ints or a tuple; reversed by default."""
    if len(axes) == 2 and all(isinstance(a, int) for a in axes):
        return arrange.swapaxes(self, *axes)
    axes = shape_of(axes)
    return arrange.transpose(self, axes if axes or self.ndim == 0 else tuple(range(self.ndim))[::-1])


def _permute(self: Tensor, *axis: Any) -> Tensor:
    """The axes in another order, given as ints or a tuple."""
    return arrange.permute(self, shape_of(axis))


def _expand(self: Tensor, *size: Any) -> Tensor:
    """The Tensor repeated to a larger shape, given as ints or a tuple; -1 keeps the size of an axis."""
    return arrange.broadcast_to(self, shape_of(size))


def _squeeze(self: Tensor, *axes: Any, axis: int | list[int] | None = None, dim: int | None = None) -> Tensor:
    """Without axes of size 1: all of them, or those named, as ints, a tuple or a list."""
    named = [a for a in (axes or None, None if axis is None else (axis,), None if dim is None else (dim,)) if a is not None]
    if len(named) > 1:
        raise TypeError("Tensor.squeeze needs its axes once, but got them twice.")
    return arrange.squeeze(self, shape_of(named[0]) if named else None)


def _tile(self: Tensor, *dims: Any, reps: int | Sequence[int] | None = None) -> Tensor:
    """The Tensor repeated along its axes, as often as ints or a tuple say."""
    return arrange.tile(self, shape_of(dims) if reps is None else reps)


def _repeat(self: Tensor, *repeats: Any, axis: int | Sequence[int] | None = None) -> Tensor:
    """The Tensor repeated along its axes, at least one count for each; with `axis`, its slices repeated where they stand."""
    if axis is not None:
        return arrange.repeat_interleave(self, repeats[0], axis)
    counts = shape_of(repeats)
    if len(casting.ints(counts)) < self.ndim:
        raise ValueError(f"For 'Tensor.repeat', there should be a count for each of {self.ndim} axes, but got {counts}.")
    return arrange.tile(self, counts)


def _repeat_interleave(
    self: Tensor,
    repeats: int,
    dim: int | None = None,
    *,
    output_size: int | tuple[int, ...] | None = None,
    axis: int | Sequence[int] | None = None,
) -> Tensor:
    """Each element, or each slice along an axis, repeated where it stands; see `ops.repeat_interleave`."""
    return arrange.repeat_interleave(self, repeats, dim if axis is None else axis)


def _flatten(self: Tensor, order: str = "C", *, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from `start_dim` to `end_dim` as one, by default all."""
    if isinstance(order, int):
        order, start_dim = "C", order
    return arrange.flatten(self, order, start_dim=start_dim, end_dim=end_dim)


def _resize(self: Tensor, *new_shape: Any) -> Tensor:
    """The elements in another shape, which may have more elements (zeros are added) or fewer (the last are dropped)."""
    shape = casting.ints(shape_of(new_shape))
    count = int(np.prod(shape))
    flat = arrange.ravel(self)
    if count <= self.size:
        return arrange.reshape(splitting.slice(flat, (0,), (count,)), shape)
    from msjax.ops.function.nn_func.pads import pad_constant

    return arrange.reshape(pad_constant(flat, 0, ((0, count - self.size),)), shape)


def _diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix with the vector on its diagonal; see `ops.diag`."""
    if diagonal != 0:
        raise ValueError(f"For 'Tensor.diag', 'diagonal' should be 0, but got {diagonal}.")
    return diagonals.diag(self)


def _reverse_matrix(self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise ValueError(f"The Tensor should have at least two axes, but its shape is {self.shape}.")
    return arrange.swapaxes(self, -2, -1)


def _T(self: Tensor) -> Tensor:
    """The Tensor with its axes reversed."""
    return _transpose(self)


def _mT(self: Tensor) -> Tensor:
    """The matrices of the last two axes transposed."""
    return _reverse_matrix(self)


@operator()
def _conjugate(x: TensorLike) -> JaxArray:
    return jax.numpy.conj(x)


def _H(self: Tensor) -> Tensor:
    """A matrix transposed, its elements conjugated."""
    if self.ndim > 2:
        raise ValueError(f"'H' is for Tensors of at most two axes, but the shape is {self.shape}.")
    return arrange.t(_conjugate(self) if self.is_complex() else self)


def _mH(self: Tensor) -> Tensor:
    """The matrices of the last two axes transposed, their elements conjugated."""
    return _reverse_matrix(_conjugate(self) if self.is_complex() else self)


# ---- data types


def _astype(self: Tensor, dtype: Type, copy: bool = True) -> Tensor:
    """The elements converted to another data type, given as a type or its name."""
    return casting.cast(self, mstype.float64 if dtype is float else dtype)


def _to(
    self: Tensor, *args: Any, dtype: Type | None = None, device: str | None = None, non_blocking: bool = False, copy: bool = False
) -> Tensor:
    """The elements converted to a data type, or to that of another Tensor; a device's name changes nothing."""
    for arg in args:
        if isinstance(arg, Tensor):
            dtype = arg.dtype
        elif isinstance(arg, Type):
            dtype = arg
        elif not isinstance(arg, (str, bool)):
            raise TypeError(f"For 'Tensor.to', the arguments should be a data type, device or Tensor, but got {describe(arg)}.")
    return self if dtype is None else casting.cast(self, dtype)


def _type(self: Tensor, dtype: Type | None = None) -> Tensor | str:
    """The elements converted to a data type; without one, the name of the present one."""
    return str(self.dtype) if dtype is None else casting.cast(self, dtype)


def _caster(code: str) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return casting.cast(self, code)

    method.__doc__ = f"The elements converted to {code}."
    return method


def _copy(self: Tensor) -> Tensor:
    """A new Tensor of the same data, differentiable like the Tensor itself."""
    return casting.identity(self)


# ---- picking and putting


def _gather(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Slices picked along an axis: ``gather(input_indices, axis, batch_dims=0)``; or elements: ``gather(dim, index)``.

    See `ops.gather` and `ops.gather_elements`.
    """
    if "dim" in kwargs or "index" in kwargs or (args and isinstance(args[0], int)):
        return gathering.gather_elements(self, *args, **kwargs)
    return gathering.gather(self, *args, **kwargs)


def _index_select(
    self: Tensor, axis: int | Sequence[int] | None = None, index: TensorLike | None = None, *, dim: int | None = None
) -> Tensor:
    """Slices along an axis, picked by a vector of integers."""
    return gathering.index_select(self, axis if dim is None else dim, index)


def _index_add(
    self: Tensor,
    *args: Any,
    dim: int | None = None,
    axis: int | Sequence[int] | None = None,
    indices: TensorLike | None = None,
    index: TensorLike | None = None,
    y: TensorLike | None = None,
    source: Any = None,
    alpha: int = 1,
    **_: Any,
) -> Tensor:
    """Slices added along an axis: ``index_add(indices, y, axis)`` or ``index_add(dim, index, source, alpha=1)``."""
    if args and isinstance(args[0], Tensor):
        indices, y, axis = (*args, y, axis)[:3] if len(args) < 3 else args[:3]
    else:
        given = list(args)
        axis = given.pop(0) if given and dim is None and axis is None else dim if axis is None else axis
        indices = given.pop(0) if given else indices if index is None else index
        y = given.pop(0) if given else y if source is None else source
    return scattering.index_add(self, indices, y * alpha if alpha != 1 else y, axis)


def _scatter(
    self: Tensor,
    *args: Any,
    dim: int | None = None,
    axis: int | Sequence[int] | None = None,
    index: TensorLike | None = None,
    src: TensorLike | None = None,
    value: TensorLike | None = None,
) -> Tensor:
    """Values put in along an axis, at an index for each: ``scatter(axis, index, src)``; see `ops.scatter`."""
    given = list(args)
    axis = given.pop(0) if given and dim is None and axis is None else dim if axis is None else axis
    index = given.pop(0) if given else index
    src = given.pop(0) if given else value if src is None else src
    return scattering.scatter(self, axis, index, src)


def _scatter_add(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Values added: ``scatter_add(dim, index, src)`` along an axis, ``scatter_add(indices, updates)`` at rows of indices."""
    if (args and isinstance(args[0], Tensor)) or "indices" in kwargs:
        return scattering.tensor_scatter_add(self, *args, **kwargs)
    names = dict(zip(("dim", "index", "src"), args)) | kwargs
    return scattering.tensor_scatter_elements(self, names["index"], names["src"], names["dim"], "add")


def _select(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``select(dim, index)``: the slice at one position of an axis; ``select(condition, y)``: the Tensor or `y`, by a condition."""
    if (args and isinstance(args[0], Tensor)) or "condition" in kwargs:
        names = dict(zip(("condition", "y"), args)) | kwargs
        return selecting.select(names["condition"], self, names["y"])
    names = dict(zip(("dim", "index"), args)) | kwargs
    dim = names["dim"] % self.ndim
    return self[(slice(None),) * dim + (int(names["index"]),)]


def _where(self: Tensor, condition: Tensor, y: TensorLike) -> Tensor:
    """The Tensor where the condition holds, `y` elsewhere."""
    return selecting.where(condition, self, y)


def _take(
    self: Tensor, indices: Tensor | None = None, axis: int | None = None, mode: str = "clip", *, index: TensorLike | None = None
) -> Tensor:
    """Elements of the flattened Tensor, or slices along an axis, picked by index.

    Args:
        indices (Tensor): of integers.
        axis (int, optional): the axis.
        mode (str): what to do with an index out of range, with an axis: "clip", "wrap" or "raise". Default: "clip".
    """
    indices = gathering.integers(indices if index is None else index, "take")
    if axis is None:
        return gathering.take(self, indices)
    size = self.shape[axis]
    if mode == "wrap":
        indices = indices % size
    elif mode == "clip":
        indices = indices.clip(0, size - 1)
    elif mode != "raise":
        raise ValueError(f"For 'Tensor.take', 'mode' should be 'clip', 'wrap' or 'raise', but got {mode!r}.")
    return gathering.gather(self, indices, axis)


def _choose(self: Tensor, choices: Tensor | Sequence[Tensor], mode: str = "clip") -> Tensor:
    """For each element, an index, the element of the choice of that number.

    Args:
        choices (Tensor, tuple or list): what to choose from, along the first axis.
        mode (str): what to do with an index out of range: "clip", "wrap" or "raise". Default: "clip".
    """
    choices = (
        choices if isinstance(choices, Tensor) else joining.stack([c if isinstance(c, Tensor) else Tensor(c) for c in choices])
    )
    index = self.astype(mstype.int64)
    index = index % choices.shape[0] if mode == "wrap" else index.clip(0, choices.shape[0] - 1) if mode == "clip" else index
    shape = np.broadcast_shapes(self.shape, choices.shape[1:])
    choices = arrange.broadcast_to(
        choices.reshape((-1, *(1,) * (len(shape) - choices.ndim + 1), *choices.shape[1:])), (-1, *shape)
    )
    return gathering.gather_d(choices, 0, arrange.broadcast_to(index, shape).expand_dims(0))[0]


def _itemset(self: Tensor, *args: Any) -> Tensor:
    """The Tensor with one element, at a flat index or a tuple of them, replaced, as a new Tensor."""
    *at, value = args
    if not at and self.size == 1:
        at = [0]
    if len(at) != 1:
        raise ValueError(f"For 'Tensor.itemset', give an index and a value, but got {args}.")
    index = at[0] if isinstance(at[0], tuple) else tuple(int(i) for i in np.unravel_index(at[0], self.shape))
    out = casting.identity(self)
    out[index] = value
    return out


def _sort(
    self: Tensor, axis: int = -1, descending: bool = False, *, dim: int | None = None, stable: bool = False
) -> tuple[Tensor, Tensor]:
    """The elements sorted along an axis, and where each came from; see `ops.sort`."""
    return sorting.sort(self, axis if dim is None else dim, descending)


def _argsort(self: Tensor, axis: int = -1, descending: bool = False, *, dim: int | None = None, stable: bool = False) -> Tensor:
    """Where each element of the Tensor sorted along an axis comes from; see `ops.argsort`."""
    return sorting.argsort(self, axis if dim is None else dim, descending)


def _unique(
    self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Tensor | tuple[Tensor, ...]:
    """The distinct elements.

    Args:
        sorted (bool): ascending, in the place of the order in which they first come. Default: True.
        return_inverse (bool): also the place of each element in the result. Default: False.
        return_counts (bool): also how often each occurs. Default: False.
        dim (int, optional): the axis whose slices are compared; by default the Tensor is flattened.

    Returns:
        A Tensor, or a tuple of it and what was asked for.
    """
    return sorting.distinct(self, sorted, return_inverse, return_counts, dim)


def _searchsorted(self: Tensor, v: Tensor, side: str = "left", sorter: TensorLike | None = None) -> Tensor:
    """Where values would go in the sorted Tensor, as Int32; see `ops.searchsorted`."""
    return searching.searchsorted(self, v if isinstance(v, Tensor) else Tensor(v), out_int32=True, side=side, sorter=sorter)


# ---- new Tensors like this one


def _full(tensor: TensorLike, size: tuple[int, ...], value: TensorLike, dtype: Type) -> Tensor:
    shape = casting.ints(size)
    return wrap(jax.numpy.full(shape, value, mstype.to_jax(tensor.dtype if dtype is None else dtype)))


def _new_zeros(self: Tensor, size: int | Sequence[int], *, dtype: Type | None = None) -> Tensor:
    """Zeros of a shape, of this Tensor's type by default."""
    return _full(self, size, 0, dtype)


def _new_ones(self: Tensor, size: int | Sequence[int], *, dtype: Type | None = None) -> Tensor:
    """Ones of a shape, of this Tensor's type by default."""
    return _full(self, size, 1, dtype)


def _new_full(self: Tensor, size: tuple[int, ...], fill_value: int, *, dtype: Type | None = None) -> Tensor:
    """One value in a shape, of this Tensor's type by default."""
    return _full(self, size, fill_value, dtype)


def _new_empty(self: Tensor, size: int | Sequence[int], *, dtype: Type | None = None, device: str | None = None) -> Tensor:
    """Zeros of a shape, of this Tensor's type by default: jax leaves no memory unset."""
    return _full(self, size, 0, dtype)


def _fill(self: Tensor, value: TensorLike) -> Tensor:
    """One value in this Tensor's shape and type; 0 for None."""
    return _full(self, self.shape, 0 if value is None else value.item() if isinstance(value, Tensor) else value, None)


METHODS = {
    "__getitem__": indexing.getitem,
    "__setitem__": indexing.setitem,
    "__iter__": _iterate,
    "__contains__": _contains,
    "T": property(_T),
    "mT": property(_mT),
    "H": property(_H),
    "mH": property(_mH),
    # shape and order
    "reshape": _reshape,
    "view": _view,
    "view_as": arrange.view_as,
    "reshape_as": arrange.view_as,
    "resize": _resize,
    "transpose": _transpose,
    "permute": _permute,
    "t": arrange.t,
    "swapaxes": arrange.swapaxes,
    "swapdims": arrange.swapdims,
    "moveaxis": arrange.moveaxis,
    "movedim": arrange.movedim,
    "expand_dims": arrange.expand_dims,
    "unsqueeze": arrange.unsqueeze,
    "squeeze": _squeeze,
    "flatten": _flatten,
    "ravel": arrange.ravel,
    "broadcast_to": _expand,
    "expand": _expand,
    "expand_as": method_of(arrange.expand_as, x="other"),
    "tile": _tile,
    "repeat": _repeat,
    "repeat_interleave": _repeat_interleave,
    "flip": lambda self, *dims: arrange.flip(self, shape_of(dims)),
    "fliplr": arrange.fliplr,
    "flipud": arrange.flipud,
    "reverse": arrange.reverse,
    "reverse_sequence": lambda self, seq_lengths, seq_dim=0, batch_dim=0: arrange.reverse_sequence(
        self, seq_lengths, seq_dim, batch_dim
    ),
    "roll": arrange.roll,
    "rot90": arrange.rot90,
    # pieces
    "split": method_of(splitting.split, dim="axis", split_size="split_size_or_sections"),
    "chunk": method_of(splitting.chunk, dim="axis"),
    "tensor_split": splitting.tensor_split,
    "hsplit": splitting.hsplit,
    "vsplit": splitting.vsplit,
    "dsplit": splitting.dsplit,
    "unbind": splitting.unbind,
    "narrow": method_of(splitting.narrow, dim="axis"),
    "slice_scatter": splitting.slice_scatter,
    "select_scatter": splitting.select_scatter,
    # diagonals
    "diag": _diag,
    "diagflat": diagonals.diagflat,
    "diagonal": method_of(diagonals.diagonal, axis1="dim1", axis2="dim2"),
    "diagonal_scatter": diagonals.diagonal_scatter,
    "fill_diagonal": diagonals.fill_diagonal,
    "tril": diagonals.tril,
    "triu": diagonals.triu,
    # windows
    "unfold": pixels.unfold,
    "fold": pixels.fold,
    "col2im": pixels.col2im,
    # types
    "astype": _astype,
    "to": _to,
    "type": _type,
    "type_as": casting.type_as,
    "bool": _caster("bool"),
    "byte": _caster("uint8"),
    "char": _caster("int8"),
    "short": _caster("int16"),
    "int": _caster("int32"),
    "long": _caster("int64"),
    "half": _caster("float16"),
    "bfloat16": _caster("bfloat16"),
    "float": _caster("float32"),
    "double": _caster("float64"),
    "copy": _copy,
    "clone": _copy,
    # picking and putting
    "gather": _gather,
    "gather_elements": gathering.gather_elements,
    "gather_nd": gathering.gather_nd,
    "index_select": _index_select,
    "index_add": _index_add,
    "index_fill": scattering.index_fill,
    "index_put": indexing.index_put,
    "take": _take,
    "choose": _choose,
    "itemset": _itemset,
    "inplace_update": scattering.inplace_update,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "select": _select,
    "where": _where,
    "masked_fill": selecting.masked_fill,
    "masked_select": selecting.masked_select,
    "masked_scatter": selecting.masked_scatter,
    "nonzero": selecting.nonzero,
    "argwhere": selecting.argwhere,
    # sorting and counting
    "sort": _sort,
    "argsort": _argsort,
    "msort": sorting.msort,
    "topk": sorting.topk,
    "top_k": sorting.top_k,
    "unique": _unique,
    "unique_consecutive": sorting.unique_consecutive,
    "unique_with_pad": sorting.unique_with_pad,
    "searchsorted": _searchsorted,
    "bincount": searching.bincount,
    "histc": searching.histc,
    # new ones
    "new_zeros": _new_zeros,
    "new_ones": _new_ones,
    "new_full": _new_full,
    "new_empty": _new_empty,
    "fill": _fill,
    "fills": _fill,
}
for _how in ("sub", "mul", "div", "max", "min"):
    METHODS[f"scatter_{_how}"] = getattr(scattering, f"tensor_scatter_{_how}")
for _how in ("sum", "prod", "max", "min"):
    METHODS[f"unsorted_segment_{_how}"] = getattr(segments, f"unsorted_segment_{_how}")
METHODS |= INPLACE
