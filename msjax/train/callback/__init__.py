"""Callbacks: called before and after runs, epochs and steps of `Model`."""

from msjax.train.callback.backup import BackupAndRestore, CheckpointManager as _CheckpointManager, OnRequestExit
from msjax.train.callback.callback import (
    Callback,
    CallbackList as _CallbackManager,
    LambdaCallback,
    Parameters as _InternalCallbackParam,  # what programs with a loop of their own import
    RunContext,
    loss_of as _handle_loss,
)
from msjax.train.callback.checkpoint import CheckpointConfig, ModelCheckpoint
from msjax.train.callback.monitors import History, LossMonitor, TimeMonitor
from msjax.train.callback.rates import EarlyStopping, LearningRateScheduler, ReduceLROnPlateau

__all__ = [
    "BackupAndRestore", "Callback", "CheckpointConfig", "EarlyStopping", "History", "LambdaCallback", "LearningRateScheduler", "LossMonitor",
    "ModelCheckpoint", "OnRequestExit", "ReduceLROnPlateau", "RunContext", "TimeMonitor",
]  # fmt: skip

CheckpointManager, CallbackManager = _CheckpointManager, _CallbackManager
InternalCallbackParam = _InternalCallbackParam
