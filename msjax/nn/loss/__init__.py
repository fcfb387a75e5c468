"""Loss layers: MindSpore's ``nn.loss``."""

from typing import TYPE_CHECKING

from msjax.base.lazy import gather

if TYPE_CHECKING:
    from msjax.nn.loss.classification import *
    from msjax.nn.loss.loss import *
    from msjax.nn.loss.ranking import *
    from msjax.nn.loss.sampled_loss import *
else:
    __getattr__, __dir__ = gather(__name__, "classification loss ranking sampled_loss", "msjax.nn")
