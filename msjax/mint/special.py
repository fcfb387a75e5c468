"""mint's special functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msjax import ops
from msjax.common.tensor import Tensor
from msjax.common.typing import DTypeLike, TensorLike
from msjax.core.base.lazy import on_first_use
from msjax.ops import erfc, exp2, expm1, log1p, round, sinc

__all__ = ["erfc", "exp2", "expm1", "log1p", "log_softmax", "round", "sinc"]


def log_softmax(input: TensorLike, dim: int | None = None, *, dtype: DTypeLike | None = None) -> Tensor:
    """log(softmax(input)) along an axis; the last by default."""
    return ops.log_softmax(input if dtype is None else ops.cast(input, dtype), -1 if dim is None else dim)


if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
