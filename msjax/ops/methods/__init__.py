"""Operators as methods of Tensor."""
