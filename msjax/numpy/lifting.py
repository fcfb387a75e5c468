"""How a function becomes one of `msjax.numpy`: what arrays it takes, and in which types it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msjax.common import dtype as mstype
from msjax.common.tensor import Tensor
from msjax.ops.function.array_func.casting import cast
from msjax.typing import ArrayLike

if TYPE_CHECKING:
    from msjax.common.dtype import Type


def tensor(value: ArrayLike) -> Tensor:
    """A Tensor of anything that numpy calls array-like; Python ints are Int32 here."""
    if isinstance(value, Tensor):
        return value
    made = Tensor(value)
    return cast(made, mstype.int32) if made.dtype is mstype.int64 and _plain(value) else made


def _plain(value) -> bool:
    """True for Python numbers, also in lists."""
    return all(map(_plain, value)) if isinstance(value, (list, tuple)) else isinstance(value, int)


def tensors(values: tuple[Tensor, ...]) -> list:
    """Tensors of a tuple or list of array-likes, or of the rows of one."""
    return [tensor(v) for v in values]


def floating(value: ArrayLike) -> Tensor:
    """The Tensor in floating numbers: Float32 for Bools and integers."""
    value = tensor(value)
    return value if value.dtype.kind in "fc" else cast(value, mstype.float32)


def as_type(value: ArrayLike, dtype: Type) -> Tensor:
    """The Tensor, or each of a tuple, in a data type, if one is asked for."""
    if dtype is None:
        return value
    if isinstance(value, tuple):
        return tuple(as_type(v, dtype) for v in value)
    return cast(value, dtype)


def number(value: int) -> int:
    """The Python number of a 0-d Tensor or array; a Python number itself."""
    return value.item() if hasattr(value, "item") else value
