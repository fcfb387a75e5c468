"""MindSpore 1's name for `msjax.dataset.transforms`."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.dataset.transforms import *
from msjax.dataset.transforms import OneHot

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.dataset.transforms")

OneHotOp = OneHot
