"""Random operators."""

from typing import TYPE_CHECKING

from msjax.lazy import gather

if TYPE_CHECKING:
    from msjax.ops.function.random_func.choices import *
    from msjax.ops.function.random_func.distributions import *
    from msjax.ops.function.random_func.sampling import *
else:
    __getattr__, __dir__ = gather(__name__, family="msjax.ops")
