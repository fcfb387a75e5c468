"""`mutable`, and the lists, tuples and dicts that it returns, which have a gradient where other containers have none."""

from __future__ import annotations

from typing import TypeVar

import jax

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_kind, check_no_cycle

_T = TypeVar("_T")


class MutableTuple(tuple[object, ...]):
    """A tuple that `mutable` returned."""

    __slots__ = ()


class MutableList(list[object]):
    """A list that `mutable` returned."""

    __slots__ = ()


class MutableDict(dict[object, object]):
    """A dict that `mutable` returned."""

    __slots__ = ()


_KINDS = {tuple: MutableTuple, list: MutableList, dict: MutableDict}
MUTABLE = (MutableTuple, MutableList, MutableDict)

for _kind in (MutableTuple, MutableList):
    jax.tree_util.register_pytree_node(_kind, lambda value: (tuple(value), type(value)), lambda kind, items: kind(items))
jax.tree_util.register_pytree_node(
    MutableDict, lambda value: (tuple(value.values()), tuple(value)), lambda keys, items: MutableDict(zip(keys, items))
)


def mutable(input_data: _T, dynamic_len: bool = False) -> _T:
    """An equal list, tuple or dict with a gradient of its own: gradient functions for several positions leave out others.

    Numbers and Tensors are returned as they are: compiled functions take Tensors as variables, and have a program for each value of a number.

    Args:
        input_data (bool, int, float, Tensor, tuple, list or dict): of containers, also nested ones, a copy is returned.
        dynamic_len (bool): without effect.

    Raises:
        TypeError: something else, also within a container.
        RuntimeError: a list or dict holds itself.

    Example:
        >>> import msjax as ms
        >>> f = lambda x, pair: x * pair[0] * pair[1]
        >>> x, y, z = map(ms.Tensor, (2.0, 3.0, 4.0))
        >>> dx, (dy, dz) = ms.grad(f, (0, 1))(x, ms.mutable((y, z)))
        >>> print(dx, dy, dz)
        12.0 8.0 6.0
    """
    check_no_cycle([input_data])
    if isinstance(input_data, dict):
        values = {key: mutable(value) for key, value in input_data.items()}
    elif isinstance(input_data, (tuple, list)):
        values = [mutable(value) for value in input_data]
    else:
        should = "be a bool, int, float, Tensor, or a tuple, list or dict of these"
        return check_kind(input_data, isinstance(input_data, (bool, int, float, Tensor)), should, "input_data", "mutable")
    kind = _KINDS.get(type(input_data), type(input_data))
    return kind(*values) if hasattr(input_data, "_fields") else kind(values)
