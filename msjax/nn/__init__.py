"""Layers, losses, optimizers and containers: MindSpore's ``nn``. All but Cell is imported when it is first used."""

from typing import TYPE_CHECKING

from msjax.base.lazy import module_getattr
from msjax.nn.cell.base import Cell as Cell

if TYPE_CHECKING:
    from msjax.nn.everything import *

if not TYPE_CHECKING:
    __getattr__, __dir__ = module_getattr(__name__, "everything")
