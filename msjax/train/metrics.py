"""The metrics of ``nn``."""

from msjax.nn import metrics
from msjax.nn.metrics import *

__all__ = []
__all__ += metrics.__all__  # a form that type checkers understand
