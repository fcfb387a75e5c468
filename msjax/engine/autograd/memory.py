"""What of a Tensor's methods has to do with its memory, which views share; see `msjax.engine.autograd.views`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

from msjax.common.arrays import as_array
from msjax.common.bases import attached_to, computed, settable
from msjax.common.dtype import Type
from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor, root_of, wrap
from msjax.common.typing import ArrayLike
from msjax.core.base.typing import Attribute, SettableAttribute
from msjax.core.door import ACTIVITY, STATE
from msjax.engine.autograd.inplace import at_the_place_of
from msjax.engine.autograd.views import contiguous_strides, layout_of, without_gradient


def _set_value(self: Tensor, value: Any) -> None:
    """Give the Tensor another array and leave its place on the tape as it is; what shares its memory shows it when it is next read."""
    own = self.__dict__
    if "_view" in own:
        own["_view"].write(self, wrap(value))
    else:  # as `_hold` does; written out, since optimizers come here for every Parameter
        self._value = value
        if ACTIVITY.traces:
            STATE.wrote(self)
        if "_views" in own:
            own["_views"].changed()


def _replace(self: Tensor, value: Any) -> None:
    """Give a Tensor an array of any shape and data type. One of another shape or type is new memory; what shared the old one keeps it."""
    if value.shape != self._value.shape or value.dtype != self._value.dtype:
        own = self.__dict__
        if "_views" in own:
            own.pop("_views").move(wrap(self._value, self._node, self._oidx))
        own.pop("_view", None)
    if isinstance(self, Parameter) and STATE.differentiated_by_jax():
        value = at_the_place_of(self._value, value)
    _set_value(self, value)


def _hold(self: Tensor, value: Any) -> None:
    """Put another array in the place of the Tensor's for the time being."""
    self._value = value
    views = self.__dict__.get("_views")
    if views is not None:
        views.changed()


class Held:
    """A context manager: Tensors hold other values; afterwards they have their own values and places on the tape back.

    Args:
        variables: the Tensors.
        values: what they hold meanwhile; their own values if it is left out, until something is written to them or what shares their memory.
    """

    def __init__(self, variables: Sequence[Tensor], values: Sequence[Any] = ()):
        self._variables = variables if values else [*map(root_of, variables)]
        self._values = values

    def __enter__(self) -> None:
        self._before = [
            (v, v._value, {name: v.__dict__[name] for name in ("_node", "_oidx") if name in v.__dict__}) for v in self._variables
        ]
        for variable, value in zip(self._variables, self._values):
            variable._hold(value)

    def __exit__(self, *_exception: object) -> None:
        for variable, value, place in self._before:
            variable._hold(value)
            for name in ("_node", "_oidx"):
                variable.__dict__.pop(name, None)
            variable.__dict__.update(place)


def _data(self: Tensor) -> Tensor:
    """A Tensor of the same memory that no gradient passes through; setting it writes, or gives the Tensor memory of another shape or type."""
    return without_gradient(self)


def _set_data(self: Tensor, data: ArrayLike) -> None:
    _replace(self, as_array(data))


def set_dtype(self: Tensor, dtype: Type) -> Type:
    """Cast the Tensor in place; returns the new data type. It has memory of its own then."""
    if not isinstance(dtype, Type):
        raise TypeError(f"For 'set_dtype', 'dtype' should be a data type such as ms.float32, but got {dtype!r}.")
    _replace(self, as_array(self, dtype))
    return self.dtype


def _strides(self: Tensor) -> tuple[int, ...]:
    """Bytes from one element to the next along each axis, in the memory that the Tensor shares with its base.

    jax itself stores each array for itself and in order; these are the strides that tell which reshapes are views.

    Example:
        >>> import msjax as ms
        >>> ms.ops.ones((2, 3), ms.float32).T.strides
        (4, 12)
    """
    return tuple([step * self.itemsize for step in layout_of(self)[0]])


@overload
def stride(self: Tensor, dim: None = None) -> list[int]: ...
@overload
def stride(self: Tensor, dim: int) -> int: ...
def stride(self: Tensor, dim: int | None = None) -> int | list[int]:
    """Elements from one to the next along each axis, or along axis `dim`; see `strides`."""
    steps, _ = layout_of(self)
    return list(steps) if dim is None else steps[dim]


def storage_offset(self: Tensor) -> int:
    """How many elements of the base come before the first one of a view; 0 for what is no view.

    Raises:
        TypeError: it depends on a Tensor whose value is not known yet, since the program is being compiled.
    """
    return layout_of(self)[1]


def is_contiguous(self: Tensor) -> bool:
    """Whether the elements lie in their order and without gaps in the memory that the Tensor shares with its base."""
    return math.prod(self.shape) == 0 or all(
        n == 1 or step == own for n, step, own in zip(self.shape, layout_of(self)[0], contiguous_strides(self.shape))
    )


def contiguous(self: Tensor) -> Tensor:
    """The Tensor itself if its elements lie in their order in its memory; a copy, as of a transposed matrix, if not."""
    return self if is_contiguous(self) else self.copy()


@attached_to(Tensor)
class MemoryMethods:
    """The methods of Tensor about its memory: what it holds, how that is laid out, and its data type."""

    _set_value = _set_value
    _replace = _replace
    _hold = _hold
    data: SettableAttribute[Any] = settable(_data, _set_data)
    strides: Attribute[tuple[int, ...]] = computed(_strides)
    stride = stride
    storage_offset = storage_offset
    is_contiguous = is_contiguous
    contiguous = contiguous
    set_dtype = set_dtype
