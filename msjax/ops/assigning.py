"""Operators that write to Parameters."""

__all__ = []
