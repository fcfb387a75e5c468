"""Callbacks: called before and after runs, epochs and steps of `Model`."""

from msjax.train.callback.callback import (
    Callback,
    LambdaCallback,
    Parameters as _InternalCallbackParam,  # what programs with a loop of their own import
    RunContext,
    loss_of as _handle_loss,
)
from msjax.train.callback.checkpoint import CheckpointConfig, ModelCheckpoint
from msjax.train.callback.monitors import History, LossMonitor, TimeMonitor
from msjax.train.callback.rates import EarlyStopping, LearningRateScheduler, ReduceLROnPlateau

__all__ = [
    "Callback", "CheckpointConfig", "EarlyStopping", "History", "LambdaCallback", "LearningRateScheduler", "LossMonitor",
    "ModelCheckpoint", "ReduceLROnPlateau", "RunContext", "TimeMonitor",
]  # fmt: skip

InternalCallbackParam = _InternalCallbackParam
