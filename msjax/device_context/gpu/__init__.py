"""Settings of GPUs; those of products and convolutions hold for TPUs, too."""

from msjax.device_context.gpu import op_precision as op_precision

__all__ = ["op_precision"]
