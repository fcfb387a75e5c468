"""mint's special functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike, UnaryOperator
from msjax.core.base.lazy import on_first_use

__all__ = ["erfc", "exp2", "expm1", "log1p", "log_softmax", "round", "sinc"]

erfc: UnaryOperator = ops.erfc
exp2: UnaryOperator = ops.exp2
expm1: UnaryOperator = ops.expm1
log1p: UnaryOperator = ops.log1p
round = ops.round
sinc: UnaryOperator = ops.sinc


def log_softmax(input: TensorLike, dim: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """log(softmax(input)) along an axis; the last by default."""
    return ops.log_softmax(input if dtype is None else ops.cast(input, dtype), -1 if dim is None else dim)


if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
