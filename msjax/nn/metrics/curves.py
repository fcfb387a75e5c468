"""The receiver operating characteristic, and the area under a curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from msjax.common.typing import ArrayLike
from msjax.core.base.checks import check_bool, check_int, check_kind
from msjax.nn.metrics.metric import Metric, rearrange_inputs

__all__ = ["ROC", "auc"]


class ROC(Metric):
    """The receiver operating characteristic: how many false positives go with how many true ones, for all thresholds.

    Args:
        class_num (int, optional): the number of classes; None for two.
        pos_label (int, optional): which label is the positive one, for two classes. By default 1.
    """

    def __init__(self, class_num: int | None = None, pos_label: int | None = None):
        super().__init__()
        for name, value in (("class_num", class_num), ("pos_label", pos_label)):
            if value is not None:
                check_int(value, name, "ROC")
        self.class_num = class_num
        self.pos_label = pos_label
        self.clear()

    def clear(self) -> None:
        self._pred, self._label = [], []

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        pred, label = self._pair_of_axes(inputs)
        if pred.ndim == label.ndim:
            if self.class_num not in (None, 1) and not (pred.ndim > 1 and self.pos_label is None):
                raise ValueError("For 'ROC.update', predictions of several classes should have an axis of classes.")
            pred = pred.reshape(-1, 1)
        else:
            if self.class_num not in (None, pred.shape[1]):
                raise ValueError(
                    f"For 'ROC.update', {self.class_num} classes are expected, but the predictions have {pred.shape[1]}."
                )
            pred = np.moveaxis(pred, 1, -1).reshape(-1, pred.shape[1])
        self._pred.append(pred)
        self._label.append(label.reshape(-1))

    def eval(self) -> Any:
        """(false positive rates, true positive rates, thresholds): arrays, or for several classes lists of one each."""
        self._check_updated(self._pred)
        pred, label = np.concatenate(self._pred), np.concatenate(self._label)
        if pred.shape[1] == 1:
            return _curve(pred[:, 0], label == (1 if self.pos_label is None else self.pos_label))
        curves = [_curve(pred[:, c], label == c) for c in range(pred.shape[1])]
        return tuple(list(part) for part in zip(*curves))


def _curve(score, positive):
    order = np.argsort(-score, kind="stable")
    score, positive = score[order], positive[order]
    last = np.r_[np.nonzero(np.diff(score))[0], score.size - 1]
    true = np.cumsum(positive)[last]
    false = 1 + last - true
    thresholds = np.r_[score[last][:1] + 1, score[last]].astype(score.dtype)
    if false[-1] == 0 or true[-1] == 0:
        raise ValueError("For 'ROC', there should be samples of both kinds, positive and negative.")
    return np.r_[0, false] / false[-1], np.r_[0, true] / true[-1], thresholds


def auc(x: ArrayLike, y: ArrayLike, reorder: bool = False) -> float:
    """The area under a curve, by the trapezoidal rule.

    Args:
        x, y (array or list): the curve's points; `x` rises or falls throughout.
        reorder (bool): whether the points are put in order first. Default: False.

    Raises:
        TypeError: an argument of a wrong type.
        ValueError: fewer than two points, different lengths, or `x` neither rises nor falls.

    Example:
        >>> from msjax import train
        >>> train.auc([0.0, 0.5, 1.0], [0.0, 0.75, 1.0])
        0.625
    """
    for name, value in (("x", x), ("y", y)):
        check_kind(value, isinstance(value, (np.ndarray, list)), "be an array or list", name, "auc")
    check_bool(reorder, "reorder", "auc")
    x, y = np.asarray(x, np.float64).ravel(), np.asarray(y, np.float64).ravel()
    if x.size != y.size or x.size < 2:
        raise ValueError(f"For 'auc', 'x' and 'y' should have one length of at least 2, but got {x.size} and {y.size}.")
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    steps = np.diff(x)
    if not ((steps >= 0).all() or (steps <= 0).all()):
        raise ValueError("For 'auc', 'x' should rise or fall throughout; or give reorder=True.")
    area = float(np.trapezoid(y, x))
    return -area if (steps <= 0).all() and (steps < 0).any() else area
