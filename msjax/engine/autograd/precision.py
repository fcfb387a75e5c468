"""Mixed precision: while a cell set with `to_float` runs, operators compute in its type, or each in the type that suits it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
from msjax.core.door import ACTIVITY, STATE
from msjax.engine.autograd.op import Op, apply

_CAST = Op("Cast", lambda x, dtype: x.astype(dtype), int_grad=True)

# Operators whose operands keep their type, as in MindSpore: they convert, view, arrange or write.
_ANY_TYPE = frozenset(
    ("Cast", "Reshape", "Transpose", "Split", "Slice", "expand_dims", "squeeze", "swapaxes", "moveaxis", "BroadcastTo")
    + ("Meshgrid", "atleast_1d", "atleast_2d", "atleast_3d", "pixel_shuffle", "pixel_unshuffle", "identity", "positive")
    + ("copy", "hardtanh", "getitem", "setitem", "zeros_like", "ones_like", "Assign")
)
# Operators of which only the first operand is converted; the others are statistics, which need full precision.
_FIRST_ONLY = frozenset(("BatchNorm",))


class TypeByOperator(Protocol):
    """Chooses a type for each operator; see `msjax.amp.by_operator`."""

    def type_for(self, operator: str, operands: Sequence[Any]) -> Any:
        """The type that an operator's floating operands are converted to; None for their own."""
        ...


Precision: TypeAlias = Type | TypeByOperator


def _converted(operand: Any, dtype: Any) -> Any:
    """An operand, in another floating type if it is a Tensor of one."""
    own = operand._value.dtype if isinstance(operand, Tensor) else dtype
    return operand if own == dtype or not jnp.issubdtype(own, jnp.floating) else apply(_CAST, (operand,), (dtype,))


def _caster(precision: Precision) -> Callable[[Op, Sequence[Any]], Sequence[Any]]:
    """A function that converts the floating operands of an operator: to one type, or to the one that suits the operator."""
    one = mstype.to_jax(precision) if isinstance(precision, Type) else None

    def cast(op, operands):
        if isinstance(precision, Type):
            if op.name in _FIRST_ONLY:
                return _converted(operands[0], one), *operands[1:]
            target = None if op.name in _ANY_TYPE else one
        else:
            target = precision.type_for(op.name, operands)
        return operands if target is None else [_converted(operand, target) for operand in operands]

    return cast


@contextmanager
def computing_in(precision: Precision) -> Iterator[None]:
    """Make the operators of this thread convert their floating operands."""
    ACTIVITY.add(casts=1)
    try:
        with STATE.swap(cast=_caster(precision)):
            yield
    finally:
        ACTIVITY.add(casts=-1)
