"""The operators under MindSpore's older name ``ops.composite``."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.ops import *
else:
    __getattr__, __dir__ = on_first_use(__name__)
