"""Layers, losses, optimizers and containers: MindSpore's ``nn``. All but Cell is imported when it is first used."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.nn.cell.base import Cell as Cell

if TYPE_CHECKING:
    from msjax.nn.cell.global_hooks import *
    from msjax.nn.dynamic_lr import *
    from msjax.nn.graph_cell import *
    from msjax.nn.layer import *
    from msjax.nn.learning_rate_schedule import *
    from msjax.nn.loss import *
    from msjax.nn.metrics import *
    from msjax.nn.optim import *
    from msjax.nn.sparse import *
    from msjax.nn.utils import *
    from msjax.nn.wrap import *
else:
    __getattr__, __dir__ = on_first_use(
        __name__,
        dict.fromkeys(("thor", "THOR"), "use nn.Momentum or nn.Lamb.")
        | {
            "AdaSum*": "gradients are averaged here: nn.DistributedGradReducer.",
        },
    )
