"""Operators on images: resizing, sampling, rearranging of pixels, boxes."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.ops.function.image_func.boxes import *
    from msjax.ops.function.image_func.grids import *
    from msjax.ops.function.image_func.pixels import *
    from msjax.ops.function.image_func.resizing import *
else:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.ops")
