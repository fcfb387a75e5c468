"""Loss layers."""

from msjax.errors import describe
from msjax.nn.cell import Cell
from msjax.ops import elementwise, reduction
from msjax.ops import losses as ops

__all__ = ["L1Loss", "LossBase", "MSELoss", "SoftmaxCrossEntropyWithLogits"]


class LossBase(Cell):
    """Base of losses: reduces elementwise losses with `get_loss`.

    Args:
        reduction (str): "mean" (the default), "sum" or "none".

    Raises:
        ValueError: another reduction.
    """

    def __init__(self, reduction="mean"):
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(
                f"For '{type(self).__name__}', 'reduction' should be 'mean', 'sum' or 'none', but got {describe(reduction)}."
            )
        self.reduction = reduction

    def get_axis(self, x):
        """All axes of a Tensor, as a tuple."""
        return tuple(range(x.ndim))

    def get_loss(self, x, weights=1.0):
        """Elementwise losses weighted and reduced."""
        x = elementwise.mul(x, weights)
        if self.reduction == "mean":
            return reduction.mean(x)
        return reduction.sum(x) if self.reduction == "sum" else x

    def construct(self, logits, labels):
        raise NotImplementedError(f"{type(self).__name__} defines no 'construct'.")


class MSELoss(LossBase):
    """(logits - labels) squared.

    Args:
        reduction (str): "mean" (the default), "sum" or "none".
    """

    def construct(self, logits, labels):
        return ops.mse_loss(logits, labels, self.reduction)


class L1Loss(LossBase):
    """|logits - labels|.

    Args:
        reduction (str): "mean" (the default), "sum" or "none".
    """

    def construct(self, logits, labels):
        return ops.l1_loss(logits, labels, self.reduction)


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross entropy of softmax(logits) with the labels.

    Args:
        sparse (bool): True for labels that are class numbers (N,), False for probabilities (N, C). Default: False.
        reduction (str): "none" (the default), "mean" or "sum".

    Inputs:
        - **logits** (Tensor) - of shape (N, C).
        - **labels** (Tensor) - integers of shape (N,), or floats of shape (N, C).

    Outputs:
        Tensor: a number, or with "none" of shape (N,).
    """

    def __init__(self, sparse=False, reduction="none"):
        super().__init__(reduction)
        self.sparse = sparse

    def construct(self, logits, labels):
        return ops.softmax_cross_entropy(logits, labels, self.sparse, self.reduction)
