"""The metrics of ``nn``."""

from msjax.nn.metrics import *
from msjax.nn.metrics import __all__ as __all__
