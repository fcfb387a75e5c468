"""Reading and writing parts of Tensors by index.

Integers and the starts of slices are operands of the compiled program, not part of it: a loop over
rows or batches compiles once.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from msjax.common.tensor import Tensor, root_of
from msjax.common.typing import TensorLike
from msjax.core.base.arrays import TracedValueError, known_value
from msjax.core.base.errors import describe
from msjax.engine.autograd.inplace import rebind, update
from msjax.engine.autograd.op import Op, apply
from msjax.engine.autograd.views import Rule, pick, view_of, write_items
from msjax.ops.dispatch.promotion import added, broadcast, rounded_once

__all__ = []

# The parts of a parsed index, each for one axis of the Tensor (NEW: for none):
ALL, POINT, SPAN, STRIDED, NEW, ARRAY = "all", "point", "span", "strided", "new", "array"


class MaskOfUnknownValues(TracedValueError, IndexError):
    """A mask picks elements while a program is being compiled; msjax runs the code in PyNative mode then, where it compiles."""


class _PicksNothing(IndexError):
    """False as an index: reading is an error, and there is nothing to write, as in MindSpore."""


class _Index:
    """An index, parsed against a shape.

    Attributes:
        parts: (kind, static numbers...) in order.
        starts: the dynamic integers: one for each POINT and SPAN.
        arrays: integer arrays, as operands, one for each ARRAY.
        dynamic: True if it picks one block, whose start is an operand. Beside arrays and steps, slices are static.
    """

    def __init__(self, index: Any, shape: Any):
        self.parts, self.starts, self.arrays = [], [], []
        given = list(index) if isinstance(index, tuple) or _is_sequence(index) else [index]
        items = [_normal(i) for i in given]
        self.dynamic = all(
            i is None or i is Ellipsis or isinstance(i, int) or (isinstance(i, slice) and i.step in (None, 1)) for i in items
        )
        if not self.dynamic and any(getattr(i, "ndim", 0) for i in items):
            # As in numpy, True is one of the arrays beside it, not an axis of its own.
            items = [item for item, i in zip(items, given) if not (item is None and i is not None)]
        named = [i for i in items if i is not None and i is not Ellipsis]
        used = sum(i.ndim if hasattr(i, "dtype") and i.dtype == bool else 1 for i in named)
        ellipses = sum(1 for i in items if i is Ellipsis)
        if ellipses > 1:
            raise IndexError("An index can have one ellipsis (...) only.")
        if used > len(shape):
            raise IndexError(f"Too many indices: a Tensor of {len(shape)} axes (shape {tuple(shape)}) was indexed with {used}.")
        if not ellipses:
            items.append(Ellipsis)
        axis = 0
        for item in items:
            if item is Ellipsis:
                self.parts += [(ALL,)] * (len(shape) - used)
                axis += len(shape) - used
            elif item is None:
                self.parts.append((NEW,))
            elif isinstance(item, slice):
                self._slice(item, shape[axis])
                axis += 1
            elif isinstance(item, int):
                if not -shape[axis] <= item < shape[axis]:
                    raise IndexError(f"Index {item} is out of range for axis {axis} of size {shape[axis]}.")
                self.parts.append((POINT,))
                self.starts.append(item % shape[axis])
                axis += 1
            else:
                axis += self._array(item, shape, axis)

    def _slice(self, item, size):
        start, stop, step = (v if v is None else _as_int(v) for v in (item.start, item.stop, item.step))
        if step == 0:
            raise ValueError("The step of a slice can't be 0.")
        start, stop, step = slice(start, stop, step).indices(size)
        length = len(range(start, stop, step))
        if step == 1 and length == size:
            self.parts.append((ALL,))
        elif self.dynamic:
            self.parts.append((SPAN, length))
            self.starts.append(min(start, size - length))
        else:
            self.parts.append((STRIDED, start, stop if stop >= 0 else None, step) if length else (STRIDED, 0, 0, 1))

    def _array(self, item, shape, axis):
        """Add an array; returns the number of axes that it takes."""
        array = item._value if isinstance(item, Tensor) else item
        known = known_value(array)
        if array.dtype == bool:
            if tuple(array.shape) != tuple(shape[axis : axis + array.ndim]):
                raise ValueError(
                    f"A Bool index of shape {tuple(array.shape)} does not fit axes of shape {tuple(shape[axis : axis + array.ndim])}."
                )
            if known is None:
                raise MaskOfUnknownValues(
                    "A Bool Tensor as an index picks a number of elements that is not known while the program is "
                    "compiled; use ops.where(mask, x, other), or index in PyNative mode."
                )
            found = [positions.astype(np.int32) for positions in np.nonzero(np.asarray(known))]
            self.parts += [(ARRAY,)] * len(found)
            self.arrays += found
            return array.ndim
        if known is not None:
            size = shape[axis]
            numbers = np.asarray(known)
            if numbers.size and (numbers.min() < -size or numbers.max() >= size):
                worst = numbers.max() if numbers.max() >= size else numbers.min()
                raise IndexError(f"Index {worst} is out of range for axis {axis} of size {size}.")
        self.parts.append((ARRAY,))
        self.arrays.append(array)
        return 1

    @property
    def key(self):
        return tuple(self.parts), self.dynamic

    @property
    def basic(self):
        """Whether it picks by numbers and slices only, so that the part is a view."""
        return self.dynamic or all(not array.ndim for array in self.arrays)

    @property
    def operands(self):
        return (np.array(self.starts, np.int32), *self.arrays)


def _is_sequence(index) -> bool:
    """True for a list that is treated as a tuple of indices, since it holds more than numbers."""
    return isinstance(index, list) and any(
        i is None or i is Ellipsis or isinstance(i, (slice, list, tuple)) or (isinstance(i, Tensor) and i.ndim) for i in index
    )


def _normal(item):
    """An entry of an index as None, Ellipsis, int, slice, an integer or Bool array, or such a Tensor."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, (bool, np.bool_)):
        if not item:
            raise _PicksNothing("Of the Bools, only True can be an index by itself: a new axis of size 1.")
        return None
    if isinstance(item, (int, np.integer)):
        return int(item)
    if isinstance(item, Tensor):
        if item.dtype.kind not in "iub":
            raise IndexError(f"A Tensor used as an index should be of integers or Bools, but is {item.dtype}.")
        if item.dtype.kind != "b":
            return item
        item = item._value
    if isinstance(item, (list, tuple, range)):
        item = np.asarray([_plain(v) for v in item])
        if item.size == 0:
            return item.astype(np.int32)
    if isinstance(item, (np.ndarray, jax.Array)):
        if item.dtype.kind == "b" and not item.ndim and (known := known_value(item)) is not None:
            return _normal(bool(known))
        if item.dtype.kind in "iub":
            return item if item.dtype.kind != "u" else item.astype(np.int32)
        raise IndexError(f"An array used as an index should be of integers or Bools, but is {item.dtype}.")
    raise IndexError(
        f"An index should be made of ints, slices, None, ..., lists and Tensors of integers or Bools, but got {type(item).__name__} {item!r}."
    )


