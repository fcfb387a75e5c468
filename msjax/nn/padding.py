"""Layers that pad."""

__all__ = []
