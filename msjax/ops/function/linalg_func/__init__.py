"""Matrix products, decompositions, solvers."""

from typing import TYPE_CHECKING

from msjax.base.lazy import gather as _gather

if TYPE_CHECKING:
    from msjax.ops.function.linalg_func.decompositions import *
    from msjax.ops.function.linalg_func.layers import *
    from msjax.ops.function.linalg_func.linear import *
    from msjax.ops.function.linalg_func.solvers import *
else:
    __getattr__, __dir__ = _gather(__name__, family="msjax.ops")
