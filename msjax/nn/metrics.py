"""Metrics: numbers that say how good predictions are, gathered over batches. They are computed by numpy."""

import sys
from abc import ABCMeta, abstractmethod
from functools import wraps

import numpy as np

from msjax.common.tensor import Tensor
from msjax.errors import describe

__all__ = [
    "Accuracy",
    "F1",
    "Fbeta",
    "Loss",
    "MAE",
    "MSE",
    "Metric",
    "Perplexity",
    "Precision",
    "Recall",
    "Top1CategoricalAccuracy",
    "Top5CategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "rearrange_inputs",
]

_TINY = sys.float_info.min


def rearrange_inputs(func):
    """Decorator of `update`: it gets those of the inputs that `Metric.set_indexes` chose.

    Example:
        >>> from msjax import nn
        >>> class Count(nn.Metric):
        ...     def clear(self):
        ...         self.n = 0
        ...     @nn.rearrange_inputs
        ...     def update(self, *inputs):
        ...         self.n += len(inputs)
        ...     def eval(self):
        ...         return self.n
        >>> metric = Count().set_indexes([0, 2])
        >>> metric.clear()
        >>> metric.update(1, 2, 3)
        >>> metric.eval()
        2
    """

    @wraps(func)
    def wrapper(self, *inputs):
        chosen = self.indexes
        return func(self, *(inputs if not chosen else [inputs[i] for i in chosen]))

    return wrapper


