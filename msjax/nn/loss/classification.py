"""Losses for classification and segmentation; softmax over a sample of very many classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import (
    check_bool,
    check_float,
    check_kind,
    check_one_of,
    check_positive_int,
    check_same_shape,
    check_type,
    check_value,
)
from msjax.core.base.errors import describe
from msjax.nn.cell.base import Cell
from msjax.nn.function_layer import of_type
from msjax.nn.layer.activation import LogSoftmax, Softmax, get_activation
from msjax.nn.loss.loss import LossBase, LossLayer, check_weight
from msjax.ops.dispatch.operator import operator
from msjax.ops.function.math_func import arithmetic, reduction
from msjax.ops.function.nn_func import classification, ctc, losses as ops
from msjax.ops.function.nn_func.losses import reduce_loss
from msjax.ops.function.random_func import choices

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CrossEntropyLoss", "DiceLoss", "FocalLoss", "MultiClassDiceLoss",
    "MultiLabelSoftMarginLoss", "MultiMarginLoss", "MultilabelMarginLoss", "NLLLoss", "SoftMarginLoss",
    "SoftmaxCrossEntropyWithLogits", "SampledSoftmaxLoss",
]  # fmt: skip


class SoftmaxCrossEntropyWithLogits(LossLayer, of=classification.softmax_cross_entropy, sparse=check_bool):
    """Cross entropy of softmax(logits) with the labels.

    Args:
        sparse (bool): True for labels that are class numbers (N,), False for probabilities (N, C). Default: False.
        reduction (str): "none" (the default), "mean" or "sum".

    Inputs:
        - **logits** (Tensor) - of shape (N, C).
        - **labels** (Tensor) - integers of shape (N,), or floats of shape (N, C).

        For the mean over class numbers they may have more axes, with the classes along the last one.

    Outputs:
        Tensor: a number, or with "none" of shape (N,).

    Raises:
        TypeError: `sparse` is not a bool, or the labels are of another kind.
        ValueError: an unknown reduction, or shapes that don't fit.

    Example:
        >>> loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        >>> print(loss(Tensor([[0.0, 0.0]]), Tensor([1])))
        0.6931472
    """

    sparse: bool = False
    reduction: str = "none"


class CrossEntropyLoss(LossLayer, of=classification.cross_entropy, weight=check_weight):
    """Cross entropy of softmax(logits) with class numbers or probabilities.

    Args:
        weight (Tensor, optional): of shape (C,), the weight of each class.
        ignore_index (int): a class number that doesn't count. Default: -100.
        reduction (str): "mean" (the default), "sum" or "none".
        label_smoothing (float): the share of even probabilities in the labels, in [0, 1]. Default: 0.0.

    Inputs:
        - **logits** (Tensor) - of shape (N, C), (N, C, d1, ...) or (C,).
        - **labels** (Tensor) - class numbers, of the shape without C; or probabilities, floats of the same shape.

    Outputs:
        Tensor: a number, or with "none" of the shape of class numbers.

    Example:
        >>> print(nn.CrossEntropyLoss()(Tensor([[0.0, 0.0]]), Tensor([1])))
        0.6931472
    """

    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"
    label_smoothing: float = 0.0


class NLLLoss(LossLayer, of=classification.nll_loss, weight=check_weight):
    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"


class BCELoss(LossLayer, of=classification.binary_cross_entropy):
    weight: Tensor | None = None
    reduction: str = "mean"


class BCEWithLogitsLoss(LossLayer, of=classification.binary_cross_entropy_with_logits):
    reduction: str = "mean"
    weight: Tensor | None = None
    pos_weight: Tensor | None = None

    def construct(self, input: Tensor, target: Tensor) -> Tensor:
        return super().construct(input, target)


class MultiMarginLoss(LossLayer, of=classification.multi_margin_loss, margin=of_type(float)):
    p: int = 1
    margin: float = 1.0
    reduction: str = "mean"
    weight: Tensor | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        check_one_of(self.p, (1, 2), "p", "MultiMarginLoss")

    def construct(self, x: TensorLike, target: TensorLike, weight: Tensor | None = None) -> Tensor:
        weight = self.weight if weight is None else weight
        return classification.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction)


class _OfXAndTarget(LossLayer):
    def construct(self, x: TensorLike, target: TensorLike) -> Tensor:
        return self._function(x, target, *self._values())


class MultilabelMarginLoss(_OfXAndTarget, of=classification.multilabel_margin_loss):
    reduction: str = "mean"


class MultiLabelSoftMarginLoss(_OfXAndTarget, of=classification.multilabel_soft_margin_loss):
    weight: Tensor | None = None
    reduction: str = "mean"


class CTCLoss(LossLayer):
    """The loss of connectionist temporal classification; see `ops.ctc_loss`.

    Args:
        blank (int): the class number of the blank. Default: 0.
        reduction (str): "mean" (the default), "sum" or "none".
        zero_infinity (bool): whether losses of impossible targets are 0, not infinite. Default: False.

    Inputs:
        - **log_probs** (Tensor) - logarithms of probabilities, of shape (T, N, C) or (T, C).
        - **targets** (Tensor) - class numbers, of shape (N, S) or (S,).
        - **input_lengths**, **target_lengths** (Tensor or tuple) - of shape (N,).
    """

    blank: int = 0
    reduction: str = "mean"
    zero_infinity: bool = False

    def construct(self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor) -> Tensor:
        settings = self.blank, self.reduction, self.zero_infinity
        return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, *settings)[0]


@operator(3)
def _focal_loss(logits, labels, weight, gamma, how):
    shape = (*logits.shape[:2], -1)
    log_p = jax.nn.log_softmax(logits.reshape(shape), 1)
    given = labels.reshape(*labels.shape[:2], -1)
    by_class = None if weight is None else weight[None, :, None]
    if labels.shape[1] == 1:
        index = given.astype(jnp.int32)
        log_p = jnp.take_along_axis(log_p, index, 1)
        share = 1 if by_class is None else jnp.take_along_axis(jnp.broadcast_to(by_class, logits.reshape(shape).shape), index, 1)
        losses = -((1 - jnp.exp(log_p)) ** gamma) * log_p * share
        return reduce_loss(jnp.mean(losses[:, 0], -1), how)
    losses = -((1 - jnp.exp(log_p)) ** gamma) * given * (log_p if by_class is None else log_p * by_class)
    return reduce_loss(jnp.mean(losses, -1), how)


class FocalLoss(LossBase):
    """Cross entropy, in which classes that are sure already count less: each is multiplied by (1 - p) ** gamma.

    Args:
        weight (Tensor, optional): of shape (C,), the weight of each class.
        gamma (float): Default: 2.0.
        reduction (str): "mean" (the default), "sum" or "none".

    Inputs:
        - **logits** (Tensor) - of shape (N, C), (N, C, L) or (N, C, H, W).
        - **labels** (Tensor) - class numbers, with 1 in the place of C; or floats of the same shape.
    """

    def __init__(self, weight: Tensor | None = None, gamma: float = 2.0, reduction: str = "mean"):
        super().__init__(reduction)
        if check_weight(weight, "weight", "FocalLoss") is not None and weight.ndim != 1:  # pyright: ignore[reportOptionalMemberAccess]
            raise ValueError(f"For 'FocalLoss', 'weight' should have one axis, but its shape is {weight.shape}.")  # pyright: ignore[reportOptionalMemberAccess]
        self.weight = weight
        self.gamma: Any = check_type(gamma, float, "gamma", "FocalLoss")
        self.logsoftmax = LogSoftmax(1)

    def construct(self, logits: Tensor, labels: Tensor) -> Tensor:
        check_value(logits, logits.ndim <= 1 or logits.shape[1] != 1, "have more than one class", "logits", "FocalLoss")
        if logits.ndim != labels.ndim or not 2 <= logits.ndim <= 4 or labels.shape[1] not in (1, logits.shape[1]):
            raise ValueError(
                f"For 'FocalLoss', labels of shape {labels.shape} don't fit logits of shape {logits.shape}, of 2 to 4 axes."
            )
        return _focal_loss(logits, labels, self.weight, float(self.gamma), self.reduction)


class DiceLoss(LossBase):
    """1 - 2 |A and B| / (|A| + |B|) of two sets, given by probabilities.

    Args:
        smooth (float): added to the denominator; positive. Default: 1e-5.

    Inputs:
        - **logits**, **label** (Tensor) - of the same shape.
    """

    def __init__(self, smooth: float = 1e-5):
        super().__init__()
        self.smooth: float = check_float(smooth, "smooth", "DiceLoss", above=0)

    def construct(self, logits: Tensor, label: Tensor) -> Tensor:
        check_same_shape(logits, label, "both inputs", "DiceLoss")
        common = reduction.sum(arithmetic.mul(logits, label))
        sizes = reduction.sum(arithmetic.mul(logits, logits)) + reduction.sum(arithmetic.mul(label, label))
        return 1 - 2 * common / (sizes + self.smooth)


class MultiClassDiceLoss(LossBase):
    """The mean of the dice losses of all classes (axis 1).

    Args:
        weights (Tensor, optional): the weight of each class; two axes.
        ignore_indiex (int, optional): a class that doesn't count.
        activation (str or Cell, optional): applied to the logits first. Default: "softmax", over the classes.

    Inputs:
        - **logits**, **label** (Tensor) - of the same shape (N, C, ...).
    """

    def __init__(
        self,
        weights: Tensor | None = None,
        ignore_indiex: int | None = None,
        activation: str | Cell | Callable[..., Any] | None = "softmax",
    ):
        super().__init__()
        check_kind(weights, weights is None or isinstance(weights, Tensor), "be a Tensor", "weights", "MultiClassDiceLoss")
        check_value(weights, weights is None or weights.ndim == 2, "have two axes", "weights", "MultiClassDiceLoss")
        fits = not isinstance(ignore_indiex, bool) and isinstance(ignore_indiex, (int, type(None)))
        self.ignore_indiex: int | None = check_kind(ignore_indiex, fits, "be an int", "ignore_indiex", "MultiClassDiceLoss")
        if isinstance(activation, str) and activation not in (
            "softmax", "logsoftmax", "relu", "relu6", "tanh", "sigmoid", "elu", "gelu", "leakyrelu", "silu",
        ):  # fmt: skip
            raise ValueError(f"For 'MultiClassDiceLoss', there is no activation {activation!r}.")
        self.binarydiceloss = DiceLoss()
        self.weights = weights
        if activation == "softmax":
            activation = Softmax(axis=1)
        self.activation = get_activation(activation) if isinstance(activation, str) else activation

    def construct(self, logits: Tensor, label: Tensor) -> Any:
        if logits.shape != label.shape or logits.ndim < 2:
            raise ValueError(
                f"For 'MultiClassDiceLoss', both inputs should have one shape, of two axes or more, but they have {logits.shape} "
                f"and {label.shape}."
            )
        if self.activation is not None:
            logits = self.activation(logits)
        total, classes = 0, label.shape[1]
        for i in range(classes):
            if i != self.ignore_indiex:
                loss = self.binarydiceloss(logits[:, i], label[:, i])
                total = total + (loss if self.weights is None else loss * self.weights[i])
        return total / classes


class SoftMarginLoss(LossLayer, of=ops.soft_margin_loss):
    reduction: str = "mean"


@operator(7, name="SampledSoftmaxLoss")
def _losses(weights, biases, labels, logits, sampled, true_count, sampled_count, drop_hits):
    """The loss of each sample; counts are how often a class is expected among the sampled ones."""
    true = jnp.einsum("nd,ntd->nt", logits, weights[labels]) + biases[labels] - jnp.log(true_count)
    others = logits @ weights[sampled].T + biases[sampled] - jnp.log(sampled_count)
    if drop_hits:
        hits = jnp.any(labels[:, :, None] == sampled, 1)
        others = jnp.where(hits, jnp.finfo(others.dtype).min, others)
    scores = jax.nn.log_softmax(jnp.concatenate([true, others], 1), 1)
    return -jnp.mean(scores[:, : labels.shape[1]], 1)


class SampledSoftmaxLoss(LossBase):
    """Cross entropy over the true classes and a random sample of the others, for networks with very many classes.

    Args:
        num_sampled (int): how many classes are sampled for a batch.
        num_classes (int): how many classes there are.
        num_true (int): how many classes each sample belongs to. Default: 1.
        sampled_values (tuple or list, optional): what `ops.uniform_candidate_sampler` returns: the sampled classes, and
            how often the true and the sampled ones are expected. By default from `ops.log_uniform_candidate_sampler`.
        remove_accidental_hits (bool): whether sampled classes that are a sample's own don't count for it. Default: True.
        seed (int): of the sampler. Default: 0.
        reduction (str): "none" (the default), "mean" or "sum".

    Inputs:
        - **weights** (Tensor) - of shape (C, D).
        - **biases** (Tensor) - of shape (C,).
        - **labels** (Tensor) - integers, of shape (N, num_true) or (N,).
        - **logits** (Tensor) - what the classes are computed from, of shape (N, D).

    Outputs:
        Tensor, of shape (N,); of shape () with a reduction.

    Raises:
        TypeError: an argument of a wrong type.
        ValueError: `num_sampled` or `num_true` is above `num_classes`, `sampled_values` has not 3 Tensors, another
            reduction, or labels of another shape.

    Example:
        >>> loss = nn.SampledSoftmaxLoss(num_sampled=4, num_classes=7)
        >>> weights, biases = ops.ones((7, 10), float32), ops.zeros((7,), float32)
        >>> loss(weights, biases, Tensor([0, 1, 2]), ops.ones((3, 10), float32)).shape
        (3,)
    """

    def __init__(
        self,
        num_sampled: int,
        num_classes: int,
        num_true: int = 1,
        sampled_values: Sequence[Any] | None = None,
        remove_accidental_hits: bool = True,
        seed: int = 0,
        reduction: str = "none",
    ):
        super().__init__(reduction)
        who = "SampledSoftmaxLoss"
        self.num_sampled: int = check_positive_int(num_sampled, "num_sampled", who)
        self.num_classes: int = check_positive_int(num_classes, "num_classes", who)
        self.num_true: int = check_positive_int(num_true, "num_true", who)
        for name in ("num_sampled", "num_true"):
            if getattr(self, name) > num_classes:
                raise ValueError(
                    f"For '{who}', '{name}' should be at most 'num_classes', but got {getattr(self, name)} of {num_classes}."
                )
        if sampled_values is not None:
            check_type(sampled_values, (tuple, list), "sampled_values", who)
            if len(sampled_values) != 3 or not all(isinstance(v, Tensor) for v in sampled_values):
                raise ValueError(f"For '{who}', 'sampled_values' should have 3 Tensors, but got {describe(sampled_values)}.")
        self.sampled_values = sampled_values
        self.remove_accidental_hits: bool = check_bool(remove_accidental_hits, "remove_accidental_hits", who)
        self.seed: Any = check_type(seed, int, "seed", who)

    def construct(self, weights: Tensor, biases: Tensor, labels: Tensor, logits: Tensor) -> Tensor:
        for name, value in (("weights", weights), ("biases", biases), ("labels", labels), ("logits", logits)):
            check_type(value, Tensor, name, "SampledSoftmaxLoss")
        labels = labels.expand_dims(1) if labels.ndim == 1 else labels
        fits = labels.shape == (logits.shape[0], self.num_true)
        check_value(labels, fits, f"have shape ({logits.shape[0]}, {self.num_true})", "labels", "SampledSoftmaxLoss")
        values = self.sampled_values
        if values is None:
            values = choices.log_uniform_candidate_sampler(
                labels, self.num_true, self.num_sampled, True, self.num_classes, self.seed
            )
        return self.get_loss(_losses(weights, biases, labels, logits, *values, self.remove_accidental_hits))
