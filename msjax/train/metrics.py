"""Metrics: what a network's predictions are worth. The same as in ``nn``."""

from msjax.nn.metrics import *
from msjax.nn.metrics import __all__ as __all__
