"""Operators that pick elements out and put them in by index."""

__all__ = []
