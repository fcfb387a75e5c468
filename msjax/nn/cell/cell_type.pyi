# For type checkers, in place of cell_type.py: the parts of Cell take and return Cells, whose class imports them.
from msjax.nn.cell.base import Cell as Cell

__all__ = ["Cell"]
