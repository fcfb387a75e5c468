"""Compilation: jit and graph mode."""

from msjax.engine.compile.jit import jit, ms_function

__all__ = ["jit", "ms_function"]
