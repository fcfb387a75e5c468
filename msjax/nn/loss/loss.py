"""LossBase, and losses between numbers, between distributions, and of embeddings and scores that are compared."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_bool, check_float, check_number, check_one_of, check_same_shape, check_type
from msjax.nn.cell.base import Cell
from msjax.nn.function_layer import Layer, of_type
from msjax.ops.function.math_func import arithmetic, elementary, elementwise, reduction
from msjax.ops.function.nn_func import activations, losses as ops

__all__ = [
    "GaussianNLLLoss", "HuberLoss", "KLDivLoss", "L1Loss", "L1LossExt", "LossBase", "MAELoss", "MSELoss", "PoissonNLLLoss",
    "RMSELoss", "SmoothL1Loss", "CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip


class LossBase(Cell):
    """Base of losses: reduces elementwise losses with `get_loss`.

    Args:
        reduction (str): "mean" (the default), "sum" or "none".

    Raises:
        ValueError: an unknown reduction.

    Example:
        >>> class Distance(nn.LossBase):
        ...     def construct(self, logits, labels):
        ...         return self.get_loss((logits - labels).abs())
        >>> print(Distance()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
        1.0
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__()
        self.reduction: Any = check_one_of(reduction, ("mean", "sum", "none"), "reduction", type(self).__name__)
        self.reduce: bool = reduction != "none"
        self.average: bool = reduction == "mean"

    def get_axis(self, x: Tensor) -> tuple[int, ...]:
        """All axes of a Tensor, as a tuple."""
        return tuple(range(x.ndim))

    def get_loss(self, x: Tensor, weights: float = 1.0) -> Tensor:
        """Elementwise losses weighted and reduced."""
        x = arithmetic.mul(x, weights)
        if self.reduction == "mean":
            return reduction.mean(x)
        return reduction.sum(x) if self.reduction == "sum" else x

    def construct(self, logits: Tensor, labels: Tensor) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no 'construct'.")


class _Loss(LossBase):
    """The older name of `LossBase`, of which public losses are subclasses."""


class LossLayer(Layer, LossBase):
    """The base of losses that call a function with logits, labels and their settings."""

    def _check_settings(self) -> None:
        LossBase.__init__(self, self.reduction)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return self._function(logits, labels, *self._values())


def check_weight(weight: Tensor | None, name: str, who: str) -> Tensor | None:
    """The weight, if it is a Tensor or None; TypeError otherwise."""
    return None if weight is None else check_type(weight, Tensor, name, who)


# ---- differences


# fmt: off
class MSELoss(LossLayer, of=ops.mse_loss): reduction: str = "mean"
class L1Loss(LossLayer, of=ops.l1_loss): reduction: str = "mean"
class L1LossExt(L1Loss, of=ops.l1_loss): ...
# fmt: on


class MAELoss(LossLayer, of=ops.l1_loss):
    reduction: str = "mean"

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        return super().construct(logits, label)


class RMSELoss(LossBase):
    """The square root of the mean of (logits - label) squared."""

    def __init__(self):
        super().__init__()
        self.MSELoss = MSELoss()

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        return elementary.sqrt(self.MSELoss(logits, label))


class SmoothL1Loss(LossLayer, of=ops.smooth_l1_loss):
    beta: float = 1.0
    reduction: str = "none"

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        if isinstance(logits, Tensor) and isinstance(labels, Tensor):
            check_same_shape(logits, labels, "both inputs", "SmoothL1Loss")
        return super().construct(logits, labels)


class HuberLoss(LossLayer, of=ops.huber_loss):
    reduction: str = "mean"
    delta: float = 1.0


# ---- distributions


class KLDivLoss(LossBase):
    """The Kullback-Leibler divergence: labels * (log(labels) - logits).

    Args:
        reduction (str): "mean" (the default), "batchmean", "sum" or "none".
    """

    def __init__(self, reduction: str = "mean"):
        super().__init__("sum" if reduction == "batchmean" else reduction)
        self.reduction = reduction

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ops.kl_div(logits, labels, self.reduction)


class PoissonNLLLoss(LossLayer):
    """The negative logarithm of a Poisson distribution's probability of the target.

    Args:
        log_input (bool): whether inputs are logarithms of the rates. Default: True.
        full (bool): whether to add Stirling's approximation of log(target!). Default: False.
        eps (float): added to rates. Default: 1e-8.
        reduction (str): "mean" (the default), "sum" or "none".
    """

    log_input: bool = True
    full: bool = False
    eps: float = 1e-8
    reduction: str = "mean"

    def construct(self, input: TensorLike, target: TensorLike) -> Tensor:
        return ops.poisson_nll_loss(input, target, bool(self.log_input), bool(self.full), float(self.eps), self.reduction)


class GaussianNLLLoss(LossBase):
    """The negative logarithm of a normal distribution's density at the labels.

    Args:
        full (bool): whether to add the constant, log(2 pi) / 2. Default: False.
        eps (float): the least variance; positive. Default: 1e-6.
        reduction (str): "mean" (the default), "sum" or "none".

    Inputs:
        - **logits** (Tensor) - the means.
        - **labels** (Tensor), **var** (Tensor) - of shapes that can be broadcast.
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(reduction)
        self.eps: float = check_float(eps, "eps", "GaussianNLLLoss", above=0)
        self.full = full

    def construct(self, logits: Tensor, labels: Tensor, var: Tensor) -> Tensor:
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


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


class TripletMarginLoss(LossLayer, of=ops.triplet_margin_loss):
    p: int = 2
    swap: bool = False
    eps: float = 1e-6
    reduction: str = "mean"
    margin: float = 1.0

    def construct(self, x: Tensor, positive: Tensor, negative: Tensor, margin: Tensor | None = None) -> Tensor:
        distance = self.margin if margin is None else margin
        return ops.triplet_margin_loss(x, positive, negative, distance, self.p, self.eps, self.swap, self.reduction)


class TripletMarginWithDistanceLoss(LossLayer, swap=check_bool, margin=of_type(float)):
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
