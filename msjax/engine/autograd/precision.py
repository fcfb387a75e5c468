"""Mixed precision: while a cell set with `to_float` runs, operators compute in its type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


class _Caster:
    """Converts the floating operands of an operator to one type."""

    def __init__(self, dtype: DTypeLike):
        self.dtype = mstype.to_jax(dtype)

    def __call__(self, op: Op, operands: Sequence[Any]) -> Sequence[Any]:
        if op.name in _ANY_TYPE:
            return operands
        if op.name in _FIRST_ONLY:
            return self._cast(operands[0]), *operands[1:]
        return [self._cast(operand) for operand in operands]

    def _cast(self, operand):
        if not isinstance(operand, Tensor):
            return operand
        own = operand._value.dtype
        if own == self.dtype or not jnp.issubdtype(own, jnp.floating):
            return operand
        return apply(_CAST, (operand,), (self.dtype,))


@contextmanager
def computing_in(dtype: Type) -> Iterator[None]:
    """Make the operators of this thread convert their floating operands to `dtype`."""
    ACTIVITY.add(casts=1)
    try:
        with STATE.swap(cast=_Caster(dtype)):
            yield
    finally:
        ACTIVITY.add(casts=-1)
