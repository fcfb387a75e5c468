"""MindSpore 1's name for `msjax.dataset.vision`."""

from msjax.dataset import vision as _same
from msjax.dataset.vision import *

__getattr__ = _same.__getattr__
