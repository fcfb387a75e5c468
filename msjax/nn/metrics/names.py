"""Metrics by name."""

from __future__ import annotations

from typing import Any

from msjax.nn.metrics import classification, confusion, curves, errors, similarity, surface
from msjax.nn.metrics.metric import Metric
from msjax.nn.metrics.occlusion import OcclusionSensitivity

_BY_NAME = {
    "accuracy": classification.Accuracy,
    "acc": classification.Accuracy,
    "precision": classification.Precision,
    "recall": classification.Recall,
    "F1": classification.F1,
    "topk": classification.TopKCategoricalAccuracy,
    "top_1_accuracy": classification.Top1CategoricalAccuracy,
    "top_5_accuracy": classification.Top5CategoricalAccuracy,
    "dice": similarity.Dice,
    "bleu_score": similarity.BleuScore,
    "cosine_similarity": similarity.CosineSimilarity,
    "roc": curves.ROC,
    "auc": curves.auc,
    "hausdorff_distance": surface.HausdorffDistance,
    "mean_surface_distance": surface.MeanSurfaceDistance,
    "root_mean_square_distance": surface.RootMeanSquareDistance,
    "occlusion_sensitivity": OcclusionSensitivity,
    "perplexity": errors.Perplexity,
    "mae": errors.MAE,
    "mse": errors.MSE,
    "loss": errors.Loss,
    "confusion_matrix": confusion.ConfusionMatrix,
    "confusion_matrix_metric": confusion.ConfusionMatrixMetric,
}


def names() -> list[Any]:
    """The names of metrics."""
    return sorted(_BY_NAME)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> errors.MAE | classification.Precision:
    """A metric by its name.

    Args:
        name (str): one of `names`.
        args, kwargs: the metric's arguments.

    Raises:
        KeyError: there is none of that name.

    Example:
        >>> from msjax import train
        >>> type(train.get_metric_fn("precision", eval_type="classification")).__name__
        'Precision'
    """
    if name not in _BY_NAME:
        raise KeyError(f"For 'get_metric_fn', there is no metric {name!r}; there are {', '.join(names())}.")
    return _BY_NAME[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[str, Any]:
    """Metrics by name, from what `Model` takes: a dict of metrics or names, or a set or list of names.

    Raises:
        TypeError: something else.
    """
    if metrics is None:
        return {}
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(name, str) or not isinstance(metric, Metric):
                raise TypeError(f"Metrics should be a dict of Metric by name, but {name!r} is {type(metric).__name__}.")
        return dict(metrics)
    if isinstance(metrics, (set, list, tuple)):
        found = {}
        for metric in metrics:
            if isinstance(metric, str):
                found[metric] = get_metric_fn(metric)
            elif isinstance(metric, Metric):
                found[type(metric).__name__] = metric
            else:
                raise TypeError(f"Metrics should be names or Metrics, but got {type(metric).__name__}.")
        return found
    raise TypeError(f"Metrics should be None, a dict, set or list, but got {type(metrics).__name__}.")
