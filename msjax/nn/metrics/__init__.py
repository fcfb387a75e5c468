"""Metrics of a network's predictions, accumulated in numpy batch by batch."""

from msjax.nn.metrics.classification import *
from msjax.nn.metrics.classification import __all__ as _classification
from msjax.nn.metrics.confusion import *
from msjax.nn.metrics.confusion import __all__ as _confusion
from msjax.nn.metrics.curves import *
from msjax.nn.metrics.curves import __all__ as _curves
from msjax.nn.metrics.errors import *
from msjax.nn.metrics.errors import __all__ as _errors
from msjax.nn.metrics.metric import Metric, rearrange_inputs
from msjax.nn.metrics.names import get_metric_fn, get_metrics, names
from msjax.nn.metrics.occlusion import OcclusionSensitivity
from msjax.nn.metrics.similarity import *
from msjax.nn.metrics.similarity import __all__ as _similarity
from msjax.nn.metrics.surface import *
from msjax.nn.metrics.surface import __all__ as _surface

__all__ = [
    "Metric",
    "OcclusionSensitivity",
    "get_metric_fn",
    "get_metrics",
    "names",
    "rearrange_inputs",
    *_classification,
    *_confusion,
    *_curves,
    *_errors,
    *_similarity,
    *_surface,
]
