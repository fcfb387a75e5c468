"""How products and convolutions of float32 are rounded on GPUs and TPUs: MindSpore's settings, told to jax.

By default, jax rounds the operands on GPUs to TF32 (10 bits of mantissa) and on TPUs to bfloat16 (7 bits). MindSpore and PyTorch
round those of convolutions to TF32 and leave those of matrix products as they are. On CPUs, nothing is rounded.
"""

from __future__ import annotations

from typing import Any

import jax

from msjax.core.base.checks import check_bool
from msjax.engine.settings.current import SETTINGS

# What jax calls "operands as they are": three to six passes on TPUs, no tensor cores on GPUs.
WHOLE = "highest"


def allow_tf32_in_products(value: bool, who: str) -> None:
    """Set jax's own setting, `jax_default_matmul_precision`, which holds for all of this process's products.

    True is jax's default, False means operands as they are; another value is a TypeError that names `who`.
    """
    check_bool(value, "matmul_allow_tf32", who)
    jax.config.update("jax_default_matmul_precision", None if value else WHOLE)


def allow_tf32_in_convolutions(value: bool, who: str) -> None:
    """Set the precision of msjax's convolutions, whatever that of products is; as `allow_tf32_in_products`."""
    before, SETTINGS.conv_tf32 = SETTINGS.conv_tf32, check_bool(value, "conv_allow_tf32", who)
    if SETTINGS.conv_tf32 != before:
        # jax's own setting is part of the key of its caches. This one isn't, so that what was traced has to be forgotten.
        jax.clear_caches()


def conv_precision() -> Any:
    """The precision for `jax.lax.conv_general_dilated`; None for jax's own setting."""
    if SETTINGS.conv_tf32 is None:
        return None
    return jax.lax.Precision.DEFAULT if SETTINGS.conv_tf32 else jax.lax.Precision.HIGHEST


def follow_mindspore() -> None:
    """MindSpore's defaults, for a program that is MindSpore's: products as they are, convolutions in TF32.

    A precision that the user has given jax stays, as by the environment variable JAX_DEFAULT_MATMUL_PRECISION.
    """
    if jax.config.jax_default_matmul_precision is None:  # pyright: ignore[reportAttributeAccessIssue]
        allow_tf32_in_products(False, "msjax")
        allow_tf32_in_convolutions(True, "msjax")


def described() -> str:
    """The settings in words, for ``msjax info``."""
    products = jax.config.jax_default_matmul_precision or "default"  # pyright: ignore[reportAttributeAccessIssue]
    convolutions = products if SETTINGS.conv_tf32 is None else "default" if SETTINGS.conv_tf32 else WHOLE
    text = f"products {products}, convolutions {convolutions}"
    return f"{text} (default: TF32 on GPUs, bfloat16 on TPUs)" if "default" in (products, convolutions) else text
