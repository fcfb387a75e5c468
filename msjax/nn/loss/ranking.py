"""Losses that compare embeddings and scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_bool, check_float, check_number, check_type
from msjax.nn.loss.loss import LossLayer
from msjax.ops.function.math_func import elementary, elementwise, reduction
from msjax.ops.function.nn_func import activations, losses as ops

__all__ = ["CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"]


class MarginRankingLoss(LossLayer, of=ops.margin_ranking_loss):
    margin: float = 0.0
    reduction: str = "mean"

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return ops.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(LossLayer, of=ops.hinge_embedding_loss, margin=check_number):
    margin: float = 1.0
    reduction: str = "mean"


class CosineEmbeddingLoss(LossLayer, of=ops.cosine_embedding_loss, margin=partial(check_float, low=-1, high=1)):
    margin: float = 0.0
    reduction: str = "mean"

    def construct(self, logits_x1: Tensor, logits_x2: Tensor, labels: Tensor) -> Tensor:
        return ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class TripletMarginLoss(LossLayer):
    """max(0, d(x, positive) - d(x, negative) + margin), where d is the p-norm of the difference.

    Args:
        p (int): the norm. Default: 2.
        swap (bool): whether d(positive, negative) counts where it is less. Default: False.
        eps (float): added to differences. Default: 1e-6.
        reduction (str): "mean" (the default), "sum" or "none".
        margin (float): Default: 1.0.
    """

    p: int = 2
    swap: bool = False
    eps: float = 1e-6
    reduction: str = "mean"
    margin: float = 1.0

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor, margin: Tensor | None = None) -> Tensor:
        distance = self.margin if margin is None else margin
        return ops.triplet_margin_loss(x, positive, negative, distance, self.p, self.eps, self.swap, self.reduction)


class TripletMarginWithDistanceLoss(LossLayer, swap=check_bool):
    """max(0, d(x, positive) - d(x, negative) + margin), with a custom distance.

    Args:
        distance_function (callable, optional): of two Tensors; by default the Euclidean distance along axis 1.
        swap (bool): whether d(positive, negative) counts where it is less. Default: False.
        reduction (str): "mean" (the default), "sum" or "none".
        margin (float): Default: 1.0.
    """

    distance_function: Callable[..., Any] | None = None
    swap: bool = False
    reduction: str = "mean"
    margin: float = 1.0

    def _check_settings(self) -> None:
        super()._check_settings()
        check_type(self.margin, float, "margin", "TripletMarginWithDistanceLoss")
        if self.distance_function is None:
            self.distance_function = _euclidean

    def construct(self, x: TensorLike, positive: Tensor, negative: Tensor) -> Tensor:
        distance: Any = self.distance_function
        near, far = distance(x, positive), distance(x, negative)
        if self.swap:
            far = elementwise.minimum(far, distance(positive, negative))
        return self.get_loss(activations.relu(near - far + self.margin))


def _euclidean(x, y):
    return elementary.sqrt(reduction.sum(elementary.square(x - y), 1))
