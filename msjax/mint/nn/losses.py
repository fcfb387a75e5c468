"""mint's losses."""

from __future__ import annotations

from msjax.common.tensor import Tensor
from msjax.mint.nn import functional as F
from msjax.mint.nn.layers import Layer

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "KLDivLoss", "L1Loss", "MSELoss", "NLLLoss",
    "SmoothL1Loss", "SoftMarginLoss",
]  # fmt: skip


class BCELoss(Layer):
    """The cross entropy of probabilities and targets."""

    weight: Tensor | None = None
    reduction: str = "mean"

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return F.binary_cross_entropy(logits, labels, self.weight, self.reduction)


class BCEWithLogitsLoss(Layer):
    """The cross entropy of sigmoid(x) and targets."""

    weight: Tensor | None = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(input, target, self.weight, self.reduction, self.pos_weight)


class CosineEmbeddingLoss(Layer):
    """How far the cosine of two vectors is from what the target, 1 or -1, says."""

    margin: float = 0.0
    reduction: str = "mean"

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


class CrossEntropyLoss(Layer):
    """The cross entropy of logits and classes."""

    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"
    label_smoothing: float = 0.0

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self.weight, self.ignore_index, self.reduction, self.label_smoothing)


class KLDivLoss(Layer):
    """The Kullback-Leibler divergence of a target from log probabilities."""

    reduction: str = "mean"
    log_target: bool = False

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, self.reduction, self.log_target)


class L1Loss(Layer):
    """The absolute error."""

    reduction: str = "mean"

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, self.reduction)


class MSELoss(Layer):
    """The squared error."""

    reduction: str = "mean"

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, self.reduction)


class NLLLoss(Layer):
    """Minus the log probability of the target's classes."""

    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class SmoothL1Loss(Layer):
    """A squared error near 0, an absolute one elsewhere."""

    reduction: str = "mean"
    beta: float = 1.0

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, self.reduction, self.beta)


class SoftMarginLoss(Layer):
    """log(1 + exp(-y * x))."""

    reduction: str = "mean"

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, self.reduction)
