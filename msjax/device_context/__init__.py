"""``mindspore.device_context``: settings of one kind of device."""

from msjax.device_context import gpu as gpu

__all__ = ["gpu"]
