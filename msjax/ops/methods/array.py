"""Tensor methods that rearrange and convert elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, overload

import jax
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.bases import attached_to
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor, wrap
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.checks import check_value
from msjax.core.base.errors import describe
from msjax.core.base.typing import JaxArray
from msjax.engine.autograd.views import Rule
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.array_func import arrange, casting, diagonals, ordering, splitting
from msjax.ops.function.array_func.arrange import shape_of
from msjax.ops.primitive import method_of


def _same_size(x, dtype):
    return x.dtype.itemsize == mstype.to_jax(dtype).itemsize


def _written_bits(x, value, dtype):
    return jax.lax.bitcast_convert_type(value.astype(mstype.to_jax(dtype)), x.dtype)


@operator(differentiable=False, view=Rule(write=_written_bits, layout=lambda x, _: x, holds=_same_size))
def _bits(x: TensorLike, dtype: Type) -> JaxArray:
    target = mstype.to_jax(dtype)
    if x.dtype.itemsize < target.itemsize:
        x = x.reshape(*x.shape[:-1], -1, target.itemsize // x.dtype.itemsize)
    out = jax.lax.bitcast_convert_type(x, target)
    return out.reshape(*x.shape[:-1], -1) if x.dtype.itemsize > target.itemsize else out


def _reverse_matrix(self: Tensor) -> Tensor:
    check_value(self, self.ndim >= 2, "have at least two axes", "the Tensor")
    return ordering.swapaxes(self, -2, -1)


@operator(view=Rule(write=lambda x, value: jax.numpy.conj(value), layout=lambda x: x))
def _conjugate(x: TensorLike) -> JaxArray:
    return jax.numpy.conj(x)


def _caster(code: str) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return casting.cast(self, code)

    method.__doc__ = f"The elements converted to {code}."
    return method


def _full(tensor: TensorLike, size: tuple[int, ...], value: TensorLike, dtype: Type) -> Tensor:
    shape = casting.ints(size)
    return wrap(jax.numpy.full(shape, value, mstype.to_jax(tensor.dtype if dtype is None else dtype)))


@attached_to(Tensor)
class ArrayMethods:
    """Methods that rearrange and convert elements."""

    def __iter__(self: Tensor) -> Iterator[Tensor]:
        if not self._value.ndim:
            raise TypeError("A 0-d Tensor can't be iterated.")
        return (self[i] for i in range(self._value.shape[0]))

    def __contains__(self: Tensor, element: Any) -> bool:
        """Whether any element equals a number or Tensor."""
        return bool((self == element).any())

    @property
    def T(self: Tensor) -> Tensor:
        """The Tensor with its axes reversed."""
        return self.transpose()

    @property
    def mT(self: Tensor) -> Tensor:
        """The matrices of the last two axes transposed."""
        return _reverse_matrix(self)

    @property
    def H(self: Tensor) -> Tensor:
        """A matrix transposed, its elements conjugated."""
        if self.ndim > 2:
            raise ValueError(f"'H' is for Tensors of at most two axes, but the shape is {self.shape}.")
        return ordering.t(_conjugate(self) if self.is_complex() else self)

    @property
    def mH(self: Tensor) -> Tensor:
        """The matrices of the last two axes transposed, their elements conjugated."""
        return _reverse_matrix(_conjugate(self) if self.is_complex() else self)

    # shape and order
    def reshape(self: Tensor, *shape: Any) -> Tensor:
        """The same elements in another shape, given as ints or a tuple; one size may be -1 and is then inferred."""
        return arrange.reshape(self, shape_of(shape))

    def view(self: Tensor, *shape: Any) -> Tensor:
        """The same elements in another shape, given as ints or a tuple; or, for a data type, the same bytes read as that type, a copy where
        that has another size."""
        if len(shape) == 1 and isinstance(shape[0], Type):
            return _bits(self, shape[0])
        return arrange.reshape(self, shape_of(shape))

    from msjax.ops.function.array_func.arrange import view_as as reshape_as

    def resize(self: Tensor, *new_shape: Any) -> Tensor:
        """The elements in another shape, which may have more elements (zeros are added) or fewer (the last are dropped)."""
        shape = casting.ints(shape_of(new_shape)) if new_shape else self.shape
        check_value(shape, min(shape, default=0) >= 0, "have no negative sizes", "new_shape", "Tensor.resize")
        count = int(np.prod(shape))
        flat = arrange.ravel(self)
        if count <= self.size:
            return arrange.reshape(splitting.slice(flat, (0,), (count,)), shape)
        from msjax.ops.function.nn_func.pads import pad_constant

        return arrange.reshape(pad_constant(flat, 0, ((0, count - self.size),)), shape)

    def transpose(self: Tensor, *axes: Any) -> Tensor:
        """Two axes exchanged, if given as two ints; the axes in another order, given as more ints or a tuple; reversed by default."""
        if len(axes) == 2 and all(isinstance(a, int) for a in axes):
            return ordering.swapaxes(self, *axes)
        axes = shape_of(axes)
        return ordering.transpose(self, axes if axes or self.ndim == 0 else tuple(range(self.ndim))[::-1])

    def permute(self: Tensor, *axis: Any) -> Tensor:
        """The axes in another order, given as ints or a tuple; reversed by default."""
        return ordering.permute(self, shape_of(axis or tuple(range(self.ndim))[::-1]))

    def squeeze(self: Tensor, *axes: Any, axis: int | list[int] | None = None, dim: int | None = None) -> Tensor:
        """Without axes of size 1: all of them, or those named, as ints, a tuple or a list."""
        named = [a for a in (axes, (axis,), (dim,)) if a not in ((), (None,))]
        if len(named) > 1:
            raise TypeError("Tensor.squeeze needs its axes once, but got them twice.")
        return arrange.squeeze(self, shape_of(named[0]) if named else None)

    def flatten(self: Tensor, order: str = "C", *, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """The axes from `start_dim` to `end_dim` as one, by default all."""
        if isinstance(order, int):
            order, start_dim = "C", order
        return arrange.flatten(self, order, start_dim=start_dim, end_dim=end_dim)

    def broadcast_to(self: Tensor, *size: Any) -> Tensor:
        """The Tensor repeated to a larger shape, given as ints or a tuple; -1 keeps the size of an axis."""
        return arrange.broadcast_to(self, shape_of(size))

    expand = broadcast_to
    expand_as: Final = method_of(arrange.expand_as, x="other")

    def tile(self: Tensor, *dims: Any, reps: int | Sequence[int] | None = None) -> Tensor:
        """The Tensor repeated along its axes, as often as ints or a tuple say."""
        return arrange.tile(self, shape_of(dims) if reps is None else reps)

    def repeat(self: Tensor, *repeats: Any, axis: int | Sequence[int] | None = None) -> Tensor:
        """The Tensor repeated along its axes, at least one count for each; with `axis`, its slices repeated where they stand."""
        if axis is not None:
            return arrange.repeat_interleave(self, repeats[0], axis)
        counts = shape_of(repeats)
        if len(casting.ints(counts)) < self.ndim:
            raise ValueError(f"For 'Tensor.repeat', there should be a count for each of {self.ndim} axes, but got {counts}.")
        return arrange.tile(self, counts)

    def repeat_interleave(
        self: Tensor,
        repeats: int,
        dim: int | None = None,
        *,
        output_size: int | tuple[int, ...] | None = None,
        axis: int | Sequence[int] | None = None,
    ) -> Tensor:
        """Each element, or each slice along an axis, repeated where it stands; see `ops.repeat_interleave`."""
        return arrange.repeat_interleave(self, repeats, dim if axis is None else axis)

    def flip(self: Tensor, *dims: Any) -> Tensor:
        """The elements in the opposite order along axes, given as ints or a tuple."""
        return ordering.flip(self, shape_of(dims))

    def reverse_sequence(self: Tensor, seq_lengths: TensorLike, seq_dim: int = 0, batch_dim: int = 0) -> Tensor:
        """The first elements along an axis, as many as a length for each of another axis says, in the opposite order."""
        return ordering.reverse_sequence(self, seq_lengths, seq_dim, batch_dim)

    from msjax.ops.function.array_func.arrange import expand_dims, ravel, unsqueeze, view_as
    from msjax.ops.function.array_func.ordering import (
        fliplr,
        flipud,
        moveaxis,
        movedim,
        reverse,
        roll,
        rot90,
        swapaxes,
        swapdims,
        t,
    )

    # pieces
    split: Final = method_of(splitting.split, dim="axis", split_size="split_size_or_sections")
    chunk: Final = method_of(splitting.chunk, dim="axis")
    narrow: Final = method_of(splitting.narrow, dim="axis")
    from msjax.ops.function.array_func.splitting import (
        dsplit,
        hsplit,
        select_scatter,
        slice_scatter,
        tensor_split,
        unbind,
        vsplit,
    )

    # diagonals
    def diag(self: Tensor, diagonal: int = 0) -> Tensor:
        """A matrix with the vector on its diagonal; see `ops.diag`."""
        check_value(diagonal, diagonal == 0, "be 0", "diagonal", "Tensor.diag")
        return diagonals.diag(self)

    diagonal: Final = method_of(diagonals.diagonal, axis1="dim1", axis2="dim2")
    from msjax.ops.function.array_func.diagonals import diagflat, diagonal_scatter, fill_diagonal, tril, triu

    # windows
    from msjax.ops.function.image_func.pixels import col2im, fold, unfold

    # types
    def astype(self: Tensor, dtype: DTypeLike, copy: bool = True) -> Tensor:
        """The elements converted to another data type, given as a type or its name."""
        return casting.cast(self, mstype.float64 if dtype is float else dtype)

    from msjax.ops.function.sparse_func import dense_to_sparse_coo as to_coo, dense_to_sparse_csr as to_csr

    def to(
        self: Tensor,
        *args: Any,
        dtype: Type | None = None,
        device: str | None = None,
        non_blocking: bool = False,
        copy: bool = False,
    ) -> Tensor:
        """The elements converted to a data type, or to that of another Tensor; a device's name changes nothing."""
        for arg in args:
            if isinstance(arg, Tensor):
                dtype = arg.dtype
            elif isinstance(arg, Type):
                dtype = arg
            elif not isinstance(arg, (str, bool)):
                raise TypeError(
                    f"For 'Tensor.to', the arguments should be a data type, device or Tensor, but got {describe(arg)}."
                )
        return self if dtype is None else casting.cast(self, dtype)

    @overload
    def type(self: Tensor, dtype: None = None) -> str: ...
    @overload
    def type(self: Tensor, dtype: DTypeLike) -> Tensor: ...
    def type(self: Tensor, dtype: DTypeLike | None = None) -> Tensor | str:
        """The elements converted to a data type; without one, the name of the present one."""
        return str(self.dtype) if dtype is None else casting.cast(self, dtype)

    def copy(self: Tensor) -> Tensor:
        """A new Tensor of the same data, differentiable like the Tensor itself."""
        return casting.identity(self)

    clone = copy
    from msjax.ops.function.array_func.casting import type_as

    # new ones
    def new_zeros(self: Tensor, size: int | Sequence[int], dtype: Type | None = None) -> Tensor:
        """Zeros of a shape, of this Tensor's type by default."""
        return _full(self, size, 0, dtype)

    def new_ones(self: Tensor, size: int | Sequence[int], dtype: Type | None = None) -> Tensor:
        """Ones of a shape, of this Tensor's type by default."""
        return _full(self, size, 1, dtype)

    def new_full(self: Tensor, size: tuple[int, ...], fill_value: int, *, dtype: Type | None = None) -> Tensor:
        """One value in a shape, of this Tensor's type by default."""
        return _full(self, size, fill_value, dtype)

    def new_empty(self: Tensor, size: int | Sequence[int], *, dtype: Type | None = None, device: str | None = None) -> Tensor:
        """Zeros of a shape, of this Tensor's type by default: jax has no uninitialized memory."""
        return _full(self, size, 0, dtype)

    def fill(self: Tensor, value: TensorLike) -> Tensor:
        """One value in this Tensor's shape and type; 0 for None."""
        return _full(self, self.shape, 0 if value is None else value.item() if isinstance(value, Tensor) else value, None)

    fills = fill


@attached_to(Tensor)
class CasterMethods:
    """Methods that convert elements to one data type; apart, since their names are those of Python's types."""

    bool: Final = _caster("bool")
    byte: Final = _caster("uint8")
    char: Final = _caster("int8")
    short: Final = _caster("int16")
    int: Final = _caster("int32")
    long: Final = _caster("int64")
    half: Final = _caster("float16")
    bfloat16: Final = _caster("bfloat16")
    float: Final = _caster("float32")
    double: Final = _caster("float64")
