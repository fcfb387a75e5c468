"""Hooks for JAX: hooks and their delivery, models of other libraries, tools. Nothing in here needs Tensors, Cells or operators."""
