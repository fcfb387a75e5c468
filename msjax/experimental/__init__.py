"""PyTorch-style optimizers: MindSpore's ``experimental``."""

from typing import TYPE_CHECKING

from msjax.experimental import optim as optim
from msjax.lazy import module_placeholders

if not TYPE_CHECKING:
    __getattr__ = module_placeholders(__name__)
