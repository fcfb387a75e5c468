"""The operators under MindSpore's older name ``ops.functional``."""

import builtins
from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.ops.not_offered import NOT_OFFERED


def make_range(start: int, stop: int | None = None, step: int = 1) -> tuple[int, ...]:
    """The tuple of Python's range.

    Example:
        >>> from msjax.ops import functional
        >>> functional.make_range(1, 7, 2)
        (1, 3, 5)
    """
    # Once a program has asked for the operator `range`, it stands under that name here.
    return tuple(builtins.range(start) if stop is None else builtins.range(start, stop, step))


if TYPE_CHECKING:
    from msjax.ops import *
else:
    __getattr__, __dir__ = on_first_use(__name__, NOT_OFFERED)