class Metric(metaclass=ABCMeta):
    """The base of metrics: ``clear()`` starts anew, ``update(...)`` takes a batch, ``eval()`` gives the result.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> class Largest(nn.Metric):
        ...     def clear(self):
        ...         self.value = 0.0
        ...     def update(self, x):
        ...         self.value = max(self.value, float(self._convert_data(x).max()))
        ...     def eval(self):
        ...         return self.value
        >>> metric = Largest()
        >>> metric.clear()
        >>> metric.update(ms.Tensor([1.0, 3.0]))
        >>> metric.eval()
        3.0
    """

    def __init__(self):
        self._indexes = None

    @property
    def indexes(self):
        """The positions of the inputs that `update` uses; None for all."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes):
        """Choose, by position, the inputs that `update` uses; returns the metric.

        Raises:
            ValueError: no list of ints.
        """
        if not isinstance(indexes, list) or not all(isinstance(i, int) for i in indexes):
            raise ValueError(f"For 'set_indexes', 'indexes' should be a list of ints, but got {describe(indexes)}.")
        self._indexes = indexes
        return self

    def __call__(self, *inputs):
        """The metric of these inputs alone."""
        self.clear()
        self.update(*inputs)
        return self.eval()

    @abstractmethod
    def clear(self):
        """Forget all batches."""

    @abstractmethod
    def eval(self):
        """The result over the batches so far."""

    @abstractmethod
    def update(self, *inputs):
        """Take a batch."""

    def _convert_data(self, data):
        """A Tensor, list or array as an array."""
        if isinstance(data, Tensor):
            return data.asnumpy()
        if isinstance(data, (list, np.ndarray)):
            return np.array(data)
        raise TypeError(
            f"For '{type(self).__name__}', an input should be a Tensor, list or numpy array, but got {describe(data)}."
        )

    def _check_onehot_data(self, data):
        """True if the array is of 2 axes or more and one-hot along axis 1."""
        return data.ndim > 1 and bool(((data == 0) | (data == 1)).all() and (data.sum(axis=1) == 1).all())

    def _take(self, inputs, what=("predicted value", "true value")):
        """The inputs as arrays; ValueError unless there are as many as are named."""
        if len(inputs) != len(what):
            raise ValueError(
                f"For '{type(self).__name__}.update', {len(what)} inputs ({', '.join(what)}) are needed, but got {len(inputs)}."
            )
        return [self._convert_data(x) for x in inputs]

    def _need_samples(self, n):
        if n == 0:
            raise RuntimeError(f"'{type(self).__name__}' can't be computed of no samples; call 'update' with some before 'eval'.")


class _Classified(Metric):
    """What metrics of classes share: the two kinds of evaluation, and the shapes they take."""

    def __init__(self, eval_type="classification"):
        super().__init__()
        if eval_type not in ("classification", "multilabel"):
            raise TypeError(
                f"For '{type(self).__name__}', 'eval_type' should be 'classification' or 'multilabel', but got {eval_type!r}."
            )
        self._type = eval_type
        self._class_num = 0
        self.clear()

    def _labelled(self, inputs):
        """Predictions and labels as arrays, with labels as numbers for classification."""
        who = type(self).__name__
        y_pred, y = self._take(inputs)
        if self._type == "classification":
            if y_pred.ndim == y.ndim and self._check_onehot_data(y):
                y = y.argmax(axis=1)
            if y_pred.ndim != y.ndim + 1 or y.shape != (y_pred.shape[0], *y_pred.shape[2:]):
                raise ValueError(
                    f"For '{who}', predictions (batch, classes, ...) and labels (batch, ...) don't fit: their shapes are {y_pred.shape} and {y.shape}."
                )
        elif y_pred.shape != y.shape or not (_binary(y_pred) and _binary(y)):
            raise ValueError(
                f"For '{who}', predictions and labels should be zeros and ones of one shape, but have shapes {y_pred.shape} and {y.shape}."
            )
        if self._class_num == 0:
            self._class_num = y_pred.shape[1]
        elif y_pred.shape[1] != self._class_num:
            raise ValueError(
                f"For '{who}.update', earlier predictions were of {self._class_num} classes, but these are of {y_pred.shape[1]}."
            )
        return y_pred, y

    def _indicators(self, y_pred, y):
        """Predictions and labels as zeros and ones: (samples, classes), or (classes, samples) for several labels."""
        if self._type == "classification":
            eye = np.eye(self._class_num)
            return eye[y_pred.argmax(axis=1).reshape(-1)], eye[y.astype(np.int64).reshape(-1)]
        return [np.moveaxis(a, 1, -1).reshape(-1, self._class_num).T.astype(np.float64) for a in (y_pred, y)]


def _binary(array):
    return bool(((array == 0) | (array == 1)).all())


class Accuracy(_Classified):
    """The share of right predictions.

    Args:
        eval_type (str): "classification", where predictions (batch, classes) are scores and labels numbers or one-hot;
            or "multilabel", where both are zeros and ones and a sample is right if all its labels are.

    Raises:
        TypeError: another `eval_type`.
        ValueError: in `update`, inputs that don't fit.
        RuntimeError: in `eval`, no samples.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.Accuracy()
        >>> metric.update(ms.Tensor([[0.2, 0.8], [0.9, 0.1]]), ms.Tensor([1, 1]))
        >>> float(metric.eval())
        0.5
    """

    def clear(self):
        self._correct = self._total = 0
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs):
        y_pred, y = self._labelled(inputs)
        if self._type == "classification":
            right = (y_pred.argmax(axis=1) == y).reshape(-1)
        else:
            right = (np.moveaxis(y_pred == y, 1, -1).reshape(-1, self._class_num)).all(axis=1)
        self._correct += right.sum()
        self._total += right.shape[0]

    def eval(self):
        self._need_samples(self._total)
        return self._correct / self._total


class _ByClass(_Classified):
    """What Precision and Recall share: hits, divided by what each says."""

    def clear(self):
        self._hits = self._of = 0 if self._type == "classification" else np.empty(0)
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs):
        y_pred, y = self._indicators(*self._labelled(inputs))
        hits, of = (y_pred * y).sum(axis=0), self._counted(y_pred, y).sum(axis=0)
        if self._type == "classification":
            self._hits, self._of = self._hits + hits, self._of + of
        else:
            self._hits, self._of = np.concatenate([self._hits, hits]), np.concatenate([self._of, of])

    def eval(self, average=False):
        """The result by class (by sample for several labels), or, if `average`, its mean."""
        self._need_samples(self._class_num)
        result = self._hits / (self._of + _TINY)
        return result.mean() if average else result


class Precision(_ByClass):
    """Of the predictions of a class, the share that is right.

    Args:
        eval_type (str): "classification" or "multilabel", as in `Accuracy`.

    Raises:
        TypeError: another `eval_type`.
        ValueError: in `update`, inputs that don't fit.
        RuntimeError: in `eval`, no samples.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.Precision()
        >>> metric.update(ms.Tensor([[0.2, 0.8], [0.1, 0.9]]), ms.Tensor([1, 0]))
        >>> print(metric.eval())
        [0.  0.5]
    """

    def _counted(self, y_pred, y):
        return y_pred


class Recall(_ByClass):
    """Of the members of a class, the share that is found.

    Args:
        eval_type (str): "classification" or "multilabel", as in `Accuracy`.

    Raises:
        TypeError: another `eval_type`.
        ValueError: in `update`, inputs that don't fit.
        RuntimeError: in `eval`, no samples.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.Recall()
        >>> metric.update(ms.Tensor([[0.2, 0.8], [0.1, 0.9]]), ms.Tensor([1, 0]))
        >>> print(metric.eval())
        [0. 1.]
    """

    def _counted(self, y_pred, y):
        return y


class Fbeta(_Classified):
    """The weighted harmonic mean of precision and recall, by class.

    Args:
        beta (int or float): positive; the weight of recall.

    Raises:
        ValueError: `beta` is not positive; in `update`, inputs that don't fit.
        RuntimeError: in `eval`, no samples.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.Fbeta(1)
        >>> metric.update(ms.Tensor([[0.2, 0.8], [0.9, 0.1]]), ms.Tensor([1, 0]))
        >>> print(metric.eval())
        [1. 1.]
    """

    def __init__(self, beta):
        super().__init__()
        if not beta > 0:
            raise ValueError(f"For 'Fbeta', 'beta' should be positive, but got {beta}.")
        self.beta = beta

    def clear(self):
        self._hits = self._real = self._predicted = 0
        self._class_num = 0

    @rearrange_inputs
    def update(self, *inputs):
        y_pred, y = self._indicators(*self._labelled(inputs))
        self._hits = self._hits + (y_pred * y).sum(axis=0)
        self._real = self._real + y.sum(axis=0)
        self._predicted = self._predicted + y_pred.sum(axis=0)

    def eval(self, average=False):
        """The result by class, or, if `average`, its mean."""
        self._need_samples(self._class_num)
        square = self.beta**2
        result = (1 + square) * self._hits / (square * self._real + self._predicted + _TINY)
        return result.mean() if average else result


class F1(Fbeta):
    """The harmonic mean of precision and recall, by class.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.F1()
        >>> metric.update(ms.Tensor([[0.2, 0.8], [0.9, 0.1]]), ms.Tensor([1, 0]))
        >>> print(metric.eval())
        [1. 1.]
    """

    def __init__(self):
        super().__init__(1.0)


class TopKCategoricalAccuracy(Metric):
    """The share of samples whose label is among the k highest predictions.

    Args:
        k (int): at least 1, and at most the number of classes.

    Raises:
        TypeError: `k` is no int.
        ValueError: `k` is less than 1; in `update`, inputs that don't fit.
        RuntimeError: in `eval`, no samples.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.TopKCategoricalAccuracy(2)
        >>> metric.update(ms.Tensor([[0.2, 0.5, 0.3], [0.1, 0.3, 0.6]]), ms.Tensor([2, 0]))
        >>> float(metric.eval())
        0.5
    """

    def __init__(self, k):
        super().__init__()
        if not isinstance(k, int):
            raise TypeError(f"For '{type(self).__name__}', 'k' should be an int, but got {describe(k)}.")
        if k < 1:
            raise ValueError(f"For '{type(self).__name__}', 'k' should be at least 1, but got {k}.")
        self.k = k
        self.clear()

    def clear(self):
        self._correct = self._total = 0

    @rearrange_inputs
    def update(self, *inputs):
        y_pred, y = self._take(inputs)
        if y_pred.ndim == y.ndim and self._check_onehot_data(y):
            y = y.argmax(axis=1)
        if y_pred.ndim != 2 or y.shape != y_pred.shape[:1] or y_pred.shape[1] < self.k:
            raise ValueError(
                f"For '{type(self).__name__}.update', predictions (batch, classes), of at least {self.k} classes, and labels "
                f"(batch,) don't fit: their shapes are {y_pred.shape} and {y.shape}."
            )
        best = (-y_pred).argsort(axis=1, kind="stable")[:, : self.k]
        self._correct += (best == y[:, None]).sum()
        self._total += y.shape[0]

    def eval(self):
        self._need_samples(self._total)
        return self._correct / self._total


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of samples whose label has the highest prediction.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.Top1CategoricalAccuracy()
        >>> metric.update(ms.Tensor([[0.2, 0.8], [0.9, 0.1]]), ms.Tensor([1, 1]))
        >>> float(metric.eval())
        0.5
    """

    def __init__(self):
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """The share of samples whose label is among the five highest predictions.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn, ops
        >>> metric = nn.Top5CategoricalAccuracy()
        >>> metric.update(ops.ones((1, 5), ms.float32), ms.Tensor([3]))
        >>> float(metric.eval())
        1.0
    """

    def __init__(self):
        super().__init__(5)


