"""Operators on images: resizing, sampling, rearranging of pixels, boxes."""

from msjax.ops import boxes, grids, pixels, resizing
from msjax.ops.boxes import *
from msjax.ops.grids import *
from msjax.ops.pixels import *
from msjax.ops.resizing import *

__all__ = [*boxes.__all__, *grids.__all__, *pixels.__all__, *resizing.__all__]
