"""Attention and transformer layers."""

__all__ = []
