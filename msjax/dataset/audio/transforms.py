"""The transforms of sounds under the name of the file that MindSpore has them in."""

from msjax.dataset import audio as _same
from msjax.dataset.audio import *

__getattr__ = _same.__getattr__
