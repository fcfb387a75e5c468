"""Operator classes that rearrange elements, convert data types and report shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msjax.base.typing import Number, TensorLike
from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.array_func import arrange, casting, diagonals, joining, ordering, splitting
from msjax.ops.function.image_func import pixels
from msjax.ops.function.nn_func import pads
from msjax.ops.primitive import REQUIRED, Primitive, class_form, name_classes, operator_class, unused

if TYPE_CHECKING:
    from msjax.ops.primitive import PrimitiveSelf


Reshape = class_form(arrange.reshape)
Transpose = class_form(ordering.transpose)
ExpandDims = class_form(arrange.expand_dims)
Tile = class_form(arrange.tile)
Expand = class_form(arrange.expand)
Cast = class_form(casting.cast)
Shape = class_form(casting.shape)
TensorShape = class_form(casting.dyn_shape)
Rank = class_form(casting.rank)
Size = class_form(casting.size)
DType = class_form(casting.dtype)
Identity = class_form(casting.identity)
IdentityN = class_form(casting.identity)
ScalarCast = class_form(casting.scalar_cast)
ScalarToTensor = class_form(casting.scalar_to_tensor)
ScalarToArray = class_form(casting.scalar_to_array)
TupleToArray = class_form(casting.tuple_to_array)
Slice = class_form(splitting.slice)
Diag = class_form(diagonals.diag)
MatrixBandPart = class_form(diagonals.matrix_band_part)
BatchToSpaceNDV2 = class_form(pixels.batch_to_space_nd)

# ---- with attributes

Concat = class_form(joining.concat, axis=0)
Stack = class_form(joining.stack, axis=0)
Pack = class_form(joining.stack, axis=0)
Unstack = class_form(splitting.unstack, axis=0, num=unused(None))
Unpack = class_form(splitting.unstack, axis=0)
Squeeze = class_form(arrange.squeeze, axis=())
BroadcastTo = class_form(arrange.broadcast_to, shape=REQUIRED)
ReverseV2 = class_form(ordering.reverse, axis=REQUIRED)
ReverseSequence = class_form(ordering.reverse_sequence, seq_dim=REQUIRED, batch_dim=0)
Roll = class_form(ordering.roll, shifts=REQUIRED, dims=None)
StridedSlice = class_form(splitting.strided_slice, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0)
MirrorPad = class_form(pads.mirror_pad, mode="REFLECT")
Padding = class_form(pads.padding, pad_dim_size=8)
Tril = class_form(diagonals.tril, diagonal=0)
Triu = class_form(diagonals.triu, diagonal=0)
TrilIndices = class_form(diagonals.tril_indices, row=REQUIRED, col=REQUIRED, offset=0, dtype=mstype.int32)
TriuIndices = class_form(diagonals.triu_indices, row=REQUIRED, col=REQUIRED, offset=0, dtype=mstype.int32)
FillDiagonal = class_form(diagonals.fill_diagonal, fill_value=REQUIRED, wrap=False)
MatrixDiagV3 = class_form(diagonals.matrix_diag, align="RIGHT_LEFT")
MatrixDiagPartV3 = class_form(diagonals.matrix_diag_part, align="RIGHT_LEFT")
MatrixSetDiagV3 = class_form(diagonals.matrix_set_diag, align="RIGHT_LEFT")
DynamicShape = class_form(casting.dyn_shape, dtype=unused(9))


@operator_class()
def Flatten(self: PrimitiveSelf, x: Tensor) -> Tensor:
    """The axes after the first one as one: ``ops.Flatten()(x)``."""
    return arrange.flatten(x, start_dim=1)


@operator_class()
def DiagPart(self: PrimitiveSelf, x: Tensor) -> Tensor:
    """The elements ``x[i..., i...]``, the opposite of `Diag`: ``ops.DiagPart()(x)``."""
    half = x.shape[: x.ndim // 2]
    return arrange.reshape(diagonals.diagonal(arrange.reshape(x, (math.prod(half),) * 2)), half)


@operator_class()
def TensorToTuple(self: PrimitiveSelf, x: Tensor) -> tuple[Any, ...]:
    """The elements of a vector as a tuple of numbers: ``ops.TensorToTuple()(x)``."""
    return tuple(x.tolist())


@operator_class()
def ParallelConcat(self: PrimitiveSelf, values: Sequence[TensorLike]) -> Tensor:
    """Tensors joined along the first axis: ``ops.ParallelConcat()(values)``."""
    return joining.concat(values, 0)


@operator_class(axis=0, output_num=1)
def Split(self: PrimitiveSelf, x: Tensor) -> tuple[Tensor, ...]:
    """Equal pieces along an axis.

    Args:
        axis (int): Default: 0.
        output_num (int): how many. Default: 1.
    """
    size = x.shape[self.axis]
    if self.output_num <= 0 or size % self.output_num:
        raise ValueError(f"For 'Split', axis {self.axis}, of size {size}, can't be split into {self.output_num} equal pieces.")
    return splitting.split(x, size // self.output_num, self.axis)


@operator_class(size_splits=REQUIRED, split_dim=REQUIRED, num_split=REQUIRED)
def SplitV(self: PrimitiveSelf, x: TensorLike) -> tuple[Tensor, ...]:
    """Pieces of given sizes along an axis.

    Args:
        size_splits (list): the sizes.
        split_dim (int): the axis.
        num_split (int): how many.
    """
    return splitting.split(x, list(self.size_splits), self.split_dim)


@operator_class(paddings=REQUIRED)
def Pad(self: PrimitiveSelf, x: TensorLike) -> Tensor:
    """Zeros added around a Tensor.

    Args:
        paddings (tuple): (before, after) for each axis; negative numbers cut off.
    """
    return pads.pad_constant(x, 0, freeze(self.paddings))


@operator_class(mode="constant", paddings_contiguous=True)
def PadV3(self: PrimitiveSelf, x: Tensor, paddings: Sequence[int] | Tensor, constant_value: Number | None = 0) -> Tensor:
    """Elements added around a Tensor, from the last axis on: ``PadV3()(x, paddings, value)``.

    Args:
        mode (str): "constant", "reflect", "edge" or "circular". Default: "constant".
        paddings_contiguous (bool): whether widths are (before, after, before, after, ...); else all before, then all after.
    """
    numbers = casting.ints(paddings)
    if not self.paddings_contiguous:
        half = len(numbers) // 2
        numbers = tuple(n for pair in zip(numbers[:half], numbers[half:]) for n in pair)
    widths = pads.widths_from_last(numbers, x.ndim, "PadV3")
    if self.mode == "constant":
        return pads.pad_constant(x, constant_value if constant_value is not None else 0, widths)
    return pads.pad_mirrored(x, widths, self.mode)


@operator_class(indexing="xy")
def Meshgrid(self: PrimitiveSelf, inputs: Sequence[TensorLike]) -> tuple[Tensor, ...]:
    """Grids of coordinates from a tuple of vectors.

    Args:
        indexing (str): "xy" or "ij". Default: "xy".
    """
    return joining.meshgrid(*inputs, indexing=self.indexing)


class Depend(Primitive):
    """Returns its first input; the second has been computed before, as in any Python program."""

    def __call__(self, value: TensorLike, expr: object) -> TensorLike:
        return casting.depend(value, expr)


class Print(Primitive):
    """Prints its inputs, each on a line of its own, Tensors with shape and type.

    Example:
        >>> import msjax as ms
        >>> from msjax import ops
        >>> ops.Print()("x is", ms.Tensor(True))
        x is
        Tensor(shape=[], dtype=Bool, value= True)
    """

    def __call__(self, *inputs: Any) -> None:
        print_(*inputs)


def print_(*input_x: Any) -> None:
    """Print the arguments, each on a line of its own, Tensors with shape and type."""
    for value in input_x:
        print(repr(value) if isinstance(value, Tensor) else value)


name_classes(globals(), "print_")
