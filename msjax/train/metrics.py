"""The metrics of ``nn``."""

from msjax.nn import metrics
from msjax.nn.metrics import *

__all__ = metrics.__all__
