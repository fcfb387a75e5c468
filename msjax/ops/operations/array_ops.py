"""Operator classes that arrange elements and say what a Tensor is."""

from __future__ import annotations

from typing import Any

from msjax.common.tensor import Tensor
from msjax.ops.dispatch.operator import freeze
from msjax.ops.function.array_func import arrange, casting, diagonals, joining, splitting
from msjax.ops.function.image_func import pixels
from msjax.ops.function.nn_func import pads
from msjax.ops.operations import index_ops
from msjax.ops.operations.index_ops import *
from msjax.ops.primitive import REQUIRED, Primitive, plain_primitives, primitive_class
from msjax.typing import TensorLike

__all__ = ["Depend", "Print", "print_"]
__all__ += index_ops.__all__

_PLAIN = plain_primitives(
    {
        "Reshape": arrange.reshape,
        "Transpose": arrange.transpose,
        "ExpandDims": arrange.expand_dims,
        "Tile": arrange.tile,
        "Expand": arrange.expand,
        "Cast": casting.cast,
        "Shape": casting.shape,
        "TensorShape": casting.dyn_shape,
        "Rank": casting.rank,
        "Size": casting.size,
        "DType": casting.dtype,
        "Identity": casting.identity,
        "IdentityN": casting.identity,
        "ScalarCast": casting.scalar_cast,
        "ScalarToTensor": casting.scalar_to_tensor,
        "ScalarToArray": casting.scalar_to_array,
        "TupleToArray": casting.tuple_to_array,
        "Slice": splitting.slice,
        "Diag": diagonals.diag,
        "MatrixBandPart": diagonals.matrix_band_part,
        "BatchToSpaceNDV2": pixels.batch_to_space_nd,
    }
)
globals().update(_PLAIN)
__all__ += list(_PLAIN)


def _dynamic_shape(self, x):
    return casting.dyn_shape(x)


def _tuple_of(x):
    return tuple(x.tolist())


def _flatten(x):
    """The axes after the first one as one."""
    return arrange.flatten(x, start_dim=1)


def _diag_part(x):
    """The elements ``x[i..., i...]``: the opposite of `Diag`."""
    half = x.ndim // 2
    size = 1
    for n in x.shape[:half]:
        size *= n
    return arrange.reshape(diagonals.diagonal(arrange.reshape(x, (size, size))), x.shape[:half])


def _parallel_concat(values):
    """Tensors joined along the first axis."""
    return joining.concat(values, 0)


_MORE = plain_primitives(
    {"Flatten": _flatten, "DiagPart": _diag_part, "TensorToTuple": _tuple_of, "ParallelConcat": _parallel_concat}
)
globals().update(_MORE)
__all__ += list(_MORE)

_AXIS0 = "Args:\n        axis (int): Default: 0."


def _pad(self, x):
    widths = freeze(self.paddings)
    return pads.pad_constant(x, 0, widths)


def _pad_v3(self, x, paddings, constant_value=0):
    numbers = casting.ints(paddings)
    if not self.paddings_contiguous:
        half = len(numbers) // 2
        numbers = tuple(n for pair in zip(numbers[:half], numbers[half:]) for n in pair)
    widths = pads.widths_from_last(numbers, x.ndim, "PadV3")
    if self.mode == "constant":
        return pads.pad_constant(x, constant_value if constant_value is not None else 0, widths)
    return pads.pad_mirrored(x, widths, self.mode)


