"""MindSpore's other name for `msjax.dataset.transforms`."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.dataset.transforms import *
else:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.dataset.transforms")
