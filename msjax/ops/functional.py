"""The operators under MindSpore's older name ``ops.functional``."""

from msjax.base.lazy import passing_on

__getattr__, __dir__ = passing_on(__name__, "msjax.ops")
