"""The transforms of sounds under the name of the file that MindSpore has them in."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from msjax.dataset.audio import *

from msjax.dataset import audio

__getattr__ = audio.__getattr__
