"""Tensors that an initializer makes, whose numbers are drawn when something asks for them, and Tensors of unknown shape.

MindSpore draws in the order in which Parameters are made, `init_data` is called or values are used. Random initial weights are the same numbers
only in the same order. So such a Tensor has no value at first; what reads its value draws it, and makes it a plain Tensor.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.initializers import Initializer, Zero, as_initializer, sizes_of
from msjax.common.tensor import Tensor, of_numpy, wrap
from msjax.common.typing import InitLike, Shape
from msjax.core.base.checks import is_int
from msjax.core.base.typing import JaxArray

__all__: list[str] = []


class _WithoutData(Tensor):
    """A Tensor of which shape and data type are known.

    Attributes:
        _sizes: its shape.
        _type: its data type.
    """

    _sizes: tuple[int, ...]
    _type: Type
    _node = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self._sizes

    @property
    def dtype(self) -> Type:
        return self._type

    @property
    def ndim(self) -> int:
        return len(self._sizes)

    dim = ndimension = Tensor.dim

    def __str__(self) -> str:
        return self._text("<uninitialized>")

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def _text(self, inside):
        return f"Tensor(shape={[*self._sizes]}, dtype={self._type}, value={chr(10) if self.ndim > 1 else ''}{inside})"


class Uninitialized(_WithoutData):
    """A Tensor whose value an initializer will draw.

    Attributes:
        init: the initializer.
    """

    has_init = True

    @property
    def _value(self) -> JaxArray:
        # It belongs to no program that is being traced.
        with jax.ensure_compile_time_eval():
            value = self.init.make(self._sizes, self._type)
        self._value = value
        of_numpy(self)
        return value

    @_value.setter
    def _value(self, value: JaxArray) -> None:
        for name in ("init", "_sizes", "_type"):
            del self.__dict__[name]
        self.__class__ = Tensor  # pyright: ignore[reportAttributeAccessIssue]
        self._value = value

    @property
    def size(self) -> int:
        return int(np.prod(self._sizes))

    @property
    def itemsize(self) -> int:
        return mstype.to_jax(self._type).itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    def init_data(self, slice_index: int | None = None, shape: Any = None, opt_shard_group: str | None = None) -> Tensor:
        return of_numpy(wrap(self._value))


# How MindSpore shows the shape of a Tensor of which not even the number of axes is known.
_ANY_SHAPE = (-2,)


class OfUnknownShape(_WithoutData):
    """A Tensor that stands for others, as `Cell.set_inputs` takes it: sizes of -1 are not known, and of shape (-2,) nothing is. It has no value."""

    @property
    def _value(self) -> Any:
        raise ValueError(f"{self} has no value: {'its shape is' if self._sizes == _ANY_SHAPE else 'sizes of -1 are'} not known.")

    @property
    def size(self) -> int:
        return 0

    def __str__(self) -> str:
        return self._text("")

    __repr__ = __str__


def leave_without_data(tensor: Tensor, init: InitLike | None, shape: Shape | None, dtype: Type) -> None:
    """Make a new Tensor one whose value is drawn later, or is never there.

    Args:
        tensor: it; it has no value yet.
        init: what draws it; None for zeros.
        shape: its shape; without `init`, sizes may be None or -1, or all of it None.
        dtype: its data type.

    Raises:
        TypeError, ValueError: as `initializers.initial_array`.
    """
    if shape is None:
        tensor.__class__ = OfUnknownShape
        tensor.__dict__.update(_sizes=_ANY_SHAPE, _type=mstype.from_np(mstype.to_jax(dtype)))
        return
    sizes: Any = shape if isinstance(shape, (tuple, list)) else (shape,)
    unknown = init is None and any(size is None or (is_int(size) and size == -1) for size in sizes)
    if unknown:
        tensor.__class__ = OfUnknownShape
        known = sizes_of([0 if size in (None, -1) else size for size in sizes])
        tensor.__dict__["_sizes"] = tuple(-1 if size in (None, -1) else n for size, n in zip(sizes, known))
    else:
        tensor.__dict__["init"] = Zero() if init is None else as_initializer(init)
        tensor.__dict__["_sizes"] = sizes_of(sizes)
        tensor.__class__ = Uninitialized
    tensor.__dict__["_type"] = mstype.from_np(mstype.to_jax(dtype))
    if init is None and not unknown:
        tensor._value  # noqa: B018 - reading it makes it


def uninitialized(init: Initializer, shape: tuple[int, ...], dtype: Type) -> Tensor:
    """A Tensor whose value an initializer will draw."""
    made = Tensor.__new__(Tensor)
    leave_without_data(made, init, shape, dtype)
    return made


Tensor._leave_without_data = leave_without_data
for _kind in (Uninitialized, OfUnknownShape):
    _kind.__name__, _kind.__qualname__ = Tensor.__name__, Tensor.__qualname__

jax.tree_util.register_pytree_with_keys(
    Uninitialized,
    lambda t: (((jax.tree_util.GetAttrKey("value"), t._escaping()),), None),
    lambda _, children: wrap(*children),  # pyright: ignore[reportArgumentType]
    lambda t: ((t._escaping(),), None),
)
