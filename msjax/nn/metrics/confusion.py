"""The confusion matrix and the measures derived from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from msjax.core.base.checks import check_bool, check_float, check_int, check_one_of, check_type, check_value
from msjax.nn.metrics.metric import Metric, rearrange_inputs

__all__ = ["ConfusionMatrix", "ConfusionMatrixMetric"]


class ConfusionMatrix(Metric):
    """How often each class (row) was predicted as each class (column).

    Args:
        num_classes (int): the number of classes.
        normalize (str): "no_norm" for counts; "target" for shares of rows, "prediction" of columns, "all" of all.
            Default: "no_norm".
        threshold (float): from which on a prediction of two classes counts as one. Default: 0.5.
    """

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5):
        super().__init__()
        check_int(num_classes, "num_classes", "ConfusionMatrix")
        check_one_of(normalize, ("no_norm", "target", "prediction", "all"), "normalize", "ConfusionMatrix")
        check_float(threshold, "threshold", "ConfusionMatrix")
        self.num_classes, self.normalize, self.threshold = num_classes, normalize, threshold
        self.clear()

    def clear(self) -> None:
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))
        self._updated = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        pred, label = self._pair_of_axes(inputs)
        if pred.ndim == label.ndim + 1:
            pred = pred.argmax(axis=1)
        elif pred.dtype.kind == "f":
            pred = pred >= self.threshold
        pair = label.ravel().astype(np.int64) * self.num_classes + pred.ravel().astype(np.int64)
        counts = np.bincount(pair, minlength=self.num_classes**2)
        if len(counts) > self.num_classes**2:
            raise ValueError(f"For 'ConfusionMatrix.update', classes should be less than {self.num_classes}.")
        self.confusion_matrix += counts.reshape(self.num_classes, self.num_classes)
        self._updated = True

    def eval(self) -> np.ndarray:
        self._check_updated(self._updated)
        matrix = self.confusion_matrix
        if self.normalize == "no_norm":
            return matrix.copy()
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        total = matrix.sum(axis=axis, keepdims=True)
        return np.divide(matrix, total, out=np.zeros_like(matrix), where=total != 0)


_NAMES = {
    "sensitivity": "tpr", "recall": "tpr", "hit rate": "tpr", "true positive rate": "tpr", "tpr": "tpr",
    "specificity": "tnr", "selectivity": "tnr", "true negative rate": "tnr", "tnr": "tnr",
    "precision": "ppv", "positive predictive value": "ppv", "ppv": "ppv",
    "negative predictive value": "npv", "npv": "npv",
    "miss rate": "fnr", "false negative rate": "fnr", "fnr": "fnr",
    "fall out": "fpr", "false positive rate": "fpr", "fpr": "fpr",
    "false discovery rate": "fdr", "fdr": "fdr",
    "false omission rate": "for", "for": "for",
    "prevalence threshold": "pt", "pt": "pt",
    "threat score": "ts", "critical success index": "ts", "ts": "ts", "csi": "ts",
    "accuracy": "acc", "acc": "acc",
    "balanced accuracy": "ba", "ba": "ba",
    "f1 score": "f1", "f1": "f1",
    "matthews correlation coefficient": "mcc", "mcc": "mcc",
    "fowlkes mallows index": "fm", "fm": "fm",
    "informedness": "bm", "bookmaker informedness": "bm", "bm": "bm",
    "markedness": "mk", "deltap": "mk", "mk": "mk",
}  # fmt: skip


def _ratio(top, below):
    top, below = np.broadcast_arrays(np.asarray(top, np.float64), np.asarray(below, np.float64))
    return np.divide(top, below, out=np.full(top.shape, np.nan), where=below != 0)


def _measure(name, counts):
    """A measure of counts, whose last axis holds true positives, false positives, true negatives, false negatives."""
    tp, fp, tn, fn = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    tpr, tnr, ppv, npv = _ratio(tp, tp + fn), _ratio(tn, tn + fp), _ratio(tp, tp + fp), _ratio(tn, tn + fn)
    simple = {
        "tpr": (tp, tp + fn), "tnr": (tn, tn + fp), "ppv": (tp, tp + fp), "npv": (tn, tn + fn), "fnr": (fn, tp + fn),
        "fpr": (fp, fp + tn), "fdr": (fp, fp + tp), "for": (fn, fn + tn), "ts": (tp, tp + fn + fp),
        "acc": (tp + tn, tp + tn + fp + fn), "f1": (2 * tp, 2 * tp + fn + fp),
        "mcc": (tp * tn - fp * fn, np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))),
        "pt": (np.sqrt(tpr * (1 - tnr)) + tnr - 1, tpr + tnr - 1),
    }  # fmt: skip
    if name in simple:
        return _ratio(*simple[name])
    return {"ba": (tpr + tnr) / 2, "fm": np.sqrt(ppv * tpr), "bm": tpr + tnr - 1, "mk": ppv + npv - 1}[name]


def _reduce(values, how):
    """(reduced, number of values that count) of an array of shape (samples, channels); NaN doesn't count."""
    there = ~np.isnan(values)
    values = np.where(there, values, 0.0)

    def mean(v, n, axis):
        count = n.sum(axis=axis)
        return np.where(count > 0, v.sum(axis=axis) / np.maximum(count, 1), 0.0), (count > 0).astype(np.float64)

    if how == "mean":
        by_sample, counts = mean(values, there.astype(np.float64), 1)
        reduced, _ = mean(by_sample, counts, 0)
        return reduced, (counts > 0).sum()
    if how == "sum":
        return values.sum(), there.sum()
    axis = {"mean_batch": 0, "sum_batch": 0, "mean_channel": 1, "sum_channel": 1}.get(how)
    if axis is None:
        return values, there
    reduced = mean(values, there.astype(np.float64), axis)[0] if how.startswith("mean") else values.sum(axis=axis)
    return reduced, there.sum(axis=axis)


