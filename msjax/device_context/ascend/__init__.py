"""Settings of Ascend's chips, of which jax finds none: accepted, without effect."""

from msjax.device_context.ascend import op_debug as op_debug, op_precision as op_precision

__all__ = ["device_count", "is_available", "op_debug", "op_precision"]


def device_count() -> int:
    """How many chips there are: 0."""
    return 0


def is_available() -> bool:
    """Whether there are chips: False."""
    return False
