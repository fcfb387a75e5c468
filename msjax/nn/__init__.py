"""Layers, losses, optimizers and containers: MindSpore's ``nn``. All but Cell is imported when it is first used."""

from typing import TYPE_CHECKING

from msjax.nn.cell import Cell
from msjax.offers import rest

if TYPE_CHECKING:
    from msjax.nn.everything import *

__getattr__, __dir__ = rest(__name__, "everything")
