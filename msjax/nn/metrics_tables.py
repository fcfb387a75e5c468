"""Metrics of pairs and curves, and metrics by name."""

import numpy as np

from msjax.errors import describe
from msjax.nn import metrics
from msjax.nn.metrics import Metric, rearrange_inputs

__all__ = ["ConfusionMatrix", "CosineSimilarity", "Dice", "ROC", "auc", "get_metric_fn", "get_metrics", "names"]


class ConfusionMatrix(Metric):
    """How often a sample of one class (row) was taken for one of another (column).

    Args:
        num_classes (int): the number of classes.
        normalize (str): "no_norm" for counts, "target" for shares of a row, "prediction" of a column, "all" of all.
        threshold (float): predictions of the shape of the labels are taken for class 1 from here on. Default: 0.5.

    Raises:
        TypeError: a wrong type of an argument.
        ValueError: another `normalize`; in `update`, inputs that don't fit.
        RuntimeError: in `eval`, no samples.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.ConfusionMatrix(2)
        >>> metric.update(ms.Tensor([[0.2, 0.8], [0.1, 0.9]]), ms.Tensor([1, 0]))
        >>> print(metric.eval())
        [[0. 1.]
         [0. 1.]]
    """

    def __init__(self, num_classes, normalize="no_norm", threshold=0.5):
        super().__init__()
        if isinstance(num_classes, bool) or not isinstance(num_classes, int):
            raise TypeError(f"For 'ConfusionMatrix', 'num_classes' should be an int, but got {describe(num_classes)}.")
        if normalize not in ("no_norm", "target", "prediction", "all", None):
            raise ValueError(
                f"For 'ConfusionMatrix', 'normalize' should be 'no_norm', 'target', 'prediction' or 'all', but got {normalize!r}."
            )
        if not isinstance(threshold, float):
            raise TypeError(f"For 'ConfusionMatrix', 'threshold' should be a float, but got {describe(threshold)}.")
        self.num_classes = num_classes
        self.normalize = normalize
        self.threshold = threshold
        self.clear()

    def clear(self):
        self.confusion_matrix = np.zeros((self.num_classes, self.num_classes))
        self._updated = False

    @rearrange_inputs
    def update(self, *inputs):
        y_pred, y = self._take(inputs)
        if y_pred.ndim == y.ndim + 1:
            y_pred = y_pred.argmax(axis=1)
        elif y_pred.dtype.kind == "f":
            y_pred = (y_pred >= self.threshold).astype(np.int64)
        if y_pred.shape != y.shape:
            raise ValueError(
                f"For 'ConfusionMatrix.update', the inputs don't fit: their shapes are {y_pred.shape} and {y.shape}."
            )
        np.add.at(self.confusion_matrix, (y.astype(np.int64).reshape(-1), y_pred.reshape(-1)), 1)
        self._updated = True

    def eval(self):
        self._need_samples(int(self._updated))
        matrix = self.confusion_matrix
        if self.normalize in ("no_norm", None):
            return matrix
        axis = {"target": 1, "prediction": 0, "all": None}[self.normalize]
        total = matrix.sum(axis=axis, keepdims=True)
        # A class without samples has no shares: zeros, not nan.
        return np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)


class CosineSimilarity(Metric):
    """The similarity of each pair of rows of a matrix.

    Args:
        similarity (str): "cosine" or "dot". Default: "cosine".
        reduction (str): "none" for the matrix of all pairs, "sum" or "mean" over each row of it. Default: "none".
        zero_diagonal (bool): whether a row's similarity with itself counts as 0. Default: True.

    Raises:
        TypeError: `zero_diagonal` is no bool.
        ValueError: another `similarity` or `reduction`.
        RuntimeError: in `eval`, no input.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.CosineSimilarity()
        >>> metric.update(ms.Tensor([[3.0, 4.0], [6.0, 8.0]]))
        >>> print(metric.eval())
        [[0. 1.]
         [1. 0.]]
    """

    def __init__(self, similarity="cosine", reduction="none", zero_diagonal=True):
        super().__init__()
        if similarity not in ("dot", "cosine"):
            raise ValueError(f"For 'CosineSimilarity', 'similarity' should be 'dot' or 'cosine', but got {similarity!r}.")
        if reduction not in ("none", "sum", "mean"):
            raise ValueError(f"For 'CosineSimilarity', 'reduction' should be 'none', 'sum' or 'mean', but got {reduction!r}.")
        if not isinstance(zero_diagonal, bool):
            raise TypeError(f"For 'CosineSimilarity', 'zero_diagonal' should be a bool, but got {describe(zero_diagonal)}.")
        self.similarity = similarity
        self.reduction = reduction
        self.zero_diagonal = zero_diagonal
        self.clear()

    def clear(self):
        self._matrix = None

    @rearrange_inputs
    def update(self, inputs):
        rows = self._convert_data(inputs)
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, ord=2, axis=1)[:, None]
        self._matrix = rows @ rows.T
        if self.zero_diagonal:
            np.fill_diagonal(self._matrix, 0)

    def eval(self):
        self._need_samples(0 if self._matrix is None else 1)
        if self.reduction == "none":
            return self._matrix
        return getattr(np, self.reduction)(self._matrix, axis=-1)