class ConfusionMatrixMetric(Metric):
    """A measure of true and false positives and negatives.

    Args:
        skip_channel (bool): False leaves the first class out, if there are several; True counts all. (The name says the opposite; this is what
            MindSpore 2.10 computes.) Default: True.
        metric_name (str): such as "sensitivity", "specificity", "precision", "f1 score", "accuracy" or
            "matthews correlation coefficient". Default: "sensitivity".
        calculation_method (bool): True for the measure of each sample, then their mean; False for the measure of all
            counted together. Default: False.
        decrease (str): how samples and classes are reduced: "none", "mean", "sum", "mean_batch", "sum_batch",
            "mean_channel" or "sum_channel". Default: "mean".

    Inputs of `update` are zeros and ones, of shape (samples, classes, ...).
    """

    def __init__(
        self,
        skip_channel: bool = True,
        metric_name: str = "sensitivity",
        calculation_method: bool = False,
        decrease: str = "mean",
    ):
        super().__init__()
        for name, value in (("skip_channel", skip_channel), ("calculation_method", calculation_method)):
            check_bool(value, name, "ConfusionMatrixMetric")
        check_type(metric_name, str, "metric_name", "ConfusionMatrixMetric")
        measure = _NAMES.get(metric_name.replace("_", " ").strip().lower())
        if measure is None:
            raise NotImplementedError(
                f"For 'ConfusionMatrixMetric', there is no measure {metric_name!r}; there are {', '.join(_NAMES)}."
            )
        ways = ("none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel")
        check_value(decrease, decrease in ways, f"be one of {', '.join(ways)}", "decrease", "ConfusionMatrixMetric")
        self.skip_channel, self.metric_name = skip_channel, metric_name
        self.calculation_method, self.decrease = calculation_method, decrease
        self._measure = measure
        self.clear()

    def clear(self) -> None:
        self._total = 0.0
        self._count = 0
        self._updated = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        pred, label = self._pair(inputs)
        if pred.shape != label.shape or pred.ndim < 2:
            raise ValueError(
                "For 'ConfusionMatrixMetric.update', both inputs should have one shape of at least two axes, but got "
                f"{pred.shape} and {label.shape}."
            )
        if not self.skip_channel and pred.shape[1] > 1:
            pred, label = pred[:, 1:], label[:, 1:]
        pred, label = (a.reshape(*a.shape[:2], -1).astype(bool) for a in (pred, label))
        counts = np.stack([(a & b).sum(axis=2) for a, b in ((pred, label), (pred, ~label), (~pred, ~label), (~pred, label))], -1)
        self._updated = True
        if self.calculation_method:
            value, count = _reduce(_measure(self._measure, counts), self.decrease)
            self._total = self._total + value * count
            self._count = self._count + count
        else:
            self._total = self._total + counts.sum(axis=(0, 1))

    def eval(self) -> Any:
        """An array of one number; with `calculation_method`, a number, or an array that `decrease` leaves."""
        self._check_updated(self._updated)
        if not self.calculation_method:
            return _measure(self._measure, self._total[None])
        value = np.divide(self._total, self._count, out=np.zeros(np.shape(self._total)), where=np.asarray(self._count) > 0)
        return float(value) if np.ndim(value) == 0 else value
