"""Optimizers in the manner of PyTorch: MindSpore's ``experimental``."""

from msjax.experimental import optim
from msjax.lazy import module_placeholders

__getattr__ = module_placeholders(__name__)
