"""Metrics of errors and losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from msjax.core.base.checks import check_int, check_value
from msjax.nn.metrics.metric import MeanMetric, rearrange_inputs

__all__ = ["Loss", "MAE", "MSE", "Perplexity"]


class _Error(MeanMetric):
    _size: ClassVar[Callable[..., Any]]

    @rearrange_inputs
    def update(self, *inputs):
        pred, label = self._pair(inputs)
        self._sum += float(self._size(label.reshape(pred.shape) - pred).sum())  # batches add up in double precision
        self._count += label.shape[0] if label.ndim else 1


class MAE(_Error):
    """The mean absolute error: the sum of absolute differences over the number of samples.

    Example:
        >>> from msjax import Tensor, train
        >>> print(train.MAE()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0])))
        1.0
    """

    _size = staticmethod(np.abs)


class MSE(_Error):
    """The mean square error: the sum of squared differences over the number of samples."""

    _size = staticmethod(np.square)


class Loss(MeanMetric):
    """The mean of losses; each batch counts once."""

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        self._check_inputs(inputs, 1, "loss")
        loss = self._convert_data(inputs[0])
        check_value(loss, loss.ndim <= 1, "have 0 or 1 axes", "the loss", "Loss.update")
        self._sum += float(loss.mean())
        self._count += 1


class Perplexity(MeanMetric):
    """exp of the mean negative logarithm of the probabilities of the true classes.

    Args:
        ignore_label (int, optional): a class that does not count.
    """

    def __init__(self, ignore_label: int | None = None):
        super().__init__()
        if ignore_label is not None:
            check_int(ignore_label, "ignore_label", "Perplexity")
        self.ignore_label = ignore_label

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        pred, label = self._pair(inputs)
        pred = pred.reshape(-1, pred.shape[-1])
        label = label.reshape(-1).astype(np.int64)
        if len(pred) != len(label):
            raise ValueError(f"For 'Perplexity.update', there are {len(pred)} predictions, but {len(label)} labels.")
        probability = pred[np.arange(len(label)), label]
        if self.ignore_label is not None:
            probability = probability[label != self.ignore_label]
        self._sum -= float(np.log(np.maximum(1e-10, probability)).sum())
        self._count += probability.size

    def eval(self) -> float:
        return math.exp(super().eval())
