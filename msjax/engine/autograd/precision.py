"""Mixed precision: while a cell set with `to_float` runs, operators compute in its type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike
from msjax.core.door import ACTIVITY, STATE
from msjax.engine.autograd.op import Op, apply

_CAST = Op("Cast", lambda x, dtype: x.astype(dtype), int_grad=True)

# Operators whose operands keep their type: they convert, view or write.
_ANY_TYPE = frozenset(
    ("Cast", "Reshape", "Transpose", "Split", "Slice", "StridedSlice", "expand_dims", "squeeze", "flatten", "swapaxes")
    + ("getitem", "setitem", "zeros_like", "ones_like", "Assign")
)
# Operators of which only the first operand is converted; the others are statistics, which need full precision.
_FIRST_ONLY = frozenset(("BatchNorm",))


def _caster(dtype: DTypeLike) -> Callable[[Op, Sequence[Any]], Sequence[Any]]:
    """A function that converts the floating operands of an operator to one type."""
    target = mstype.to_jax(dtype)

    def converted(operand):
        own = operand._value.dtype if isinstance(operand, Tensor) else target
        return operand if own == target or not jnp.issubdtype(own, jnp.floating) else apply(_CAST, (operand,), (target,))

    def cast(op, operands):
        if op.name in _ANY_TYPE:
            return operands
        if op.name in _FIRST_ONLY:
            return converted(operands[0]), *operands[1:]
        return [*map(converted, operands)]

    return cast


@contextmanager
def computing_in(dtype: Type) -> Iterator[None]:
    """Make the operators of this thread convert their floating operands to `dtype`."""
    ACTIVITY.add(casts=1)
    try:
        with STATE.swap(cast=_caster(dtype)):
            yield
    finally:
        ACTIVITY.add(casts=-1)
