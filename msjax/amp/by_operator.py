"""The level "auto" of mixed precision: each operator computes in the type that suits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp

from msjax.common import dtype as mstype
from msjax.common.dtype import Type
from msjax.common.tensor import Tensor

# Operators that compute in 16 bits, those that need Float32, and those that take the widest type of their operands.
_LOW = frozenset((
    "Conv", "Conv1d", "ConvTranspose", "Conv1dTranspose", "MatMul", "BatchMatMul", "mm", "mv", "inner", "dot", "tensor_dot",
    "prelu", "Einsum", "Dense",
))  # fmt: skip
_FULL = frozenset((
    "soft_margin_loss", "triplet_margin_loss", "nll_loss", "cross_entropy", "pdist", "cdist", "renorm", "LayerNorm",
    "BatchNorm", "GroupNorm", "KLDivLoss", "SmoothL1Loss", "MultilabelMarginLoss", "MultiMarginLoss", "BCEWithLogitsLoss",
    "Pow", "acos", "asin", "arcsin", "cosh", "erfinv", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "reciprocal",
    "rsqrt", "sinh", "tan", "softplus", "softmax", "softmin", "log_softmax", "logsumexp", "cumprod", "cumsum", "ReduceProd",
    "prod", "sum",
))  # fmt: skip
_WIDEST = frozenset(("addcdiv", "addcmul", "cross", "grid_sample", "BiasAdd", "Concat"))


class ByOperator(NamedTuple):
    """Each operator computes in the type that suits it.

    Attributes:
        low: the type of products and convolutions, ms.float16 or ms.bfloat16.
    """

    low: Type

    def type_for(self, operator: str, operands: Sequence[Any]) -> Any:
        """The type that an operator's floating operands are converted to; None for their own."""
        if operator in _LOW:
            return mstype.to_jax(self.low)
        if operator in _FULL:
            return jnp.dtype("float32")
        types = [t._value.dtype for t in operands if isinstance(t, Tensor)] if operator in _WIDEST else ()
        return jnp.result_type(*(t for t in types if jnp.issubdtype(t, jnp.floating))) if types else None
