"""Training loops: Model, callbacks and metrics."""

from msjax.amp import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager, build_train_network
from msjax.serialization import (
    async_ckpt_thread_status,
    ckpt_to_safetensors,
    load_checkpoint,
    load_checkpoint_async,
    load_param_into_net,
    safetensors_to_ckpt,
    save_checkpoint,
)
from msjax.train import callback, metrics
from msjax.train.callback import *
from msjax.train.dataset_helper import DatasetHelper, connect_network_with_dataset
from msjax.train.metrics import *
from msjax.train.model import Model
from msjax.train.summary import SummaryCollector, SummaryRecord

__all__ = [
    "DatasetHelper", "DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager", "Model", "SummaryCollector",
    "SummaryRecord", "async_ckpt_thread_status", "build_train_network", "connect_network_with_dataset", "ckpt_to_safetensors",
    "load_checkpoint", "load_checkpoint_async", "load_param_into_net", "safetensors_to_ckpt", "save_checkpoint",
]  # fmt: skip
__all__ += callback.__all__
__all__ += metrics.__all__
