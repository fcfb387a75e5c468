"""Matrix products, decompositions, solvers."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.ops.function.linalg_func.decompositions import *
    from msjax.ops.function.linalg_func.linear import *
    from msjax.ops.function.linalg_func.solvers import *
else:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.ops")
