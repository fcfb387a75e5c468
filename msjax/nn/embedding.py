"""Embedding layers."""

__all__ = []