class Dice(Metric):
    """Twice the overlap of prediction and label, divided by their sizes together; by sample.

    Args:
        smooth (float): added to the sizes. Default: 1e-5.

    Raises:
        ValueError: in `update`, inputs of different shapes.
        RuntimeError: in `eval`, no samples.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.Dice()
        >>> metric.update(ms.Tensor([[1.0, 0.0]]), ms.Tensor([[1.0, 1.0]]))
        >>> round(float(metric.eval()), 3)
        0.667
    """

    def __init__(self, smooth=1e-5):
        super().__init__()
        self.smooth = float(smooth)
        self.clear()

    def clear(self):
        self._sum = self._total = 0

    @rearrange_inputs
    def update(self, *inputs):
        y_pred, y = self._take(inputs)
        if y_pred.shape != y.shape:
            raise ValueError(
                f"For 'Dice.update', the inputs should have one shape, but their shapes are {y_pred.shape} and {y.shape}."
            )
        overlap = np.dot(y_pred.reshape(-1), y.reshape(-1))
        sizes = np.square(y_pred).sum() + np.square(y).sum()
        self._sum += 2 * float(overlap) / (float(sizes) + self.smooth)
        self._total += y.shape[0]

    def eval(self):
        self._need_samples(self._total)
        return self._sum / self._total


class ROC(Metric):
    """The curve of false and true positive rates over thresholds.

    Args:
        class_num (int, optional): the number of classes; None for two, whose predictions are one score.
        pos_label (int, optional): with two classes, the label of the positive one. Default: None, for 1.

    Raises:
        TypeError: a wrong type of an argument.
        ValueError: in `eval`, labels are all positive or all negative; in `update`, inputs that don't fit.
        RuntimeError: in `eval`, no samples.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.ROC(pos_label=1)
        >>> metric.update(ms.Tensor([0.9, 0.6, 0.2]), ms.Tensor([1, 0, 0]))
        >>> false_rate, true_rate, thresholds = metric.eval()
        >>> print(false_rate, true_rate)
        [0.  0.  0.5 1. ] [0. 1. 1. 1.]
    """

    def __init__(self, class_num=None, pos_label=None):
        super().__init__()
        for value, name in ((class_num, "class_num"), (pos_label, "pos_label")):
            if value is not None and not isinstance(value, int):
                raise TypeError(f"For 'ROC', '{name}' should be an int or None, but got {describe(value)}.")
        self.class_num = 1 if class_num is None else class_num
        self.pos_label = 1 if pos_label is None else pos_label
        self.clear()

    def clear(self):
        self._scores, self._labels = [], []

    @rearrange_inputs
    def update(self, *inputs):
        y_pred, y = self._take(inputs)
        if self.class_num > 1:
            if y_pred.ndim != y.ndim + 1 or y_pred.shape[1] != self.class_num:
                raise ValueError(
                    f"For 'ROC.update', predictions (batch, {self.class_num}) and labels don't fit: {y_pred.shape}, {y.shape}."
                )
            y_pred = np.moveaxis(y_pred, 1, -1).reshape(-1, self.class_num)
        elif y_pred.size != y.size:
            raise ValueError(
                f"For 'ROC.update', predictions and labels should be as many, but their shapes are {y_pred.shape} and {y.shape}."
            )
        else:
            y_pred = y_pred.reshape(-1, 1)
        self._scores.append(y_pred)
        self._labels.append(y.reshape(-1))

    def eval(self):
        self._need_samples(len(self._scores))
        scores, labels = np.concatenate(self._scores), np.concatenate(self._labels)
        if self.class_num == 1:
            return _curve(scores[:, 0], labels == self.pos_label)
        curves = [_curve(scores[:, c], labels == c) for c in range(self.class_num)]
        return tuple(list(part) for part in zip(*curves))


