"""MindSpore's other name for `msjax.dataset.text`."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.dataset.text import *
else:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.dataset.text")
