"""Buffer: a Tensor that is part of a cell's state, but not trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flax import nnx

from msjax.common.arrays import as_array
from msjax.common.parameter import Kind
from msjax.common.tensor import Tensor, defer_to_tensor, wrap
from msjax.common.typing import TensorLike
from msjax.core.base.flax_slots import METADATA, RAW_VALUE


class Buffer(Tensor, nnx.BatchStat[Any], metaclass=Kind):
    """A Tensor that a cell keeps with `Cell.register_buffer`; for flax, a BatchStat variable."""

    _value = RAW_VALUE
    _node = None
    _metadata = METADATA
    if not TYPE_CHECKING:
        __setattr__ = object.__setattr__
        __delattr__ = object.__delattr__

    def __init__(self, data: TensorLike, persistent: bool = True):
        nnx.BatchStat.__init__(self, as_array(data), persistent=persistent)

    @property
    def persistent(self) -> bool:
        """Whether it is part of ``state_dict()``."""
        return self._metadata["persistent"]

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        return memo.setdefault(id(self), Buffer(wrap(self._value), self.persistent))

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        """A Tensor of the same value; with arguments, nnx's ``Variable.copy``."""
        return nnx.BatchStat.copy(self, *args, **kwargs) if args or kwargs else wrap(self._value)

    def __copy__(self) -> Tensor:
        return wrap(self._value)

    if not TYPE_CHECKING:
        __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = __imatmul__ = defer_to_tensor
        __iand__ = __ior__ = __ixor__ = defer_to_tensor
        __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = __ilshift__ = __irshift__ = defer_to_tensor
        __repr__ = Tensor.__repr__
        __str__ = Tensor.__str__
        __getattr__ = Tensor.__getattr__
        __hash__ = Tensor.__hash__
