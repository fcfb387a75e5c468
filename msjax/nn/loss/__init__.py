"""Loss layers: MindSpore's ``nn.loss``."""

from msjax.lazy import gather

__getattr__, __dir__ = gather(__name__, "classification loss ranking sampled_loss", "msjax.nn")
