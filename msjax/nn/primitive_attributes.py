"""Operators that layers offer as attributes, for layers derived from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msjax.nn.cell import Cell


class PrimitiveAttribute:
    """An operator made from its layer whenever the attribute is read; a layer may assign another one.

    Layers themselves call the functions, so that no operator is made with a layer.

    Args:
        make (callable): from the layer to the operator.
    """

    def __init__(self, make: Callable[..., Any]):
        self.make = make

    def __get__(self, cell: Cell | None, owner: type[Cell] | None = None) -> Any:
        return self if cell is None else self.make(cell)
