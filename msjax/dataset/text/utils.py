"""MindSpore's other name for `msjax.dataset.text`."""

from msjax.dataset import text as _same
from msjax.dataset.text import *

__getattr__ = _same.__getattr__