def _plain(value):
    if isinstance(value, Tensor):
        return value.tolist()
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _as_int(value):
    try:
        return value.__index__()
    except (AttributeError, TypeError) as error:
        raise IndexError(f"The bounds of a slice should be ints, but got {value!r}.") from error


def _block(x, parts, starts):
    """(start, size) of each axis of the block that an index of points and spans picks, and its shape."""
    numbers = iter(range(starts.shape[0]))
    first, size, shape = [], [], []
    axes = iter(x.shape)
    for kind, *length in parts:
        if kind == NEW:
            shape.append(1)
            continue
        n = next(axes)
        first.append(starts[next(numbers)] if kind in (POINT, SPAN) else jnp.int32(0))
        size.append(1 if kind == POINT else length[0] if kind == SPAN else n)
        if kind != POINT:
            shape.append(size[-1])
    return first, size, shape


def _index_of(parts, starts, arrays):
    starts, arrays = iter(starts), iter(arrays)
    index = []
    for kind, *bounds in parts:
        if kind == POINT:
            index.append(next(starts))
        elif kind == SPAN:
            start = next(starts)
            index.append(slice(start, start + bounds[0]))
        elif kind == ARRAY:
            index.append(next(arrays))
        else:
            index.append(slice(*bounds) if kind == STRIDED else None if kind == NEW else slice(None))
    return tuple(index)


