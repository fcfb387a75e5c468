"""Operator classes that rearrange elements, convert data types and report shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import Shape as _Shape, TensorLike
from msjax.core.base.typing import Number
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.array_func import arrange, casting, diagonals, joining, ordering, splitting
from msjax.ops.function.image_func import pixels
from msjax.ops.function.nn_func import pads
from msjax.ops.primitive import Form, OfInput, OfX, Primitive

__all__ = [
    "Reshape", "Transpose", "TransposeView", "ExpandDims", "Tile", "Expand", "Cast", "Shape", "TensorShape", "Rank", "Size", "DType",
    "Identity", "IdentityN", "ScalarCast", "ScalarToTensor", "ScalarToArray", "TupleToArray", "Slice", "Diag",
    "MatrixBandPart", "BatchToSpaceNDV2", "Concat", "Stack", "Pack", "Unstack", "Unpack", "Squeeze", "BroadcastTo",
    "ReverseV2", "ReverseSequence", "Roll", "StridedSlice", "MirrorPad", "Padding", "Tril", "Triu", "TrilIndices",
    "TriuIndices", "FillDiagonal", "MatrixDiagV3", "MatrixDiagPartV3", "MatrixSetDiagV3", "DynamicShape", "Flatten",
    "DiagPart", "TensorToTuple", "ParallelConcat", "Split", "SplitV", "Pad", "PadV3", "Meshgrid", "Depend", "Print", "print_",
]  # fmt: skip


class _Joined(Form):
    axis: int = 0

    def __call__(self, tensors: Sequence[Tensor]) -> Tensor:
        return self._function(tensors, self.axis)


class _Unstacked(Form):
    axis: int = 0

    def __call__(self, input_x: Tensor) -> tuple[Tensor, ...]:
        return self._function(input_x, self.axis)


# fmt: off
class Reshape(Form): __call__ = staticmethod(arrange.reshape)
class Transpose(Form): __call__ = staticmethod(ordering.transpose)
class TransposeView(Form): __call__ = staticmethod(ordering.transpose)
class ExpandDims(Form): __call__ = staticmethod(arrange.expand_dims)
class Tile(Form): __call__ = staticmethod(arrange.tile)
class Expand(Form): __call__ = staticmethod(arrange.expand)
class Cast(Form): __call__ = staticmethod(casting.cast)
class Shape(Form): __call__ = staticmethod(casting.shape)
class TensorShape(Form): __call__ = staticmethod(casting.dyn_shape)
class Rank(Form): __call__ = staticmethod(casting.rank)
class Size(Form): __call__ = staticmethod(casting.size)
class DType(Form): __call__ = staticmethod(casting.dtype)
class Identity(Form): __call__ = staticmethod(casting.identity)
class IdentityN(Form): __call__ = staticmethod(casting.identity)
class ScalarCast(Form): __call__ = staticmethod(casting.scalar_cast)
class ScalarToTensor(Form): __call__ = staticmethod(casting.scalar_to_tensor)
class ScalarToArray(Form): __call__ = staticmethod(casting.scalar_to_array)
class TupleToArray(Form): __call__ = staticmethod(casting.tuple_to_array)
class Slice(Form): __call__ = staticmethod(splitting.slice)
class Diag(Form): __call__ = staticmethod(diagonals.diag)
class MatrixBandPart(Form): __call__ = staticmethod(diagonals.matrix_band_part)
class BatchToSpaceNDV2(Form): __call__ = staticmethod(pixels.batch_to_space_nd)
class Squeeze(OfInput, of=arrange.squeeze): axis: int | tuple[int, ...] | None = ()
class BroadcastTo(OfInput, of=arrange.broadcast_to): shape: tuple[int, ...]
class ReverseV2(OfX, of=ordering.reverse): axis: _Shape
class Padding(OfX, of=pads.padding): pad_dim_size: int = 8
class Tril(OfInput, of=diagonals.tril): diagonal: int = 0
class Triu(OfInput, of=diagonals.triu): diagonal: int = 0
class Concat(_Joined, of=joining.concat): ...
class Stack(_Joined, of=joining.stack): ...
class Pack(_Joined, of=joining.stack): ...
class Unstack(_Unstacked, of=splitting.unstack): num: Any = None
class Unpack(_Unstacked, of=splitting.unstack): ...
# fmt: on


# ---- with attributes


class ReverseSequence(Form, of=ordering.reverse_sequence):
    seq_dim: int
    batch_dim: int = 0

    def __call__(self, x: TensorLike, seq_lengths: TensorLike) -> Tensor:
        return ordering.reverse_sequence(x, seq_lengths, self.seq_dim, self.batch_dim)


class Roll(OfInput, of=ordering.roll):
    shifts: int | tuple[int, ...]
    dims: int | tuple[int, ...] | None = None


class StridedSlice(Form, of=splitting.strided_slice):
    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0

    def __call__(self, input_x: Tensor, begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        return splitting.strided_slice(input_x, begin, end, strides, *self._attributes())


class MirrorPad(Form, of=pads.mirror_pad):
    mode: str = "REFLECT"

    def __call__(self, input_x: Tensor, paddings: Tensor) -> Tensor:
        return pads.mirror_pad(input_x, paddings, self.mode)


class _Indices(Form):
    row: TensorLike
    col: TensorLike
    offset: int = 0
    dtype: Type = mstype.int32

    def __call__(self) -> Tensor:
        return self._function(self.row, self.col, self.offset, dtype=self.dtype)


# fmt: off
class TrilIndices(_Indices, of=diagonals.tril_indices): ...
class TriuIndices(_Indices, of=diagonals.triu_indices): ...
# fmt: on


class FillDiagonal(OfInput, of=diagonals.fill_diagonal):
    fill_value: Number
    wrap: bool = False


class MatrixDiagV3(Form, of=diagonals.matrix_diag):
    align: str = "RIGHT_LEFT"

    def __call__(
        self, x: Tensor, k: int | tuple[int, ...] = 0, num_rows: int = -1, num_cols: int = -1, padding_value: Number = 0
    ) -> Tensor:
        return diagonals.matrix_diag(x, k, num_rows, num_cols, padding_value, self.align)


class MatrixDiagPartV3(Form, of=diagonals.matrix_diag_part):
    align: str = "RIGHT_LEFT"

    def __call__(self, x: Tensor, k: int | tuple[int, ...], padding_value: Number | Tensor) -> Tensor:
        return diagonals.matrix_diag_part(x, k, padding_value, self.align)


class MatrixSetDiagV3(Form, of=diagonals.matrix_set_diag):
    align: str = "RIGHT_LEFT"

    def __call__(self, x: Tensor, diagonal: Tensor, k: int = 0) -> Tensor:
        return diagonals.matrix_set_diag(x, diagonal, k, self.align)


class DynamicShape(Form):
    dtype: int = 9
    __call__ = staticmethod(casting.dyn_shape)


class Flatten(Form):
    """The axes after the first one as one: ``ops.Flatten()(x)``."""

    def __call__(self, x: Tensor) -> Tensor:
        return arrange.flatten(x, start_dim=1)


class DiagPart(Form):
    """The elements ``x[i..., i...]``, the opposite of `Diag`: ``ops.DiagPart()(x)``."""

    def __call__(self, x: Tensor) -> Tensor:
        half = x.shape[: x.ndim // 2]
        return arrange.reshape(diagonals.diagonal(arrange.reshape(x, (math.prod(half),) * 2)), half)


class TensorToTuple(Form):
    """The elements of a vector as a tuple of numbers: ``ops.TensorToTuple()(x)``."""

    def __call__(self, x: Tensor) -> tuple[Any, ...]:
        return tuple(x.tolist())


class ParallelConcat(Form):
    """Tensors joined along the first axis: ``ops.ParallelConcat()(values)``."""

    def __call__(self, values: Sequence[TensorLike]) -> Tensor:
        return joining.concat(values, 0)


class Split(Form):
    """Equal pieces along an axis.

    Args:
        axis (int): Default: 0.
        output_num (int): how many. Default: 1.
    """

    axis: int = 0
    output_num: int = 1

    def __call__(self, x: Tensor) -> tuple[Tensor, ...]:
        size = x.shape[self.axis]
        if self.output_num <= 0 or size % self.output_num:
            raise ValueError(
                f"For 'Split', axis {self.axis}, of size {size}, can't be split into {self.output_num} equal pieces."
            )
        return splitting.split(x, size // self.output_num, self.axis)


class SplitV(Form):
    """Pieces of given sizes along an axis.

    Args:
        size_splits (list): the sizes.
        split_dim (int): the axis.
        num_split (int): how many.
    """

    size_splits: Sequence[Any]
    split_dim: int
    num_split: int

    def __call__(self, x: TensorLike) -> tuple[Tensor, ...]:
        return splitting.split(x, list(self.size_splits), self.split_dim)


class Pad(Form):
    """Zeros added around a Tensor.

    Args:
        paddings (tuple): (before, after) for each axis; negative numbers cut off.
    """

    paddings: Sequence[Any]

    def __call__(self, x: TensorLike) -> Tensor:
        return pads.pad_constant(x, 0, freeze(self.paddings))


class PadV3(Form):
    """Elements added around a Tensor, from the last axis on: ``PadV3()(x, paddings, value)``.

    Args:
        mode (str): "constant", "reflect", "edge" or "circular". Default: "constant".
        paddings_contiguous (bool): whether widths are (before, after, before, after, ...); else all before, then all after.
    """

    mode: str = "constant"
    paddings_contiguous: bool = True

    def __call__(self, x: Tensor, paddings: Sequence[int] | Tensor, constant_value: Number | None = 0) -> Tensor:
        numbers = casting.ints(paddings)
        if not self.paddings_contiguous:
            half = len(numbers) // 2
            numbers = tuple(n for pair in zip(numbers[:half], numbers[half:]) for n in pair)
        widths = pads.widths_from_last(numbers, x.ndim, "PadV3")
        if self.mode == "constant":
            return pads.pad_constant(x, constant_value if constant_value is not None else 0, widths)
        return pads.pad_mirrored(x, widths, self.mode)


class Meshgrid(Form):
    """Grids of coordinates from a tuple of vectors.

    Args:
        indexing (str): "xy" or "ij". Default: "xy".
    """

    indexing: str = "xy"

    def __call__(self, inputs: Sequence[TensorLike]) -> tuple[Tensor, ...]:
        return joining.meshgrid(*inputs, indexing=self.indexing)


class Depend(Primitive):
    """Returns its first input; the second has been computed before, as in any Python program."""

    def __call__(self, value: TensorLike, expr: object) -> TensorLike:
        return casting.depend(value, expr)


class Print(Primitive):
    """Prints its inputs, each on a line of its own, Tensors with shape and type.

    Example:
        >>> from msjax import Tensor, ops
        >>> ops.Print()("x is", Tensor(True))
        x is
        Tensor(shape=[], dtype=Bool, value= True)
    """

    def __call__(self, *inputs: Any) -> None:
        print_(*inputs)


def print_(*input_x: Any) -> None:
    """Print the arguments, each on a line of its own, Tensors with shape and type."""
    for value in input_x:
        print(repr(value) if isinstance(value, Tensor) else value)
