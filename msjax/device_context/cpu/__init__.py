"""Settings of CPUs."""

from msjax.device_context.cpu import op_tuning as op_tuning

__all__ = ["op_tuning"]
