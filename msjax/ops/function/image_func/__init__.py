"""Operators on images: resizing, sampling, rearranging of pixels, boxes."""

from msjax.lazy import gather

__getattr__, __dir__ = gather(__name__, "boxes grids images pixels resizing", "msjax.ops")
