"""mint's layers and losses."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.mint.nn import functional as functional
from msjax.mint.nn.layers import *
from msjax.mint.nn.weighted import *

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
