"""Operators as classes: MindSpore's ``ops.operations``. Each topic's file says in ``__all__`` what it offers."""

import sys

from msjax.offers import COMMUNICATION, missing_name
from msjax.ops import primitives_array, primitives_math, primitives_nn
from msjax.ops.gradient import HookBackward, InsertGradientOf
from msjax.ops.primitive import Primitive
from msjax.ops.primitives_array import *
from msjax.ops.primitives_math import *
from msjax.ops.primitives_nn import *


class ReduceOp:
    """Names of reductions over processes."""

    AVG = "avg"
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    SUM = "sum"


# MindSpore's short name for this module, as `ops` has it.
P = sys.modules[__name__]

__all__ = ["HookBackward", "InsertGradientOf", "P", "Primitive", "ReduceOp"]
__all__ += primitives_array.__all__ + primitives_math.__all__ + primitives_nn.__all__
__getattr__ = missing_name(__name__, COMMUNICATION)
