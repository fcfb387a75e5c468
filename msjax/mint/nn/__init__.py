"""mint's layers and losses."""

from typing import TYPE_CHECKING

from msjax.base.lazy import module_placeholders
from msjax.mint.nn import functional as functional
from msjax.mint.nn.layers import *
from msjax.mint.nn.weighted import *

if not TYPE_CHECKING:
    __getattr__ = module_placeholders(__name__)
