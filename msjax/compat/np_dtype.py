"""``mindspore.common.np_dtype``."""

from ml_dtypes import bfloat16 as bfloat16

__all__ = ["bfloat16"]
