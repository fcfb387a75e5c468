"""Operators as classes: MindSpore's ``ops.operations``. Each topic's file says in ``__all__`` what it offers."""

import sys

from msjax.lazy import COMMUNICATION, module_placeholders
from msjax.ops.function.control.gradient import HookBackward, InsertGradientOf
from msjax.ops.operations import array_ops, math_ops, nn_ops
from msjax.ops.operations.array_ops import *
from msjax.ops.operations.math_ops import *
from msjax.ops.operations.nn_ops import *
from msjax.ops.primitive import Primitive


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
__all__ += array_ops.__all__ + math_ops.__all__ + nn_ops.__all__
__getattr__ = module_placeholders(__name__, COMMUNICATION)
