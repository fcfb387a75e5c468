"""Schedulers: they change the learning rates of an optimizer's parameter groups, once an epoch or step."""

from msjax.experimental.optim.lr_scheduler.combined import *
from msjax.experimental.optim.lr_scheduler.cycles import *
from msjax.experimental.optim.lr_scheduler.decay import *
from msjax.experimental.optim.lr_scheduler.scheduler import *

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR",
    "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
