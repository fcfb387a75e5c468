"""Layers: MindSpore's ``nn.layer``."""

from msjax.lazy import gather

__getattr__, __dir__ = gather(
    __name__,
    "activation attention basic clip container conv dropout embedding image math matrix normalization padding pooling rnns sparse timedistributed transformer",
    "msjax.nn",
)
