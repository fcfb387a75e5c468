"""Cells that wrap a network for training: MindSpore's ``nn.wrap``."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use

if TYPE_CHECKING:
    from msjax.nn.wrap.cell_wrapper import *
    from msjax.nn.wrap.derivatives import *
    from msjax.nn.wrap.grad_reducer import *
    from msjax.nn.wrap.loss_scale import *
    from msjax.nn.wrap.micro_batch import *
else:
    __getattr__, __dir__ = on_first_use(__name__, elsewhere="msjax.nn")
