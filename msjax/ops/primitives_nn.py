"""Operator classes of neural networks: convolution, pooling, normalization, losses, optimizer steps."""

__all__ = []
