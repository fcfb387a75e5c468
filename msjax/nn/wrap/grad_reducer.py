"""DistributedGradReducer."""

from __future__ import annotations

from typing import Any

from msjax.common.tensor import Tensor
from msjax.nn.cell.base import Cell

__all__ = ["DistributedGradReducer"]


class DistributedGradReducer(Cell):
    """Returns its gradients unchanged: under jax, sharded programs reduce gradients by themselves.

    Args:
        parameters: the Parameters.
        mean, degree, fusion_type, group: kept for MindSpore's programs, without effect.
    """

    def __init__(
        self, parameters: Any, mean: Any = None, degree: Any = None, fusion_type: int = 1, group: str = "hccl_world_group"
    ):
        super().__init__(auto_prefix=False)

    def construct(self, grads: Any) -> Tensor:
        return grads