def _split(self, x):
    size = x.shape[self.axis]
    if self.output_num <= 0 or size % self.output_num:
        raise ValueError(f"For 'Split', axis {self.axis}, of size {size}, can't be split into {self.output_num} equal pieces.")
    return splitting.split(x, size // self.output_num, self.axis)


def _strided_slice(self, x, begin, end, strides):
    masks = (self.begin_mask, self.end_mask, self.ellipsis_mask, self.new_axis_mask, self.shrink_axis_mask)
    return splitting.strided_slice(x, begin, end, strides, *masks)


def _indices(function):
    def call(self):
        return function(self.row, self.col, self.offset, dtype=self.dtype)

    return call


_CLASSES = {
    "Concat": (
        {"axis": 0},
        lambda self, tensors: joining.concat(tensors, self.axis),
        f"Tensors joined along an axis that they have.\n\n    {_AXIS0}",
    ),
    "Stack": (
        {"axis": 0},
        lambda self, tensors: joining.stack(tensors, self.axis),
        f"Tensors joined along a new axis.\n\n    {_AXIS0}",
    ),
    "Pack": (
        {"axis": 0},
        lambda self, tensors: joining.stack(tensors, self.axis),
        f"The older name of `Stack`.\n\n    {_AXIS0}",
    ),
    "Unstack": (
        {"axis": 0, "num": None},
        lambda self, x: splitting.unstack(x, self.axis),
        "The slices along an axis.\n\n    Args:\n        axis (int): Default: 0.\n        num (int, optional): how many; that of the axis.",
    ),
    "Unpack": (
        {"axis": 0},
        lambda self, x: splitting.unstack(x, self.axis),
        f"The older name of `Unstack`.\n\n    {_AXIS0}",
    ),
    "Split": (
        {"axis": 0, "output_num": 1},
        _split,
        "Equal pieces along an axis.\n\n    Args:\n        axis (int): Default: 0.\n        output_num (int): how many. Default: 1.",
    ),
    "SplitV": (
        {"size_splits": REQUIRED, "split_dim": REQUIRED, "num_split": REQUIRED},
        lambda self, x: splitting.split(x, list(self.size_splits), self.split_dim),
        "Pieces of given sizes along an axis.\n\n    Args:\n        size_splits (list): the sizes.\n        split_dim (int): the axis.\n        num_split (int): how many.",
    ),
    "Squeeze": (
        {"axis": ()},
        lambda self, x: arrange.squeeze(x, self.axis),
        "Without axes of size 1.\n\n    Args:\n        axis (int or tuple): which; all by default.",
    ),
    "BroadcastTo": (
        {"shape": REQUIRED},
        lambda self, x: arrange.broadcast_to(x, self.shape),
        "The Tensor repeated to a larger shape.\n\n    Args:\n        shape (tuple): -1 keeps the size of an axis.",
    ),
    "ReverseV2": (
        {"axis": REQUIRED},
        lambda self, x: arrange.reverse(x, self.axis),
        "The order of elements reversed.\n\n    Args:\n        axis (tuple or list): the axes.",
    ),
    "ReverseSequence": (
        {"seq_dim": REQUIRED, "batch_dim": 0},
        lambda self, x, lengths: arrange.reverse_sequence(x, lengths, self.seq_dim, self.batch_dim),
        "The first elements of each sequence in reverse order.\n\n    Args:\n        seq_dim (int): the axis along the sequences.\n        batch_dim (int): the one that counts them. Default: 0.",
    ),
    "Roll": (
        {"shifts": REQUIRED, "dims": None},
        lambda self, x: arrange.roll(x, self.shifts, self.dims),
        "Elements moved along axes, those that leave coming in at the other end.\n\n    Args:\n        shifts (int or tuple): how far.\n        dims (int or tuple): the axes.",
    ),
    "StridedSlice": (
        dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0),
        _strided_slice,
        "Every n-th element between bounds along each axis; the arguments are those of `ops.strided_slice`.",
    ),
    "Pad": (
        {"paddings": REQUIRED},
        _pad,
        "Zeros added around a Tensor.\n\n    Args:\n        paddings (tuple): (before, after) for each axis; negative numbers cut off.",
    ),
    "PadV3": (
        {"mode": "constant", "paddings_contiguous": True},
        _pad_v3,
        'Elements added around a Tensor, from the last axis on: ``PadV3()(x, paddings, value)``.\n\n    Args:\n        mode (str): "constant", "reflect", "edge" or "circular". Default: "constant".\n        paddings_contiguous (bool): widths are (before, after, before, after, ...), not all before and then all after.',
    ),
    "MirrorPad": (
        {"mode": "REFLECT"},
        lambda self, x, paddings: pads.mirror_pad(x, paddings, self.mode),
        'A Tensor with its own elements mirrored around it.\n\n    Args:\n        mode (str): "REFLECT" or "SYMMETRIC". Default: "REFLECT".',
    ),
    "Padding": (
        {"pad_dim_size": 8},
        lambda self, x: pads.padding(x, self.pad_dim_size),
        "The last axis, of size 1, filled up with zeros.\n\n    Args:\n        pad_dim_size (int): Default: 8.",
    ),
    "Meshgrid": (
        {"indexing": "xy"},
        lambda self, inputs: joining.meshgrid(*inputs, indexing=self.indexing),
        'Grids of coordinates from a tuple of vectors.\n\n    Args:\n        indexing (str): "xy" or "ij". Default: "xy".',
    ),
    "Tril": (
        {"diagonal": 0},
        lambda self, x: diagonals.tril(x, self.diagonal),
        "The lower triangle of matrices.\n\n    Args:\n        diagonal (int): Default: 0.",
    ),
    "Triu": (
        {"diagonal": 0},
        lambda self, x: diagonals.triu(x, self.diagonal),
        "The upper triangle of matrices.\n\n    Args:\n        diagonal (int): Default: 0.",
    ),
    "TrilIndices": (
        {"row": REQUIRED, "col": REQUIRED, "offset": 0, "dtype": casting.mstype.int32},
        _indices(diagonals.tril_indices),
        "Rows and columns of the lower triangle of a matrix, Int32 by default; the arguments are those of `ops.tril_indices`.",
    ),
    "TriuIndices": (
        {"row": REQUIRED, "col": REQUIRED, "offset": 0, "dtype": casting.mstype.int32},
        _indices(diagonals.triu_indices),
        "Rows and columns of the upper triangle of a matrix, Int32 by default; the arguments are those of `ops.triu_indices`.",
    ),
    "FillDiagonal": (
        {"fill_value": REQUIRED, "wrap": False},
        lambda self, x: diagonals.fill_diagonal(x, self.fill_value, self.wrap),
        "One value on the main diagonal.\n\n    Args:\n        fill_value (float): the value.\n        wrap (bool): whether the diagonal starts again in a tall matrix. Default: False.",
    ),
    "MatrixDiagV3": (
        {"align": "RIGHT_LEFT"},
        lambda self, x, k, rows, columns, value: diagonals.matrix_diag(x, k, rows, columns, value, self.align),
        "Matrices with given diagonals; the inputs are those of `ops.matrix_diag`.",
    ),
    "MatrixDiagPartV3": (
        {"align": "RIGHT_LEFT"},
        lambda self, x, k, value: diagonals.matrix_diag_part(x, k, value, self.align),
        "The diagonals of matrices; the inputs are those of `ops.matrix_diag_part`.",
    ),
    "MatrixSetDiagV3": (
        {"align": "RIGHT_LEFT"},
        lambda self, x, diagonal, k: diagonals.matrix_set_diag(x, diagonal, k, self.align),
        "Matrices with other diagonals; the inputs are those of `ops.matrix_set_diag`.",
    ),
    "DynamicShape": ({"dtype": 9}, _dynamic_shape, "The size of each axis, as an Int64 Tensor."),
}
for _name, (_attributes, _call, _doc) in _CLASSES.items():
    globals()[_name] = primitive_class(_name, _attributes, _call, _doc)
    __all__.append(_name)


class Depend(Primitive):
    """Returns its first input; the second has been computed before, as in any Python program."""

    def __call__(self, value: TensorLike, expr: Any):
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
