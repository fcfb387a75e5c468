"""Optimizers in the manner of PyTorch: MindSpore's ``experimental``."""

from msjax.experimental import optim
from msjax.lazy import missing_name

__getattr__ = missing_name(__name__)
