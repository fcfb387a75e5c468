"""MindSpore 1's name for `msjax.dataset.transforms`."""

from msjax.dataset import transforms as _same
from msjax.dataset.transforms import *

__getattr__ = _same.__getattr__
