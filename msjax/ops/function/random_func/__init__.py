"""Random operators."""

from msjax.lazy import gather

__getattr__, __dir__ = gather(__name__, "sampling distributions choices", "msjax.ops")
