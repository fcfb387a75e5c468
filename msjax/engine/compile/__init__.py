"""Compilation: jit and graph mode."""
