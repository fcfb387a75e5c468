"""Loss layers: MindSpore's ``nn.loss``."""

from msjax.lazy import gather

__getattr__, __dir__ = gather(__name__, "loss sampled_loss", "msjax.nn")
