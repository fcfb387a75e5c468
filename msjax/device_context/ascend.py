"""Settings of Ascend's chips, of which jax finds none: accepted, without effect."""

from __future__ import annotations

import sys
from typing import Final

from msjax.core.base.checks import check_one_of
from msjax.runtime import REQUIRED, without_effect

_MODES = (
    "force_fp16", "allow_fp32_to_fp16", "allow_mix_precision", "must_keep_origin_dtype", "force_fp32", "allow_fp32_to_bf16",
    "allow_mix_precision_fp16", "allow_mix_precision_bf16",
)  # fmt: skip
_NO_CHIPS = "jax finds no chips of Ascend."

op_debug = op_precision = sys.modules[__name__]


def device_count() -> int:
    """How many chips there are: 0."""
    return 0


def is_available() -> bool:
    """Whether there are chips: False."""
    return False


def precision_mode(mode: str) -> None:
    """Accepted, without effect; for mixed precision, see `amp`.

    Raises:
        ValueError: an unknown mode.
    """
    check_one_of(mode, _MODES, "mode")


op_precision_mode: Final = without_effect("op_precision_mode", _NO_CHIPS, path=REQUIRED)
matmul_allow_hf32: Final = without_effect("matmul_allow_hf32", _NO_CHIPS, value=REQUIRED)
conv_allow_hf32: Final = without_effect("conv_allow_hf32", _NO_CHIPS, value=REQUIRED)
execute_timeout: Final = without_effect("execute_timeout", _NO_CHIPS, op_timeout=REQUIRED)
debug_option: Final = without_effect("debug_option", _NO_CHIPS, option_value=REQUIRED)
aclinit_config: Final = without_effect("aclinit_config", _NO_CHIPS, config=REQUIRED)
