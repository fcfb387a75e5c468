"""Functions of functions: vmap, map, control flow."""

__all__ = []
