"""mint's layers and losses."""

from msjax.lazy import missing_name
from msjax.mint.nn import functional
from msjax.mint.nn.layers import *
from msjax.mint.nn.weighted import *

__getattr__ = missing_name(__name__)
