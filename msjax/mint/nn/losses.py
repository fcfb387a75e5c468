"""mint's losses."""

from __future__ import annotations

from msjax.common.tensor import Tensor
from msjax.mint.nn import functional as F
from msjax.mint.nn.layers import Layer

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "KLDivLoss", "L1Loss", "MSELoss", "NLLLoss",
    "SmoothL1Loss", "SoftMarginLoss",
]  # fmt: skip


class _Loss(Layer):
    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return self._function(input, target, *self._values())


class _Reduced(_Loss):
    reduction: str = "mean"


# fmt: off
class L1Loss(_Reduced, of=F.l1_loss): """The absolute error."""
class MSELoss(_Reduced, of=F.mse_loss): """The squared error."""
class SoftMarginLoss(_Reduced, of=F.soft_margin_loss): """log(1 + exp(-y * x))."""
# fmt: on


class BCELoss(Layer, of=F.binary_cross_entropy):
    """The cross entropy of probabilities and targets."""

    weight: Tensor | None = None
    reduction: str = "mean"

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self._function(logits, labels, *self._values())


class BCEWithLogitsLoss(_Loss, of=F.binary_cross_entropy_with_logits):
    """The cross entropy of sigmoid(x) and targets."""

    weight: Tensor | None = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None


class CosineEmbeddingLoss(Layer):
    """How far the cosine of two vectors is from what the target, 1 or -1, says."""

    margin: float = 0.0
    reduction: str = "mean"

    def construct(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


class CrossEntropyLoss(_Loss, of=F.cross_entropy):
    """The cross entropy of logits and classes."""

    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"
    label_smoothing: float = 0.0


class KLDivLoss(_Reduced, of=F.kl_div):
    """The Kullback-Leibler divergence of a target from log probabilities."""

    log_target: bool = False


class NLLLoss(_Loss, of=F.nll_loss):
    """Minus the log probability of the target's classes."""

    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"


class SmoothL1Loss(_Reduced, of=F.smooth_l1_loss):
    """A squared error near 0, an absolute one elsewhere."""

    beta: float = 1.0
