"""MindSpore's other name for `msjax.dataset.vision`."""

from typing import TYPE_CHECKING

from msjax.dataset.vision import *

if not TYPE_CHECKING:
    pass
