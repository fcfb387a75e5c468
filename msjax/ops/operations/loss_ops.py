"""Operator classes of losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msjax.base.errors import describe
from msjax.base.typing import TensorLike
from msjax.common.tensor import Tensor
from msjax.ops.function.math_func.arithmetic import true_divide
from msjax.ops.function.math_func.reduction import sum as reduce_sum
from msjax.ops.function.nn_func import classification, ctc, losses
from msjax.ops.primitive import class_form, name_classes, operator_class

if TYPE_CHECKING:
    from msjax.ops.primitive import PrimitiveSelf


SoftmaxCrossEntropyWithLogits = class_form(classification.softmax_cross_entropy_and_gradient)
BCEWithLogitsLoss = class_form(classification.binary_cross_entropy_with_logits, reduction="mean")
BinaryCrossEntropy = class_form(classification.binary_cross_entropy, reduction="mean")
KLDivLoss = class_form(losses.kl_div, reduction="mean")
SmoothL1Loss = class_form(losses.smooth_l1_loss, beta=1.0, reduction="none")
SoftMarginLoss = class_form(losses.soft_margin_loss, reduction="mean")
MultilabelMarginLoss = class_form(classification.multilabel_margin_loss, reduction="mean")
TripletMarginLoss = class_form(losses.triplet_margin_loss, p=2, swap=False, eps=1e-6, reduction="mean")
CTCLossV2 = class_form(ctc.ctc_loss, blank=0, reduction="none", zero_infinity=False)
CTCGreedyDecoder = class_form(ctc.ctc_greedy_decoder, merge_repeated=True)


@operator_class(is_grad=False)
def SparseSoftmaxCrossEntropyWithLogits(self: PrimitiveSelf, logits: TensorLike, labels: TensorLike) -> Tensor:
    """The mean cross entropy of logits (N, C) and class numbers (N,), or with `is_grad` its gradient."""
    return classification.sparse_softmax_cross_entropy(logits, labels, bool(self.is_grad))


@operator_class()
def SigmoidCrossEntropyWithLogits(self: PrimitiveSelf, logits: TensorLike, label: TensorLike) -> Tensor:
    """Elementwise binary cross entropies of sigmoid(logits): ``ops.SigmoidCrossEntropyWithLogits()(logits, label)``."""
    return classification.binary_cross_entropy_with_logits(logits, label, reduction="none")


@operator_class(p=1, margin=1.0, reduction="mean")
def MultiMarginLoss(self: PrimitiveSelf, x: TensorLike, target: TensorLike, weight: TensorLike | None = None) -> Tensor:
    """The margin loss of class scores (N, C) and class numbers (N,); see `ops.multi_margin_loss`."""
    return classification.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction)


@operator_class(reduction="mean", ignore_index=-100)
def NLLLoss(self: PrimitiveSelf, logits: TensorLike, labels: Tensor, weight: TensorLike) -> tuple[Tensor, Tensor]:
    """The negative log likelihood loss and the sum of the weights; see `ops.nll_loss`."""
    if labels.dtype.kind not in "iu":
        raise TypeError(f"For 'NLLLoss', the labels should be integers, but got {describe(labels)}.")
    summed = "sum" if self.reduction == "mean" else self.reduction
    loss = classification.nll_loss(logits, labels, weight, self.ignore_index, summed)
    total = reduce_sum(classification.weights_of(weight, labels, self.ignore_index))
    return (true_divide(loss, total) if self.reduction == "mean" else loss), total


@operator_class(preprocess_collapse_repeated=False, ctc_merge_repeated=True, ignore_longer_outputs_than_inputs=False)
def CTCLoss(
    self: PrimitiveSelf, x: Tensor, labels_indices: Tensor, labels_values: Tensor, sequence_length: Tensor
) -> tuple[Tensor, Tensor]:
    """The loss of connectionist temporal classification, and its gradient with respect to the inputs.

    Args:
        preprocess_collapse_repeated, ctc_merge_repeated, ignore_longer_outputs_than_inputs (bool): other values than the
            defaults are not offered. Default: False, True and False.

    Inputs:
        x (Tensor): shape (T, N, C), logits, of which the last class is the blank one.
        labels_indices (Tensor): shape (labels, 2), of each label the number of its sequence and its place there.
        labels_values (Tensor): shape (labels,), the labels.
        sequence_length (Tensor): shape (N,), how many of the T steps count.

    Outputs:
        The losses (N,), and the gradient of their sum (T, N, C).
    """
    if self.preprocess_collapse_repeated or not self.ctc_merge_repeated or self.ignore_longer_outputs_than_inputs:
        raise NotImplementedError("msjax offers CTCLoss with its default arguments only.")
    return ctc.ctc_loss_of_logits(x, labels_indices, labels_values, sequence_length)


name_classes(globals())
