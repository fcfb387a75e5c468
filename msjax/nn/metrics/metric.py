"""Metric: the base of metrics."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from msjax.common.tensor import Tensor
from msjax.core.base.checks import check_value
from msjax.core.base.errors import describe


class Metric:
    """Base of metrics. A subclass defines ``clear()``, ``update(*inputs)`` and ``eval()``.

    Example:
        >>> from msjax import Tensor, train
        >>> metric = train.Accuracy()
        >>> metric.clear()
        >>> metric.update(Tensor([[0.2, 0.8], [0.9, 0.1]]), Tensor([1, 1]))
        >>> print(metric.eval())
        0.5
    """

    def __init__(self):
        self._indexes = None

    def _convert_data(self, data) -> np.ndarray:
        """A Tensor, list or array as an array."""
        if isinstance(data, Tensor):
            return data.asnumpy()
        if isinstance(data, (list, tuple, int, float, np.ndarray, np.generic)):
            return np.asarray(data)
        raise TypeError(f"For '{type(self).__name__}', the data should be a Tensor, list or array, but got {describe(data)}.")

    @property
    def indexes(self) -> list[int] | None:
        """The selected arguments of `update`, in order; None for all."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: list[int]) -> Metric:
        """Select the arguments of `update`, in order; returns the metric.

        Args:
            indexes (list of int): their positions.

        Raises:
            ValueError: it is not a list of ints.
        """
        ints = isinstance(indexes, list) and all(isinstance(i, int) for i in indexes)
        self._indexes = check_value(indexes, ints, "be a list of ints", "indexes", "set_indexes")
        return self

    def __call__(self, *inputs: Any) -> np.generic:
        """The value for these inputs alone."""
        self.clear()
        self.update(*inputs)
        return self.eval()

    def clear(self) -> None:
        """Reset the metric."""
        raise NotImplementedError(f"{type(self).__name__} defines no 'clear'.")

    def update(self, *inputs: Any) -> Any:
        """Add a batch."""
        raise NotImplementedError(f"{type(self).__name__} defines no 'update'.")

    def eval(self) -> Any:
        """The value for all batches since `clear`."""
        raise NotImplementedError(f"{type(self).__name__} defines no 'eval'.")

    def _check_inputs(self, inputs, number, what):
        if len(inputs) != number:
            raise ValueError(f"For '{type(self).__name__}.update', {number} inputs ({what}) are expected, but got {len(inputs)}.")

    def _pair(self, inputs):
        """The two inputs of `update`, predictions and labels, as numpy arrays."""
        self._check_inputs(inputs, 2, "predicted value, true value")
        return self._convert_data(inputs[0]), self._convert_data(inputs[1])

    def _pair_of_axes(self, inputs):
        """The same, where predictions may have an axis of classes that labels lack."""
        pred, label = self._pair(inputs)
        if pred.ndim not in (label.ndim, label.ndim + 1):
            raise ValueError(
                f"For '{type(self).__name__}.update', predictions should have the labels' axes, or one more of classes, but got "
                f"{pred.shape} and {label.shape}."
            )
        return pred, label

    def _check_updated(self, updated: object) -> None:
        if not updated:
            raise RuntimeError(f"For '{type(self).__name__}', 'update' should be called before 'eval'.")

    def _nothing(self):
        return RuntimeError(
            f"For '{type(self).__name__}', there is nothing to evaluate: 'update' was not called, or with empty inputs only."
        )


class MeanMetric(Metric):
    """Base of metrics that are a sum over a count; `update` adds to `_sum` and `_count`."""

    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self) -> None:
        self._sum = 0.0
        self._count = 0

    def eval(self) -> float:
        if not self._count:
            raise self._nothing()
        return float(self._sum / self._count)


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of `Metric.update`: arguments are picked and ordered as `Metric.set_indexes` says."""

    @functools.wraps(func)
    def update(self, *inputs):
        indexes = self.indexes
        if not indexes:
            return func(self, *inputs)
        if len(inputs) <= max(indexes):
            raise ValueError(f"For '{type(self).__name__}.update', the indexes {indexes} reach beyond the {len(inputs)} inputs.")
        return func(self, *[inputs[i] for i in indexes])

    return update
