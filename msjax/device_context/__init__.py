"""``mindspore.device_context``: settings of one kind of device."""

from msjax.device_context import cpu as cpu, gpu as gpu

__all__ = ["cpu", "gpu"]
