"""PyTorch-style optimizers: MindSpore's ``experimental``."""

from typing import TYPE_CHECKING

from msjax.base.lazy import module_placeholders
from msjax.experimental import optim as optim

if not TYPE_CHECKING:
    __getattr__ = module_placeholders(__name__)
