"""mint's layers and losses."""

from msjax.lazy import module_placeholders
from msjax.mint.nn import functional
from msjax.mint.nn.layers import *
from msjax.mint.nn.weighted import *

__getattr__ = module_placeholders(__name__)
