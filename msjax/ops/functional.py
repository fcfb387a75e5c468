"""The operators under MindSpore's older name ``ops.functional``."""

import sys

from msjax import ops
from msjax.lazy import missing_name_error


def __getattr__(name):
    if not hasattr(ops, name):
        raise missing_name_error(f"mindspore.ops.functional.{name}", sys._getframe(1))
    return getattr(ops, name)


def __dir__():
    return dir(ops)
