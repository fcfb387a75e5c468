"""Compilation: jit, graph mode, functionalize."""

from msjax.engine.compile.jit import jit, ms_function

__all__ = ["jit", "ms_function"]
