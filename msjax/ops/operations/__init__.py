"""Operators as classes: MindSpore's ``ops.operations``. Each topic's file lists its public names in ``__all__``."""

import sys
from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.ops.function.control.gradient import HookBackward as HookBackward, InsertGradientOf as InsertGradientOf
from msjax.ops.not_offered import NOT_OFFERED
from msjax.ops.operations.array_ops import *
from msjax.ops.operations.comm_ops import *
from msjax.ops.operations.custom_ops import *
from msjax.ops.operations.image_ops import *
from msjax.ops.operations.index_ops import *
from msjax.ops.operations.linalg_ops import *
from msjax.ops.operations.loss_ops import *
from msjax.ops.operations.math_ops import *
from msjax.ops.operations.nn_ops import *
from msjax.ops.operations.optim_ops import *
from msjax.ops.operations.pooling_ops import *
from msjax.ops.operations.random_ops import *
from msjax.ops.operations.reduction_ops import *
from msjax.ops.operations.sparse_ops import *
from msjax.ops.operations.status_ops import *
from msjax.ops.primitive import Primitive as Primitive

# MindSpore's short name for this module, as `ops` has it.
P = sys.modules[__name__]

if not TYPE_CHECKING:
    __all__ = [name for name, value in globals().items() if isinstance(value, type) and not name.startswith("_")]
    __all__ += ["P", "prim_arg_register", "prim_attr_register", "print_"]
    __getattr__, __dir__ = on_first_use(__name__, NOT_OFFERED)
