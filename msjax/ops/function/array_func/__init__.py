"""Operators that create, rearrange, index and write elements."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.ops.function.array_func.arrange import *
    from msjax.ops.function.array_func.assigning import *
    from msjax.ops.function.array_func.casting import *
    from msjax.ops.function.array_func.creation import *
    from msjax.ops.function.array_func.diagonals import *
    from msjax.ops.function.array_func.gathering import *
    from msjax.ops.function.array_func.indexing import *
    from msjax.ops.function.array_func.joining import *
    from msjax.ops.function.array_func.ordering import *
    from msjax.ops.function.array_func.scattering import *
    from msjax.ops.function.array_func.searching import *
    from msjax.ops.function.array_func.selecting import *
    from msjax.ops.function.array_func.sorting import *
    from msjax.ops.function.array_func.splitting import *
else:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.ops")
