"""Operators that sort, search and count."""

__all__ = []
