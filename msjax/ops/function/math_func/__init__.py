"""Elementwise operators, reductions, special functions."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.ops.function.math_func.arithmetic import *
    from msjax.ops.function.math_func.complexes import *
    from msjax.ops.function.math_func.cumulative import *
    from msjax.ops.function.math_func.elementary import *
    from msjax.ops.function.math_func.elementwise import *
    from msjax.ops.function.math_func.extremes import *
    from msjax.ops.function.math_func.fourier import *
    from msjax.ops.function.math_func.inplace_math import *
    from msjax.ops.function.math_func.logic import *
    from msjax.ops.function.math_func.norms import *
    from msjax.ops.function.math_func.reduction import *
    from msjax.ops.function.math_func.special import *
else:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.ops")
