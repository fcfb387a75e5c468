"""Cell, the base of layers and networks; a file for each side of it."""

from msjax.nn.cell.base import Cell

__all__ = ["Cell"]
