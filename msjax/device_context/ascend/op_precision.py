"""How operators of Ascend round: accepted, without effect."""

from __future__ import annotations

from msjax.core.base.checks import check_one_of

__all__ = ["conv_allow_hf32", "matmul_allow_hf32", "op_precision_mode", "precision_mode"]

_MODES = (
    "force_fp16", "allow_fp32_to_fp16", "allow_mix_precision", "must_keep_origin_dtype", "force_fp32", "allow_fp32_to_bf16",
    "allow_mix_precision_fp16", "allow_mix_precision_bf16",
)  # fmt: skip


def precision_mode(mode: str) -> None:
    """Accepted, without effect; for mixed precision, see `amp`.

    Raises:
        ValueError: an unknown mode.
    """
    check_one_of(mode, _MODES, "mode")


def op_precision_mode(path: str) -> None:
    """Accepted, without effect."""


def matmul_allow_hf32(value: bool) -> None:
    """Accepted, without effect."""


def conv_allow_hf32(value: bool) -> None:
    """Accepted, without effect."""
