"""Optimizers whose parameter groups can be changed between steps, and learning rate schedulers."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.experimental.optim import lr_scheduler
from msjax.experimental.optim.adaptive import ASGD, SGD, Adadelta, Adagrad, RMSprop, Rprop
from msjax.experimental.optim.moments import Adam, Adamax, AdamW, NAdam, RAdam
from msjax.experimental.optim.optimizer import Optimizer

__all__ = [
    "ASGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD",
    "lr_scheduler",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
