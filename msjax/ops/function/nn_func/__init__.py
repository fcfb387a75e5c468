"""Operators of neural networks: activations, convolution, pooling, normalization, losses."""

from msjax.lazy import gather

__getattr__, __dir__ = gather(
    __name__,
    "activations gated softmaxes classification convolution  ctc dropouts losses normalization local_response pads pooling unpooling",
    "msjax.ops",
)
