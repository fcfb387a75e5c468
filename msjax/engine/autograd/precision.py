"""Mixed precision: while a cell set with `to_float` runs, operators compute in its type, or each in the type that suits it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor
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


# Of `ByOperator`: operators that compute in 16 bits, those that need Float32, and those that take the widest type of their operands.
_LOW = frozenset((
    "Conv", "Conv1d", "ConvTranspose", "Conv1dTranspose", "MatMul", "BatchMatMul", "mm", "mv", "inner", "dot", "tensor_dot",
    "prelu", "Einsum", "Dense",
))  # fmt: skip
_FULL = frozenset((
    "_soft_margin_loss", "_triplet_margin_loss", "_nll_loss", "_cross_entropy", "pdist", "cdist", "renorm", "LayerNorm",
    "BatchNorm", "GroupNorm", "KLDivLoss", "SmoothL1Loss", "MultilabelMarginLoss", "MultiMarginLoss", "BCEWithLogitsLoss",
    "Pow", "acos", "asin", "arcsin", "cosh", "erfinv", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "reciprocal",
    "rsqrt", "sinh", "tan", "softplus", "softmax", "softmin", "log_softmax", "logsumexp", "cumprod", "cumsum", "ReduceProd",
    "prod", "sum",
))  # fmt: skip
_WIDEST = frozenset((
    "addcdiv", "addcmul", "cross", "_grid_sample", "BiasAdd", "Concat",
))  # fmt: skip
_BY_OPERATOR = _LOW | _FULL | _WIDEST


class ByOperator(NamedTuple):
    """Each operator computes in the type that suits it.

    Attributes:
        low: the type of products and convolutions, ms.float16 or ms.bfloat16.
    """

    low: Type


Precision: TypeAlias = Type | ByOperator


def _converted(operand: Any, dtype: Any) -> Any:
    """An operand, in another floating type if it is a Tensor of one."""
    own = operand._value.dtype if isinstance(operand, Tensor) else dtype
    return operand if own == dtype or not jnp.issubdtype(own, jnp.floating) else apply(_CAST, (operand,), (dtype,))


def _caster(precision: Precision) -> Callable[[Op, Sequence[Any]], Sequence[Any]]:
    """A function that converts the floating operands of an operator: to one type, or to the one that suits the operator."""
    by_operator = isinstance(precision, ByOperator)
    low = mstype.to_jax(precision.low if by_operator else precision)

    def cast(op, operands):
        target: Any = low
        if not by_operator and op.name in _FIRST_ONLY:
            return _converted(operands[0], target), *operands[1:]
        if (by_operator and op.name not in _BY_OPERATOR) or (not by_operator and op.name in _ANY_TYPE):
            return operands
        if by_operator and op.name in _FULL:
            target = jnp.dtype("float32")
        elif by_operator and op.name in _WIDEST:
            types = [t._value.dtype for t in operands if isinstance(t, Tensor)]
            target = jnp.result_type(*(t for t in types if jnp.issubdtype(t, jnp.floating))) if types else None
        return [_converted(operand, target) for operand in operands]

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
