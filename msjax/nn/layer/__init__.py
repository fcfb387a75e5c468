"""Layers: MindSpore's ``nn.layer``."""

from msjax.lazy import gather

__getattr__, __dir__ = gather(
    __name__,
    "activation adaptive_pooling attention basic combined container conv dense dropout embedding image math matrix normalization "
    "padding pooling rnn_cells rnns softmax timedistributed transformer",
    "msjax.nn",
)
