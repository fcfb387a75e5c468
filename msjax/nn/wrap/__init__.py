"""Cells that wrap a network for training: MindSpore's ``nn.wrap``."""

from msjax.lazy import gather

__getattr__, __dir__ = gather(__name__, "cell_wrapper derivatives grad_reducer loss_scale micro_batch", "msjax.nn")
