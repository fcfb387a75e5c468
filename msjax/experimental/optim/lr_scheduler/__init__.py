"""Schedulers: they change the learning rates of an optimizer's parameter groups, once an epoch or step."""

from msjax.experimental.optim.lr_scheduler.combined import ReduceLROnPlateau, SequentialLR
from msjax.experimental.optim.lr_scheduler.cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR
from msjax.experimental.optim.lr_scheduler.decay import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)  # fmt: skip
from msjax.experimental.optim.lr_scheduler.scheduler import LRScheduler

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR",
    "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
