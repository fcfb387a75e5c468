"""Loss layers: MindSpore's ``nn.loss``."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.nn.loss.classification import *
    from msjax.nn.loss.loss import *
else:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.nn")
