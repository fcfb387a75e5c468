"""Losses that compare embeddings and scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_bool, check_float, check_number, check_type
from msjax.nn.loss.loss import LossBase
from msjax.ops.function.math_func import elementary, elementwise, reduction
from msjax.ops.function.nn_func import activations, losses as ops

__all__ = ["CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"]


class MarginRankingLoss(LossBase):
    """max(0, margin - target * (input1 - input2)).

    Args:
        margin (float): Default: 0.0.
        reduction (str): "mean" (the default), "sum" or "none".
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin = margin

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return ops.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(LossBase):
    """Distances where the label is 1, max(0, margin - distance) where it is -1.

    Args:
        margin (int or float): Default: 1.0.
        reduction (str): "mean" (the default), "sum" or "none".
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin: Any = check_number(margin, "margin", "HingeEmbeddingLoss")

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.hinge_embedding_loss(logits, labels, self.margin, self.reduction)


class CosineEmbeddingLoss(LossBase):
    """1 - cos where the label is 1, max(0, cos - margin) where it is -1.

    Args:
        margin (float): in [-1, 1]. Default: 0.0.
        reduction (str): "mean" (the default), "sum" or "none".
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean"):
        super().__init__(reduction)
        self.margin: float = check_float(margin, "margin", "CosineEmbeddingLoss", low=-1, high=1)

    def construct(self, logits_x1: Tensor, logits_x2: Tensor, labels: Tensor) -> Tensor:
        return ops.cosine_embedding_loss(logits_x1, logits_x2, labels, self.margin, self.reduction)


class TripletMarginLoss(LossBase):
    """max(0, d(x, positive) - d(x, negative) + margin), where d is the p-norm of the difference.

    Args:
        p (int): the norm. Default: 2.
        swap (bool): whether d(positive, negative) counts where it is less. Default: False.
        eps (float): added to differences. Default: 1e-6.
        reduction (str): "mean" (the default), "sum" or "none".
        margin (float): Default: 1.0.
    """

    def __init__(self, p: int = 2, swap: bool = False, eps: float = 1e-6, reduction: str = "mean", margin: float = 1.0):
        super().__init__(reduction)
        self.p = p
        self.swap = swap
        self.eps = eps
        self.margin = margin

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor, margin: Tensor | None = None) -> Tensor:
        distance = self.margin if margin is None else margin
        return ops.triplet_margin_loss(x, positive, negative, distance, self.p, self.eps, self.swap, self.reduction)


class TripletMarginWithDistanceLoss(LossBase):
    """max(0, d(x, positive) - d(x, negative) + margin), with a custom distance.

    Args:
        distance_function (callable, optional): of two Tensors; by default the Euclidean distance along axis 1.
        swap (bool): whether d(positive, negative) counts where it is less. Default: False.
        reduction (str): "mean" (the default), "sum" or "none".
        margin (float): Default: 1.0.
    """

    def __init__(
        self,
        distance_function: Callable[..., Any] | None = None,
        swap: bool = False,
        reduction: str = "mean",
        margin: float = 1.0,
    ):
        super().__init__(reduction)
        self.swap: bool = check_bool(swap, "swap", "TripletMarginWithDistanceLoss")
        self.margin: float = check_type(margin, float, "margin", "TripletMarginWithDistanceLoss")
        self.distance_function = _euclidean if distance_function is None else distance_function

    def construct(self, x: TensorLike, positive: Tensor, negative: Tensor) -> Tensor:
        near, far = self.distance_function(x, positive), self.distance_function(x, negative)
        if self.swap:
            far = elementwise.minimum(far, self.distance_function(positive, negative))
        return self.get_loss(activations.relu(near - far + self.margin))


def _euclidean(x, y):
    return elementary.sqrt(reduction.sum(elementary.square(x - y), 1))
