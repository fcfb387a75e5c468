"""Tensors that are made without data: by an initializer, of zeros, or of unknown shape."""

from __future__ import annotations

from typing import Any

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializers import InitLike, initial_array, sizes_of
from msjax.common.tensor import Shape, Tensor, of_numpy
from msjax.core.base.checks import is_int

# How MindSpore shows the shape of a Tensor of which not even the number of axes is known.
_ANY_SHAPE = (-2,)


class OfUnknownShape(Tensor):
    """A Tensor that stands for others, as `Cell.set_inputs` takes it: sizes of -1 are not known, and of shape (-2,) nothing is. It has no value.

    Attributes:
        _sizes: its shape.
        _type: its data type.
    """

    _sizes: tuple[int, ...]
    _type: Type
    _node = None

    @property
    def _value(self) -> Any:
        raise ValueError(f"{self} has no value: {'its shape is' if self._sizes == _ANY_SHAPE else 'sizes of -1 are'} not known.")

    @property
    def shape(self) -> tuple[int, ...]:
        return self._sizes

    @property
    def dtype(self) -> Type:
        return self._type

    @property
    def ndim(self) -> int:
        return len(self._sizes)

    @property
    def size(self) -> int:
        return 0

    def dim(self) -> int:
        return self.ndim

    ndimension = dim

    def __str__(self) -> str:
        return f"Tensor(shape={[*self._sizes]}, dtype={self._type}, value={chr(10) if self.ndim > 1 else ''})"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


OfUnknownShape.__name__ = OfUnknownShape.__qualname__ = Tensor.__name__


def make_without_data(tensor: Tensor, init: InitLike | None, shape: Shape | None, dtype: Type) -> None:
    """Give a new Tensor the data that an initializer makes, or make it one of unknown shape.

    Args:
        tensor: it; it has no value yet.
        init: what makes the data; None for zeros.
        shape: its shape; without `init`, sizes may be None or -1, or all of it None.
        dtype: its data type.

    Raises:
        TypeError, ValueError: as `initializers.initial_array`.
    """
    sizes: Any = _ANY_SHAPE if shape is None else shape if isinstance(shape, (tuple, list)) else (shape,)
    unknown = [size is None or (is_int(size) and size == -1) for size in sizes]
    if init is None and (shape is None or any(unknown)):
        tensor.__class__ = OfUnknownShape
        known = sizes if shape is None else sizes_of([0 if no else size for size, no in zip(sizes, unknown)])
        own = tuple([-1 if no else size for size, no in zip(known, unknown)])
        tensor.__dict__.update(_sizes=own, _type=mstype.from_np(mstype.to_jax(dtype)))
        return
    tensor._value, tensor._node = initial_array("zeros" if init is None else init, sizes, dtype), None
    of_numpy(tensor)


Tensor._make_without_data = make_without_data
