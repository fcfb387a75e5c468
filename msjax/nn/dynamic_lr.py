"""Learning rates as lists, one for each step."""

__all__ = []