def _get(x, starts, *rest):
    *arrays, parts, dynamic = rest
    if not dynamic:
        index = _index_of(parts, map(starts.__getitem__, range(len(starts))), arrays)
        return rounded_once(lambda x: x[index], x) if arrays else x[index]
    first, size, shape = _block(x, parts, starts)
    return jax.lax.dynamic_slice(x, first, size).reshape(shape)


def _set(x, value, starts, *rest):
    *arrays, parts, dynamic = rest
    value = jnp.asarray(value).astype(x.dtype)
    if not dynamic:
        return x.at[_index_of(parts, map(starts.__getitem__, range(len(starts))), arrays)].set(value)
    first, size, shape = _block(x, parts, starts)
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    return jax.lax.dynamic_update_slice(x, broadcast(value, shape).reshape(size), first)


def _laid(x, starts, *rest):
    """What `_get` does to strides; where slices begin need not be known."""
    *arrays, parts, _ = rest
    arrays = [0 if at is None else int(at) for at in arrays]
    return x[_index_of(parts, itertools.repeat(0) if starts is None else starts.tolist(), arrays)]


_GETITEM = Op("getitem", _get, int_grad=(0,))
_VIEW = Rule(read=_get, write=_set, layout=_laid)
# What comes twice is to be written once.
_PICKED = Rule(read=_get)
_SETITEM = Op("setitem", _set, int_grad=(0, 1))


@partial(Op, "setitem", int_grad=(0, 2))
def _SET_MASKED(x, mask, value):
    wide = mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim))
    return jnp.where(wide, jnp.asarray(value).astype(x.dtype), x)


def getitem(self: Tensor, index: Any) -> Tensor:
    """Part of a Tensor: ints, slices, None, ..., lists, integer and Bool Tensors, as in numpy."""
    parsed = _Index(index, self._value.shape)
    out = apply(_GETITEM, (self, *parsed.operands), parsed.key)
    return (view_of if parsed.basic else pick)(self, out, _VIEW if parsed.basic else _PICKED, parsed.operands, parsed.key)


def setitem(self: Tensor, index: Any, value: TensorLike | Sequence[Any]) -> None:
    """Write into part of a Tensor: it gets a new value with that part replaced."""
    if isinstance(value, (list, tuple)):
        value = Tensor(value)
    elif value is None or isinstance(value, str):
        raise TypeError(f"A part of a Tensor can be set to a number, a Tensor, a list or a tuple, but got {describe(value)}.")
    masked = isinstance(index, Tensor) and index._value.dtype == bool and not getattr(value, "shape", ())
    if masked and "_picked" not in root_of(self).__dict__:
        if tuple(index.shape) != self.shape[: index.ndim]:
            raise IndexError(f"A Bool index of shape {index.shape} does not fit a Tensor of shape {self.shape}.")
        operator, operands, static = _SET_MASKED, (self, index, value), ()
    else:
        try:
            parsed = _Index(index, self._value.shape)
        except _PicksNothing:
            return
        if write_items(self, value, _VIEW, parsed.operands, parsed.key):
            return
        operator, operands, static = _SETITEM, (self, value, *parsed.operands), parsed.key
    if "_view" in self.__dict__:
        rebind(self, apply(operator, operands, static))
    else:
        update(self, lambda: apply(operator, operands, static))


@partial(Op, "IndexPut", int_grad=(0, 1))
def _INDEX_PUT(x, value, *rest):
    *arrays, count, accumulate = rest
    index = tuple(arrays[:count])
    value = jnp.asarray(value).astype(x.dtype)
    return added(x, index, value) if accumulate else x.at[index].set(value)


def index_put(x: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """A Tensor with values put in, or added, at indices.

    Args:
        x (Tensor): of any shape.
        indices (tuple or list of Tensor): of integers or Bools, one for each of the first axes; shapes are broadcast.
        values (Tensor): of a shape that broadcasts to that of the indexed part.
        accumulate (bool): whether to add, also where an index comes twice. Default: False.

    Raises:
        TypeError: `indices` is not a tuple or list.
        IndexError: an index is out of range, or there are too many.
    """
    if not isinstance(indices, (tuple, list)):
        raise TypeError(f"For 'index_put', 'indices' should be a tuple or list of Tensors, but got {type(indices).__name__}.")
    parsed = _Index((*indices, Ellipsis), x._value.shape)
    return apply(_INDEX_PUT, (x, values, *parsed.arrays), (len(parsed.arrays), bool(accumulate)))
