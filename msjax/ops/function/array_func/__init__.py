"""Operators that make, arrange, pick and write elements."""

from msjax.lazy import gather

__getattr__, __dir__ = gather(
    __name__,
    "arrange ordering assigning casting creation diagonals gathering indexing joining scattering searching segments selecting sorting splitting windows",
    "msjax.ops",
)
