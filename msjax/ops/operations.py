"""Operators as classes: MindSpore's ``ops.operations``. Each topic's file says in ``__all__`` what it offers."""

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


__all__ = ["HookBackward", "InsertGradientOf", "Primitive", "ReduceOp"]
__all__ += primitives_array.__all__ + primitives_math.__all__ + primitives_nn.__all__
__getattr__ = missing_name(__name__, COMMUNICATION)
