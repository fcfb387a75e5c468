"""Matrix products, decompositions, solvers."""

from msjax.lazy import gather

__getattr__, __dir__ = gather(__name__, "decompositions solvers linear layers", "msjax.ops")