class Loss(Metric):
    """The mean of losses, over batches.

    Raises:
        ValueError: in `update`, not one input.
        RuntimeError: in `eval`, no batches.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.Loss()
        >>> metric.update(ms.Tensor(2.0))
        >>> metric.update(ms.Tensor(4.0))
        >>> float(metric.eval())
        3.0
    """

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self):
        self._sum = self._total = 0

    @rearrange_inputs
    def update(self, *inputs):
        (loss,) = self._take(inputs, ("loss",))
        self._sum += np.float64(loss.mean())
        self._total += 1

    def eval(self):
        self._need_samples(self._total)
        return self._sum / self._total


class _Error(Metric):
    """What MAE and MSE share: a sum of errors, divided by the number of samples."""

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self):
        self._sum = self._total = 0

    @rearrange_inputs
    def update(self, *inputs):
        y_pred, y = self._take(inputs)
        self._sum += np.float64(self._error(y.reshape(y_pred.shape) - y_pred).sum())
        self._total += y.shape[0]

    def eval(self):
        self._need_samples(self._total)
        return self._sum / self._total


class MAE(_Error):
    """The sum of absolute errors, divided by the number of samples.

    Raises:
        ValueError: in `update`, inputs that don't fit.
        RuntimeError: in `eval`, no samples.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.MAE()
        >>> metric.update(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 4.0]))
        >>> float(metric.eval())
        1.0
    """

    def _error(self, difference):
        return np.abs(difference)


