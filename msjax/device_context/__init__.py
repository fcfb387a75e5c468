"""``mindspore.device_context``: settings of one kind of device. MindSpore's files within such a kind, as op_precision, are one here."""

from msjax.device_context import ascend as ascend, cpu as cpu, gpu as gpu

__all__ = ["ascend", "cpu", "gpu"]
