"""MindSpore 1's name for `msjax.dataset.transforms`."""

from typing import TYPE_CHECKING

from msjax.dataset.transforms import *

if not TYPE_CHECKING:
    pass
