"""Classification metrics: accuracy, precision, recall, F-scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_kind, check_positive_int, check_same_shape, check_value, is_number
from msjax.nn.metrics.metric import MeanMetric, Metric, rearrange_inputs

__all__ = [
    "Accuracy", "F1", "Fbeta", "Precision", "Recall", "Top1CategoricalAccuracy", "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
]  # fmt: skip


class _Classification(Metric):
    """Common checks.

    Args:
        eval_type (str): "classification" or "multilabel".
    """

    def __init__(self, eval_type: str = "classification"):
        super().__init__()
        fits = eval_type in ("classification", "multilabel")
        self._type = check_kind(eval_type, fits, "be 'classification' or 'multilabel'", "eval_type", type(self).__name__)
        self._class_num = 0
        self.clear()

    def _arrays(self, inputs):
        """(predictions, labels) as arrays of 0 and 1, of shape (samples, classes)."""
        who = type(self).__name__
        pred, label = self._pair(inputs)
        if self._type == "multilabel":
            check_same_shape(pred, label, "multilabel inputs", f"{who}.update")
            if not all(set(np.unique(a)) <= {0, 1} for a in (pred, label)):
                raise ValueError(f"For '{who}.update', multilabel inputs should be of zeros and ones.")
        elif not (pred.ndim == label.ndim and pred.shape == label.shape) and not (
            pred.ndim == label.ndim + 1 and (pred.shape[0], *pred.shape[2:]) == label.shape
        ):
            raise ValueError(
                f"For '{who}.update', the labels should have the predictions' shape, or that without axis 1, but got {pred.shape} "
                f"and {label.shape}."
            )
        if pred.ndim < 2:
            raise ValueError(f"For '{who}.update', predictions should have an axis of classes, but their shape is {pred.shape}.")
        classes = pred.shape[1]
        if self._class_num not in (0, classes):
            raise ValueError(f"For '{who}.update', there were {self._class_num} classes before, but now there are {classes}.")
        self._class_num = classes
        if self._type == "classification":
            if label.ndim == pred.ndim:
                label = label.argmax(axis=1)
            if label.size and not 0 <= label.min() <= label.max() < classes:
                raise ValueError(
                    f"For '{who}.update', labels should be in [0, {classes}), but got {label.min()} to {label.max()}."
                )
            eye = np.eye(classes, dtype=np.int64)
            return eye[pred.argmax(axis=1).ravel()], eye[label.astype(np.int64).ravel()]
        by_class = (np.moveaxis(a, 1, -1).reshape(-1, classes).astype(np.int64) for a in (pred, label))
        return tuple(by_class)


class Accuracy(_Classification, MeanMetric):
    """The share of samples that are predicted right.

    Args:
        eval_type (str): "classification" for classes; "multilabel" for zeros and ones, which all have to be right.
            Default: "classification".

    Example:
        >>> from msjax import Tensor, train
        >>> print(train.Accuracy()(Tensor([[0.2, 0.8], [0.9, 0.1]]), Tensor([1, 1])))
        0.5
    """

    def clear(self) -> None:
        super().clear()
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        pred, label = self._arrays(inputs)
        self._sum += int((pred == label).all(axis=1).sum())
        self._count += len(pred)


class _ByClass(_Classification):
    """Counts of true positives, of predictions and of labels: of each class, or in the multilabel case of each sample."""

    def clear(self):
        self._true = self._positive = self._actual = np.zeros(0)
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs):
        started = self._class_num > 0
        pred, label = self._arrays(inputs)
        axis = 1 if self._type == "multilabel" else 0
        counts = [a.sum(axis=axis) for a in (pred * label, pred, label)]
        before = self._true, self._positive, self._actual
        if self._type == "multilabel":
            counts = [np.concatenate([old, new]) for old, new in zip(before, counts)]
        elif started:
            counts = [old + new for old, new in zip(before, counts)]
        self._true, self._positive, self._actual = counts

    def _evaluated(self, top, below, average):
        if not self._class_num:
            raise self._nothing()
        check_bool(average, "average", f"{type(self).__name__}.eval")
        result = np.divide(top, below, out=np.zeros(len(top)), where=below != 0)
        return float(result.mean()) if average else result


class Precision(_ByClass):
    """Of each class, the share of predictions that are right.

    Args:
        eval_type (str): "classification" or "multilabel". Default: "classification".
    """

    def eval(self, average: bool = False) -> Any:
        """The precision of each class (multilabel: of each sample), or with `average` their mean."""
        return self._evaluated(self._true, self._positive, average)


class Recall(_ByClass):
    """Of each class, the share of samples that are found.

    Args:
        eval_type (str): "classification" or "multilabel". Default: "classification".
    """

    def eval(self, average: bool = False) -> Any:
        """The recall of each class (multilabel: of each sample), or with `average` their mean."""
        return self._evaluated(self._true, self._actual, average)


class Fbeta(_ByClass):
    """The weighted harmonic mean of precision and recall.

    Args:
        beta (float): the weight of recall, positive.
    """

    def __init__(self, beta: float):
        self.beta: float = check_value(beta, is_number(beta) and beta > 0, "be greater than 0", "beta", type(self).__name__)
        super().__init__()

    def eval(self, average: bool = False) -> Any:
        """The scores, or with `average` their mean."""
        square = self.beta**2
        return self._evaluated((1 + square) * self._true, square * self._actual + self._positive, average)


class F1(Fbeta):
    """The harmonic mean of precision and recall."""

    def __init__(self):
        super().__init__(1.0)


class TopKCategoricalAccuracy(MeanMetric):
    """The share of samples whose class is among the k largest predictions.

    Args:
        k (int): how many count.

    Raises:
        TypeError: `k` is not an int.
        ValueError: `k` is less than one.
    """

    def __init__(self, k: int):
        super().__init__()
        self.k: int = check_positive_int(k, "k", "TopKCategoricalAccuracy")

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        pred, label = self._pair(inputs)
        if pred.ndim == label.ndim:
            label = label.argmax(axis=1)
        best = np.argsort(-pred, axis=1, kind="stable")[:, : self.k]
        self._sum += int((best == label.reshape(-1, 1)).any(axis=1).sum())
        self._count += label.size


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of samples whose class is the largest prediction."""

    def __init__(self):
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of samples whose class is among the five largest predictions."""

    def __init__(self):
        super().__init__(5)
