"""Distances between the surfaces of a predicted and a true segmentation, in images and volumes."""

from __future__ import annotations

import numpy as np

from msjax.core.base.checks import check_bool, check_kind, check_one_of, is_number
from msjax.core.base.errors import describe
from msjax.nn.metrics.metric import Metric, rearrange_inputs

__all__ = ["HausdorffDistance", "MeanSurfaceDistance", "RootMeanSquareDistance"]


def _outline(mask) -> np.ndarray:
    from scipy import ndimage

    return mask & ~ndimage.binary_erosion(mask)


def _distances(start, end, metric) -> np.ndarray:
    """From each point of one outline to the nearest of the other."""
    from scipy import ndimage

    if not end.any():
        return np.full(int(start.sum()), np.inf)
    if metric == "euclidean":
        return ndimage.distance_transform_edt(~end)[start]  # pyright: ignore[reportOptionalSubscript]
    return ndimage.distance_transform_cdt(~end, metric=metric)[start]  # pyright: ignore[reportOptionalSubscript]


class _Surface(Metric):
    def __init__(self, distance_metric: str):
        super().__init__()
        check_one_of(distance_metric, ("euclidean", "chessboard", "taxicab"), "distance_metric", type(self).__name__)
        self.distance_metric = distance_metric
        self.clear()

    def clear(self):
        self._pred = self._label = None

    @rearrange_inputs
    def update(self, *inputs):
        """Take a prediction, the truth, and the label to compare; a later call replaces an earlier one."""
        self._check_inputs(inputs, 3, "predicted value, true value, label")
        who = type(self).__name__
        pred, truth = self._convert_data(inputs[0]), self._convert_data(inputs[1])
        label = inputs[2]
        check_kind(label, is_number(label), "be a number", "the label", f"{who}.update")
        if pred.size == 0 or pred.shape != truth.shape:
            raise ValueError(f"For '{who}.update', both masks should have one shape, but got {pred.shape} and {truth.shape}.")
        if label not in pred and label not in truth:
            raise ValueError(f"For '{who}.update', the label {label} is neither in the predicted nor in the true value.")
        self._pred, self._label = _outline(pred == label), _outline(truth == label)

    def _way(self, back=False):
        self._check_updated(self._pred is not None)
        pair = (self._label, self._pred) if back else (self._pred, self._label)
        return _distances(*pair, self.distance_metric)


class HausdorffDistance(_Surface):
    """The largest distance from a point of one outline to the other outline.

    Args:
        distance_metric (str): "euclidean", "chessboard" or "taxicab". Default: "euclidean".
        percentile (float, optional): this percentile of the distances in the place of the largest; 0 to 100.
        directed (bool): whether only the way from the prediction to the truth counts. Default: False.
        crop (bool): accepted for compatibility with MindSpore; the result is the same.
    """

    def __init__(
        self, distance_metric: str = "euclidean", percentile: float | None = None, directed: bool = False, crop: bool = True
    ):
        for name, value in (("directed", directed), ("crop", crop)):
            check_bool(value, name, "HausdorffDistance")
        if percentile is not None and not (isinstance(percentile, (int, float)) and 0 <= percentile <= 100):
            raise ValueError(f"For 'HausdorffDistance', 'percentile' should be from 0 to 100, but got {describe(percentile)}.")
        self.percentile, self.directed, self.crop = percentile, directed, crop
        super().__init__(distance_metric)

    def eval(self) -> float:
        ways = [self._way()] if self.directed else [self._way(), self._way(back=True)]
        return float(max(self._largest(way) for way in ways))

    def _largest(self, distances):
        if not distances.size:
            return np.inf
        return distances.max() if self.percentile is None else np.percentile(distances, self.percentile)


class MeanSurfaceDistance(_Surface):
    """The mean distance from the points of the predicted outline to the true one.

    Args:
        symmetric (bool): whether the mean with that of the other way is taken. Default: False.
        distance_metric (str): "euclidean", "chessboard" or "taxicab". Default: "euclidean".
    """

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean"):
        self.symmetric: bool = check_bool(symmetric, "symmetric", type(self).__name__)
        super().__init__(distance_metric)

    def eval(self) -> float:
        mean = self._mean(self._way())
        return float((mean + self._mean(self._way(back=True))) / 2 if self.symmetric else mean)

    def _mean(self, distances):
        return distances.mean() if distances.size else np.inf


class RootMeanSquareDistance(MeanSurfaceDistance):
    """The mean square distance from the points of the predicted outline to the true one; the root of it where both ways count.

    Args:
        symmetric (bool): whether the distance is the root of the mean square of both ways. If not, it is the mean square itself, as in
            MindSpore 2.10. Default: False.
        distance_metric (str): "euclidean", "chessboard" or "taxicab". Default: "euclidean".
    """

    def eval(self) -> float:
        found = super().eval()
        return float(np.sqrt(found)) if self.symmetric else found

    def _mean(self, distances):
        return np.square(distances.astype(np.float64)).mean() if distances.size else np.inf
