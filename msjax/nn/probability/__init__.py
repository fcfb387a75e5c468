"""MindSpore's ``nn.probability``: distributions."""

from msjax.nn.probability import bijector as bijector, distribution as distribution

__all__ = ["bijector", "distribution"]
