"""Mixed precision: networks computed in 16 bits, and loss scaling."""

from typing import TYPE_CHECKING

from msjax.amp.loss_scaling import (
    DynamicLossScaleManager,
    DynamicLossScaler,
    FixedLossScaleManager,
    LossScaleManager,
    LossScaler,
    StaticLossScaler,
)
from msjax.amp.precision import auto_mixed_precision, build_train_network, custom_mixed_precision, get_black_list, get_white_list
from msjax.core.base.lazy import on_first_use
from msjax.nn.wrap.loss_scale import all_finite

__all__ = [
    "DynamicLossScaleManager", "DynamicLossScaler", "FixedLossScaleManager", "LossScaleManager", "LossScaler",
    "StaticLossScaler", "all_finite", "auto_mixed_precision", "build_train_network", "custom_mixed_precision",
    "get_black_list", "get_white_list",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = on_first_use(__name__)
