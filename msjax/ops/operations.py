"""Operators as classes: MindSpore's ``ops.operations``. Each topic's file says in ``__all__`` what it offers."""

from msjax.offers import missing_name
from msjax.ops.primitives_array import *
from msjax.ops.primitives_math import *
from msjax.ops.primitives_nn import *

__getattr__ = missing_name(__name__)
