"""Operator classes of losses."""

from __future__ import annotations

from msjax.common.tensor import Tensor
from msjax.common.typing import TensorLike
from msjax.core.base.checks import check_kind
from msjax.ops.function.math_func.arithmetic import true_divide
from msjax.ops.function.math_func.reduction import sum as reduce_sum
from msjax.ops.function.nn_func import classification, ctc, losses
from msjax.ops.primitive import Form

__all__ = [
    "SoftmaxCrossEntropyWithLogits", "BCEWithLogitsLoss", "BinaryCrossEntropy", "KLDivLoss", "SmoothL1Loss", "SoftMarginLoss",
    "MultilabelMarginLoss", "TripletMarginLoss", "CTCLossV2", "CTCGreedyDecoder", "SparseSoftmaxCrossEntropyWithLogits",
    "SigmoidCrossEntropyWithLogits", "MultiMarginLoss", "NLLLoss", "CTCLoss",
]  # fmt: skip


class _OfTarget(Form):
    def __call__(self, input: Tensor, target: Tensor) -> Tensor:
        return self._function(input, target, *self._attributes())


# fmt: off
class SoftmaxCrossEntropyWithLogits(Form): __call__ = staticmethod(classification.softmax_cross_entropy_and_gradient)
class SoftMarginLoss(_OfTarget, of=losses.soft_margin_loss): reduction: str = "mean"
class MultilabelMarginLoss(_OfTarget, of=classification.multilabel_margin_loss): reduction: str = "mean"
# fmt: on


class BCEWithLogitsLoss(Form, of=classification.binary_cross_entropy_with_logits):
    reduction: str = "mean"

    def __call__(self, input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None) -> Tensor:
        return classification.binary_cross_entropy_with_logits(input, target, weight, pos_weight, self.reduction)


class BinaryCrossEntropy(Form, of=classification.binary_cross_entropy):
    reduction: str = "mean"

    def __call__(self, logits: Tensor, labels: Tensor, weight: Tensor | None = None) -> Tensor:
        return classification.binary_cross_entropy(logits, labels, weight, self.reduction)


class KLDivLoss(Form, of=losses.kl_div):
    reduction: str = "mean"

    def __call__(self, logits: Tensor, labels: Tensor) -> Tensor:
        return losses.kl_div(logits, labels, self.reduction)


class SmoothL1Loss(_OfTarget, of=losses.smooth_l1_loss):
    beta: float = 1.0
    reduction: str = "none"


class TripletMarginLoss(Form, of=losses.triplet_margin_loss):
    p: int = 2
    swap: bool = False
    eps: float = 1e-6
    reduction: str = "mean"

    def __call__(self, anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0) -> Tensor:
        return losses.triplet_margin_loss(anchor, positive, negative, margin, self.p, self.eps, self.swap, self.reduction)


class CTCLossV2(Form, of=ctc.ctc_loss):
    blank: int = 0
    reduction: str = "none"
    zero_infinity: bool = False

    def __call__(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | tuple[Tensor, ...],
        target_lengths: Tensor | tuple[Tensor, ...],
    ) -> tuple[Tensor, Tensor]:
        return ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)


class CTCGreedyDecoder(Form, of=ctc.ctc_greedy_decoder):
    merge_repeated: bool = True

    def __call__(self, inputs: Tensor, sequence_length: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return ctc.ctc_greedy_decoder(inputs, sequence_length, self.merge_repeated)


class SparseSoftmaxCrossEntropyWithLogits(Form):
    """The mean cross entropy of logits (N, C) and class numbers (N,), or with `is_grad` its gradient."""

    is_grad: bool = False

    def __call__(self, logits: TensorLike, labels: TensorLike) -> Tensor:
        return classification.sparse_softmax_cross_entropy(logits, labels, bool(self.is_grad))


class SigmoidCrossEntropyWithLogits(Form):
    """Elementwise binary cross entropies of sigmoid(logits): ``ops.SigmoidCrossEntropyWithLogits()(logits, label)``."""

    def __call__(self, logits: TensorLike, label: TensorLike) -> Tensor:
        return classification.binary_cross_entropy_with_logits(logits, label, reduction="none")


class MultiMarginLoss(Form):
    """The margin loss of class scores (N, C) and class numbers (N,); see `ops.multi_margin_loss`."""

    p: int = 1
    margin: float = 1.0
    reduction: str = "mean"

    def __call__(self, x: TensorLike, target: TensorLike, weight: TensorLike | None = None) -> Tensor:
        return classification.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction)


class NLLLoss(Form):
    """The negative log likelihood loss and the sum of the weights; see `ops.nll_loss`."""

    reduction: str = "mean"
    ignore_index: int = -100

    def __call__(self, logits: TensorLike, labels: Tensor, weight: TensorLike) -> tuple[Tensor, Tensor]:
        check_kind(labels, labels.dtype.kind in "iu", "be integers", "the labels", "NLLLoss")
        summed = "sum" if self.reduction == "mean" else self.reduction
        loss = classification.nll_loss(logits, labels, weight, self.ignore_index, summed)
        total = reduce_sum(classification.weights_of(weight, labels, self.ignore_index))
        return (true_divide(loss, total) if self.reduction == "mean" else loss), total


class CTCLoss(Form):
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

    preprocess_collapse_repeated: bool = False
    ctc_merge_repeated: bool = True
    ignore_longer_outputs_than_inputs: bool = False

    def __call__(
        self, x: Tensor, labels_indices: Tensor, labels_values: Tensor, sequence_length: Tensor
    ) -> tuple[Tensor, Tensor]:
        if self.preprocess_collapse_repeated or not self.ctc_merge_repeated or self.ignore_longer_outputs_than_inputs:
            raise NotImplementedError("msjax offers CTCLoss with its default arguments only.")
        return ctc.ctc_loss_of_logits(x, labels_indices, labels_values, sequence_length)
