"""Random operators."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.ops.function.random_func.choices import *
    from msjax.ops.function.random_func.distributions import *
    from msjax.ops.function.random_func.sampling import *
else:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.ops")
