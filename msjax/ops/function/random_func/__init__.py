"""Random operators."""

from typing import TYPE_CHECKING

from msjax.base.lazy import gather as _gather

if TYPE_CHECKING:
    from msjax.ops.function.random_func.choices import *
    from msjax.ops.function.random_func.distributions import *
    from msjax.ops.function.random_func.sampling import *
else:
    __getattr__, __dir__ = _gather(__name__, family="msjax.ops")
