"""MindSpore 1's name for `msjax.dataset.transforms`."""

from typing import TYPE_CHECKING

from msjax.dataset.transforms import *
from msjax.dataset.transforms import OneHot

if not TYPE_CHECKING:
    pass

OneHotOp = OneHot
