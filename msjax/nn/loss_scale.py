"""Loss scaling for training in mixed precision."""

__all__ = []
