"""Conversion of data types; the shape, size and data type of Tensors."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.bases import SparseBase
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor, is_tensor
from msjax.common.typing import DTypeLike, Shape, TensorLike
from msjax.core.base.arrays import known_value
from msjax.core.base.checks import check_kind, check_type
from msjax.engine.autograd.views import Rule
from msjax.ops.dispatch.operator import freeze, map_tensors, operator
from msjax.ops.dispatch.promotion import converted

__all__ = [
    "array_to_scalar", "cast", "deepcopy", "depend", "dtype", "dyn_shape", "identity", "is_complex", "is_floating_point",
    "is_nonzero", "is_tensor", "isconstant", "mixed_precision_cast", "numel", "rank", "scalar_cast", "scalar_to_array",
    "scalar_to_tensor", "shape", "shape_", "size", "tuple_to_array", "type_as", "typeof",
]  # fmt: skip


def ints(values: Shape) -> tuple[Any, ...]:
    """Ints of a shape or axes given as ints, a tuple, a list or a Tensor."""
    frozen = freeze(values)
    return frozen if isinstance(frozen, tuple) else (frozen,)


def _same_type(x, dtype):
    return x.dtype == mstype.to_jax(dtype)


@operator(name="Cast", int_grad=True, view=Rule(write=lambda x, value, _: value, layout=lambda x, _: x, holds=_same_type))
def _cast(input, dtype):
    x, target = jnp.asarray(input), mstype.to_jax(dtype)
    if target.kind in "iu" and (target.itemsize < 4 or target.kind == "u") and mstype.from_np(x.dtype).kind == "f":
        # XLA clips floats to the integer's range; in MindSpore they wrap around, as integers do.
        x = x.astype(mstype.to_jax(mstype.int64 if target.itemsize >= 4 else mstype.int32))
    return converted(x, target)


def cast(input: TensorLike, dtype: DTypeLike) -> Tensor:
    """The elements converted to another data type; the gradient is converted back.

    Args:
        input (Tensor or number): what to convert.
        dtype (ms.dtype or str): the data type.

    Raises:
        TypeError: `dtype` names no data type.

    Example:
        >>> print(ops.cast(Tensor([1.5, 2.5]), int32))
        [1 2]
    """
    return _cast(input, mstype.as_dtype(dtype))


def type_as(input: TensorLike, other: TensorLike) -> Tensor:
    """The elements converted to the data type of `other`."""
    return _cast(input, other.dtype)


def mixed_precision_cast(dst_dtype: DTypeLike, x: Any) -> Any:
    """Floating Tensors, also in nested tuples, lists and dicts, converted to a type; other values as they are."""
    return map_tensors(lambda t: cast(t, dst_dtype) if t.is_floating_point() else t, x)


def shape(input_x: TensorLike) -> tuple[Any, ...]:
    """The size of each axis, a tuple of ints."""
    return check_type(input_x, Tensor, "the argument", "shape").shape


shape_ = shape


def dyn_shape(input_x: TensorLike) -> Tensor:
    """The size of each axis, as an Int64 Tensor."""
    return Tensor(list(check_type(input_x, Tensor, "the argument", "dyn_shape").shape) or jnp.zeros((0,)), mstype.int64)


def size(input_x: TensorLike) -> int:
    """The number of elements."""
    return check_type(input_x, Tensor, "the argument", "size").size


def numel(input: TensorLike) -> int:
    """The number of elements."""
    return check_type(input, Tensor, "the argument", "numel").size


def rank(input_x: TensorLike) -> int:
    """The number of axes."""
    return check_type(input_x, Tensor, "the argument", "rank").ndim


def dtype(x: TensorLike) -> Type:
    """The data type of a Tensor."""
    return (x if isinstance(x, SparseBase) else check_type(x, Tensor, "the argument", "dtype")).dtype


@dataclass(frozen=True, repr=False)
class TensorType:
    """The type of Tensors of one data type, as `ops.typeof` gives it.

    Example:
        >>> from msjax import Tensor, ops
        >>> print(ops.typeof(Tensor(1.0)))
        Tensor[Float32]
    """

    element: Type

    def element_type(self) -> Type:
        """The data type of the elements."""
        return self.element

    def __str__(self) -> str:
        return f"Tensor[{self.element}]"

    def __repr__(self) -> str:
        return f"mindspore.tensor[{self.element.code}]"


def typeof(x: object) -> Type | TensorType:
    """The type of a Tensor, with that of its elements, or the msjax type of another Python object."""
    return TensorType(x.dtype) if isinstance(x, Tensor) else mstype.pytype_to_dtype(type(x))


def is_floating_point(input: TensorLike) -> bool:
    """True if the data type is float16, bfloat16, float32 or float64."""
    return check_type(input, Tensor, "the argument", "is_floating_point").is_floating_point()


def is_complex(input: TensorLike) -> bool:
    """True if the data type is complex64 or complex128."""
    return check_type(input, Tensor, "the argument", "is_complex").is_complex()


def is_nonzero(input: TensorLike) -> bool:
    """Whether the only element is other than zero.

    Raises:
        ValueError: there are several elements.
    """
    return bool(check_type(input, Tensor, "the argument", "is_nonzero"))


def isconstant(x: TensorLike) -> bool:
    """True unless the value is a Tensor that is not known yet, since the program is being compiled."""
    return not isinstance(x, Tensor) or known_value(x._value) is not None


# ---- the same value


@operator(int_grad=True)
def _identity(x):
    return jnp.asarray(x)


def identity(x: TensorLike | Sequence[Any]) -> Any:
    """The same value; a new Tensor for a Tensor, each of them in a tuple or list."""
    if isinstance(x, (tuple, list)):
        return tuple(identity(v) for v in x)
    return _identity(x)


def deepcopy(input_x: Any) -> Any:
    """A Tensor of the same data, differentiable like the Tensor itself."""
    return _identity(input_x) if isinstance(input_x, Tensor) else copy.deepcopy(input_x)


def depend(value: Any, expr: object) -> Any:
    """The first argument; the second has been computed before, as in any Python program."""
    del expr
    return value


# ---- Python numbers


def scalar_cast(input_x: TensorLike, input_y: DTypeLike) -> float:
    """A Python number converted as `cast` converts: an int for integer types, a float for floating ones, a bool for bool_.

    Example:
        >>> from msjax import int64, ops
        >>> ops.scalar_cast(1.7, int64)
        1
    """
    kind = mstype.as_dtype(input_y).kind
    value = input_x.item() if isinstance(input_x, Tensor) else input_x
    return bool(value) if kind == "b" else float(value) if kind == "f" else int(value)


def scalar_to_tensor(input_x: TensorLike, dtype: Type = mstype.float32) -> Tensor:
    """A number as a 0-d Tensor, Float32 by default.

    Raises:
        TypeError: `input_x` is not a bool, int or float.
    """
    check_kind(input_x, isinstance(input_x, (bool, int, float)), "be a number", "the argument", "scalar_to_tensor")
    return Tensor(input_x, dtype)


def scalar_to_array(input_x: TensorLike) -> Tensor:
    """A number as a 0-d Tensor of its own type."""
    return Tensor(input_x, mstype.float32 if isinstance(input_x, float) else mstype.int32 if type(input_x) is int else None)


def array_to_scalar(x: Tensor) -> bool | int | float | complex:
    """The number in a 0-d Tensor."""
    return x.item()


def tuple_to_array(input_x: TensorLike) -> Tensor:
    """A tuple of numbers of one type as a 1-d Tensor: Int32 or Float32.

    Raises:
        TypeError: the argument is not a tuple, or its numbers are of several types.
    """
    check_kind(input_x, isinstance(input_x, tuple) and input_x, "be a non-empty tuple", "the argument", "tuple_to_array")
    check_kind(input_x, len({type(v) for v in input_x}) <= 1, "be of one type", "the numbers", "tuple_to_array")
    return Tensor(list(input_x), mstype.float32 if isinstance(input_x[0], float) else mstype.int32)
