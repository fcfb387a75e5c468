"""PyTorch-style optimizers: MindSpore's ``experimental``."""

from typing import TYPE_CHECKING

from msjax.core.base.lazy import on_first_use
from msjax.experimental import optim as optim

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
