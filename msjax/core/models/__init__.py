"""Hooks, captures and compiled functions for models of flax, equinox and haiku, and for plain functions of jax arrays."""