class MSE(_Error):
    """The sum of squared errors, divided by the number of samples.

    Raises:
        ValueError: in `update`, inputs that don't fit.
        RuntimeError: in `eval`, no samples.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.MSE()
        >>> metric.update(ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 4.0]))
        >>> float(metric.eval())
        2.0
    """

    def _error(self, difference):
        return np.square(difference)


class Perplexity(Metric):
    """exp of the mean of -log of the probabilities that were predicted for the labels.

    Args:
        ignore_label (int, optional): a label whose samples don't count.

    Raises:
        TypeError: `ignore_label` is no int.
        RuntimeError: in `update`, shapes that don't fit; in `eval`, no samples.

    Example:
        >>> import msjax as ms
        >>> from msjax import nn
        >>> metric = nn.Perplexity()
        >>> metric.update(ms.Tensor([[0.5, 0.5], [0.5, 0.5]]), ms.Tensor([1, 0]))
        >>> round(float(metric.eval()), 4)
        2.0
    """

    def __init__(self, ignore_label=None):
        super().__init__()
        if ignore_label is not None and (isinstance(ignore_label, bool) or not isinstance(ignore_label, int)):
            raise TypeError(f"For 'Perplexity', 'ignore_label' should be an int or None, but got {describe(ignore_label)}.")
        self.ignore_label = ignore_label
        self.clear()

    def clear(self):
        self._sum, self._total = 0.0, 0

    @rearrange_inputs
    def update(self, *inputs):
        probabilities, labels = self._take(inputs, ("probabilities", "labels"))
        if labels.shape != probabilities.shape[:-1]:
            raise RuntimeError(
                f"For 'Perplexity.update', probabilities (..., classes) and labels (...) don't fit: their shapes are "
                f"{probabilities.shape} and {labels.shape}."
            )
        labels = labels.reshape(-1).astype(np.int64)
        of_label = probabilities.reshape(-1, probabilities.shape[-1])[np.arange(labels.size), labels]
        counted = of_label if self.ignore_label is None else of_label[labels != self.ignore_label]
        self._sum -= np.log(np.maximum(1e-10, counted.astype(np.float64))).sum()
        self._total += counted.size

    def eval(self):
        self._need_samples(self._total)
        return float(np.exp(self._sum / self._total))
