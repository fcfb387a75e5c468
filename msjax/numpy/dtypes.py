"""Data types under numpy's names, and type promotion."""

from __future__ import annotations

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import ArrayLike, DTypeLike

__all__ = ["float_", "inf", "int_", "isscalar", "nan", "pi", "promote_types", "result_type", "uint"]

int_: Type = mstype.int32
uint: Type = mstype.uint32
float_: Type = mstype.float32
pi: float = 3.141592653589793
inf: float = float("inf")
nan: float = float("nan")

_SHORT = {"b1": "bool", "?": "bool"} | {
    f"{kind}{size}": f"{name}{size * 8}"
    for kind, name, sizes in (("i", "int", (1, 2, 4, 8)), ("u", "uint", (1, 2, 4, 8)), ("f", "float", (2, 4, 8)))
    for size in sizes
}
_OF_PYTHON = {bool: mstype.bool_, int: mstype.int32, float: mstype.float32}


def dtype_of(value: object) -> Type:
    """The data type of a Tensor, Python number, data type or its name."""
    if isinstance(value, Tensor):
        return value.dtype
    for kind, dtype in _OF_PYTHON.items():
        if isinstance(value, kind) or value is kind:
            return dtype
    if isinstance(value, str):
        return mstype.as_dtype(_SHORT.get(value, value))
    if isinstance(value, (list, tuple)):
        return Tensor(value).dtype
    return mstype.as_dtype(value)


def promote_types(type1: DTypeLike, type2: DTypeLike) -> Type:
    """The smallest data type to which both can be converted.

    Example:
        >>> from msjax import float32, int32, numpy as mnp
        >>> mnp.promote_types(float32, int32)
        mindspore.float32
    """
    return mstype.from_np(jnp.promote_types(dtype_of(type1).np, dtype_of(type2).np))


def result_type(*arrays_and_dtypes: ArrayLike | DTypeLike) -> Type:
    """The data type that arrays, numbers and data types are computed in together.

    Example:
        >>> from msjax import float32, numpy as mnp
        >>> mnp.result_type("i2", float32)
        mindspore.float32
    """
    found = None
    for value in arrays_and_dtypes:
        found = dtype_of(value) if found is None else promote_types(found, value)
    return found


def isscalar(element: object) -> bool:
    """True for a Python number or str.

    Example:
        >>> import msjax.numpy as mnp
        >>> mnp.isscalar(3.1)
        True
    """
    return isinstance(element, (bool, int, float, complex, str))
