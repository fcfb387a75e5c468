"""Settings of GPUs, which hold for TPUs, too: whether operators round operands of float32, which makes them several times as fast."""

from __future__ import annotations

import sys

from msjax.engine.settings import precision

op_precision = sys.modules[__name__]


def matmul_allow_tf32(value: bool) -> None:
    """Whether products of matrices may round operands of float32 to TF32 on GPUs, and to bfloat16 on TPUs.

    This is jax's own setting, `jax_default_matmul_precision`, for all of the process; ``jax.default_matmul_precision`` sets it for a
    block.

    Args:
        value: True for jax's default; False for operands as they are, MindSpore's default.

    Raises:
        TypeError: `value` is no bool.

    Example:
        >>> import jax
        >>> import msjax as ms
        >>> ms.device_context.gpu.op_precision.matmul_allow_tf32(False)
        >>> jax.config.jax_default_matmul_precision
        'highest'
        >>> ms.device_context.gpu.op_precision.matmul_allow_tf32(True)
    """
    precision.allow_tf32_in_products(value, "matmul_allow_tf32")


def conv_allow_tf32(value: bool) -> None:
    """Whether msjax's convolutions may round operands of float32, whatever products of matrices do; as `matmul_allow_tf32`.

    What has been compiled before is compiled again.

    Args:
        value: True for jax's default, which is MindSpore's; False for operands as they are.

    Raises:
        TypeError: `value` is no bool.
    """
    precision.allow_tf32_in_convolutions(value, "conv_allow_tf32")
