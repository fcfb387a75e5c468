"""mint's layers and losses."""

from msjax.mint.nn import functional
from msjax.mint.nn.layers import *
from msjax.mint.nn.weighted import *
from msjax.offers import missing_name

__getattr__ = missing_name(__name__)
