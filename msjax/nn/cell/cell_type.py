"""Cell, for annotations of the parts that it is put together from; cell_type.pyi says which class that is."""

from msjax.common.bases import CellBase as Cell

__all__ = ["Cell"]
