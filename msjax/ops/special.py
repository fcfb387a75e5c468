"""Special functions."""

__all__ = []
