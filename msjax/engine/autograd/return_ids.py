"""get_grad: looks up one gradient in the result of a gradient function with ``return_ids=True``."""

from __future__ import annotations

from msjax.common.parameter import Parameter
from msjax.common.tensor import Tensor
from msjax.core.base.errors import describe
from msjax.core.base.typing import PyTree


def get_grad(gradients: PyTree, identifier: int | Parameter) -> Tensor:
    """Look up one gradient in the result of a gradient function with ``return_ids=True``.

    Args:
        gradients: the result of the gradient function.
        identifier (int or Parameter): the position or the Parameter.

    Raises:
        RuntimeError: there is no such gradient.
        TypeError: the identifier is neither an int nor a Parameter.

    Example:
        >>> import msjax as ms
        >>> gradients = ms.grad(lambda x, y: x * y, (0, 1), return_ids=True)(ms.Tensor(2.0), ms.Tensor(5.0))
        >>> print(ms.get_grad(gradients, 1))
        2.0
    """
    if isinstance(identifier, Parameter):
        key = identifier.name
    elif isinstance(identifier, int) and not isinstance(identifier, bool):
        key = identifier
    else:
        raise TypeError(
            f"For 'get_grad', 'identifier' should be a position (int) or a Parameter, but got {describe(identifier)}."
        )
    found = _lookup(gradients, key)
    if found is None:
        raise RuntimeError(
            f"For 'get_grad', there is no gradient for {key!r}; there are {', '.join(map(repr, _keys(gradients)))}."
        )
    return found


def _is_pair(item):
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], (int, str)) and not isinstance(item[1], (int, str))


def _lookup(item, key):
    if _is_pair(item):
        return item[1] if type(item[0]) is type(key) and item[0] == key else None
    if isinstance(item, tuple):
        for inner in item:
            found = _lookup(inner, key)
            if found is not None:
                return found
    return None


def _keys(item):
    if _is_pair(item):
        return [item[0]]
    return [k for inner in item for k in _keys(inner)] if isinstance(item, tuple) else []
