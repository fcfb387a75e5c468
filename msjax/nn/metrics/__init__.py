"""Metrics of a network's predictions, accumulated in numpy batch by batch."""

from msjax.nn.metrics import classification, confusion, curves, errors, similarity, surface
from msjax.nn.metrics.classification import *
from msjax.nn.metrics.confusion import *
from msjax.nn.metrics.curves import *
from msjax.nn.metrics.errors import *
from msjax.nn.metrics.metric import Metric, rearrange_inputs
from msjax.nn.metrics.names import get_metric_fn, get_metrics, names
from msjax.nn.metrics.occlusion import OcclusionSensitivity
from msjax.nn.metrics.similarity import *
from msjax.nn.metrics.surface import *

__all__ = [
    "Metric", "OcclusionSensitivity", "get_metric_fn", "get_metrics", "names", "rearrange_inputs",
]  # fmt: skip
__all__ += classification.__all__
__all__ += confusion.__all__
__all__ += curves.__all__
__all__ += errors.__all__
__all__ += similarity.__all__
__all__ += surface.__all__