def _curve(scores, positive):
    """False and true positive rates, and the thresholds at which they change."""
    order = np.argsort(-scores, kind="stable")
    scores, positive = scores[order], positive[order]
    last = np.append(np.nonzero(np.diff(scores))[0], scores.size - 1)
    hits = np.cumsum(positive)[last]
    misses = 1 + last - hits
    if hits[-1] == 0 or misses[-1] == 0:
        raise ValueError("For 'ROC.eval', there should be positive and negative samples, but there are only ones of one kind.")
    hits, misses = np.insert(hits, 0, 0), np.insert(misses, 0, 0)
    thresholds = np.insert(scores[last], 0, scores[0] + 1)
    return misses / misses[-1], hits / hits[-1], thresholds


def auc(x, y, reorder=False):
    """The area under a curve, by trapezoids.

    Args:
        x, y (numpy.ndarray): the points, with x in order, up or down.
        reorder (bool): whether points are put in order first. Default: False.

    Raises:
        TypeError: the points are no arrays.
        ValueError: there are less than two, or `x` is not in order.

    Example:
        >>> import numpy as np
        >>> from msjax import nn
        >>> nn.auc(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
        0.5
    """
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        raise TypeError(f"For 'auc', 'x' and 'y' should be numpy arrays, but got {describe(x)} and {describe(y)}.")
    if x.ndim != 1 or x.shape != y.shape or x.shape[0] < 2:
        raise ValueError(f"For 'auc', 'x' and 'y' should be two points or more, but their shapes are {x.shape} and {y.shape}.")
    direction = 1
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    elif (np.diff(x) < 0).any():
        if not (np.diff(x) <= 0).all():
            raise ValueError(f"For 'auc', 'x' should be in order, up or down, but got {x}; reorder=True puts it in order.")
        direction = -1
    return float(direction * ((y[1:] + y[:-1]) / 2 * np.diff(x)).sum())


_BY_NAME = {
    "F1": metrics.F1,
    "acc": metrics.Accuracy,
    "accuracy": metrics.Accuracy,
    "auc": auc,
    "confusion_matrix": ConfusionMatrix,
    "cosine_similarity": CosineSimilarity,
    "dice": Dice,
    "loss": metrics.Loss,
    "mae": metrics.MAE,
    "mse": metrics.MSE,
    "perplexity": metrics.Perplexity,
    "precision": metrics.Precision,
    "recall": metrics.Recall,
    "roc": ROC,
    "top_1_accuracy": metrics.Top1CategoricalAccuracy,
    "top_5_accuracy": metrics.Top5CategoricalAccuracy,
    "topk": metrics.TopKCategoricalAccuracy,
}


def names():
    """The names that `get_metric_fn` knows.

    Example:
        >>> from msjax import nn
        >>> "accuracy" in nn.names()
        True
    """
    return list(_BY_NAME)


def get_metric_fn(name, *args, **kwargs):
    """A metric by its name, made with the other arguments.

    Raises:
        KeyError: there is none of this name.

    Example:
        >>> from msjax import nn
        >>> type(nn.get_metric_fn("precision", eval_type="classification")).__name__
        'Precision'
    """
    if name not in _BY_NAME:
        raise KeyError(f"There is no metric {name!r}; there are {', '.join(_BY_NAME)}.")
    return _BY_NAME[name](*args, **kwargs)


def get_metrics(metrics):
    """The metrics of a dict of Metrics, or of a set of names, as a dict; None for None.

    Raises:
        TypeError: anything else.

    Example:
        >>> from msjax import nn
        >>> list(nn.get_metrics({"mse"}))
        ['mse']
    """
    if metrics is None:
        return None
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(name, str) or not isinstance(metric, Metric):
                raise TypeError(
                    f"For 'get_metrics', a dict should map names to Metrics, but got {describe(name)}: {describe(metric)}."
                )
        return metrics
    if isinstance(metrics, set):
        return {name: get_metric_fn(name) for name in metrics}
    raise TypeError(f"For 'get_metrics', 'metrics' should be a dict, a set or None, but got {describe(metrics)}.")
